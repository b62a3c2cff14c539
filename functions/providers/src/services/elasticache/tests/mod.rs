//! Replays of ElastiCache. Neighbours stand in every listing.

mod cache_cluster;
mod replication_group;
mod subnet_group;
