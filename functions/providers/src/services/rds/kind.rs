//! What the families of the RDS API do differently, and the calls that differ between a cluster and an instance.

use aws_sdk_rds::types::{DbCluster, DbInstance, Filter};
use ebb_core::Resource;

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, CallResult, StepError};
use crate::classify::{Rules, blocked, retry};

/// One type of database.
pub(super) struct Kind {
    /// A cluster, else an instance.
    pub(super) cluster: bool,
    /// The engine that every one of the family runs. Names are shared by all families: what has ours and runs another
    /// engine is another database.
    engine: Option<&'static str>,
    /// Whether a cluster is taken out of its global cluster first.
    pub(super) global: bool,
    /// Whether the delete takes the snapshot parameters.
    snapshot_parameters: bool,
}

const CLUSTER: Kind = Kind { cluster: true, engine: None, global: false, snapshot_parameters: true };
const INSTANCE: Kind = Kind { cluster: false, ..CLUSTER };

pub(super) const RDS_CLUSTER: Kind = Kind { global: true, ..CLUSTER };
pub(super) const RDS_INSTANCE: Kind = INSTANCE;
pub(super) const DOCDB_CLUSTER: Kind = Kind { engine: Some("docdb"), ..CLUSTER };
pub(super) const DOCDB_INSTANCE: Kind = Kind { engine: Some("docdb"), snapshot_parameters: false, ..INSTANCE };
pub(super) const NEPTUNE_CLUSTER: Kind = Kind { engine: Some("neptune"), ..CLUSTER };
pub(super) const NEPTUNE_INSTANCE: Kind = Kind { engine: Some("neptune"), ..INSTANCE };

const PROTECTED: &[&str] = &["InvalidParameterCombination~deletion protection"];

pub(super) const CLUSTER_RULES: Rules = Rules {
    gone: &["DBClusterNotFoundFault"],
    retry: &[
        blocked("InvalidDBClusterStateFault~still contains DB instances", 15, 1800),
        retry("InvalidDBClusterStateFault~global cluster", 30, 1800),
        retry("InvalidDBClusterStateFault", 20, 1800),
        retry("InvalidDBInstanceState", 20, 1800),
        // Another member is leaving or joining.
        retry("InvalidGlobalClusterStateFault", 30, 1800),
    ],
    terminal: &["SnapshotQuotaExceeded", SNAPSHOT_EXISTS[0]],
    protected: PROTECTED,
};

pub(super) const INSTANCE_RULES: Rules = Rules {
    gone: &["DBInstanceNotFound", "DBInstanceNotFoundFault"],
    retry: &[
        retry("InvalidDBInstanceState~already being deleted", 10, 3600),
        blocked("InvalidDBInstanceState", 30, 3600),
        retry("InvalidDBClusterStateFault", 20, 1800),
    ],
    terminal: &["SnapshotQuotaExceeded", SNAPSHOT_EXISTS[1]],
    protected: PROTECTED,
};

/// Another snapshot has the name.
pub(super) const SNAPSHOT_EXISTS: [&str; 2] = ["DBClusterSnapshotAlreadyExistsFault", "DBSnapshotAlreadyExists"];

/// A database as AWS describes it.
pub(super) struct Live {
    pub(super) going: bool,
    pub(super) protected: bool,
    /// What may hold it: the members of a cluster, the read replicas of an instance.
    pub(super) holders: Vec<String>,
    /// The global cluster that it belongs to.
    pub(super) global: Option<String>,
    /// It is an instance of a cluster: its data is the cluster's.
    pub(super) member: bool,
    /// It copies another database: no final snapshot can be taken of it.
    pub(super) replica: bool,
}

impl Kind {
    pub(super) fn rules(&self) -> &'static Rules {
        if self.cluster { &CLUSTER_RULES } else { &INSTANCE_RULES }
    }

    /// The identifier in a recorded id that may be an ARN.
    pub(super) fn id<'r>(&self, r: &'r Resource, cx: &Cx<'_>) -> Result<&'r str, StepError> {
        let (kind, expected) = match self.cluster {
            true => ("cluster:", "a cluster identifier or its ARN"),
            false => ("db:", "an instance identifier or its ARN"),
        };
        same_region(&r.physical_id, cx)?;
        let id = match Arn::parse(&r.physical_id) {
            Some(arn) => arn.resource.strip_prefix(kind).unwrap_or_default(),
            None => &r.physical_id,
        };
        if id.is_empty() || id.contains(':') { Err(StepError::malformed_id(expected)) } else { Ok(id) }
    }

    fn runs(&self, engine: Option<&str>) -> bool {
        self.engine.is_none_or(|ours| engine.is_none_or(|theirs| theirs == ours))
    }

    fn filters(&self) -> Option<Vec<Filter>> {
        self.engine.map(|engine| vec![Filter::builder().name("engine").values(engine).build()])
    }

    /// The database of this family with this identifier, if there is one.
    pub(super) async fn find(&self, id: &str, cx: &Cx<'_>) -> Result<Option<Live>, StepError> {
        let gone = self.rules().gone;
        if self.cluster {
            let call = cx.aws.rds().describe_db_clusters().db_cluster_identifier(id).set_filters(self.filters());
            let found = call.send().await.ignore(gone)?.and_then(|a| a.db_clusters).unwrap_or_default();
            let ours = |c: &&DbCluster| is(c.db_cluster_identifier(), id) && self.runs(c.engine());
            Ok(found.iter().find(ours).map(cluster))
        } else {
            let call = cx.aws.rds().describe_db_instances().db_instance_identifier(id).set_filters(self.filters());
            let found = call.send().await.ignore(gone)?.and_then(|a| a.db_instances).unwrap_or_default();
            let ours = |i: &&DbInstance| is(i.db_instance_identifier(), id) && self.runs(i.engine());
            Ok(found.iter().find(ours).map(instance))
        }
    }

    /// Switches its deletion protection.
    pub(super) async fn protect(&self, id: &str, on: bool, cx: &Cx<'_>) -> Result<(), CallError> {
        if self.cluster {
            let call = cx.aws.rds().modify_db_cluster().db_cluster_identifier(id);
            call.deletion_protection(on).apply_immediately(true).send().await?;
        } else {
            let call = cx.aws.rds().modify_db_instance().db_instance_identifier(id);
            call.deletion_protection(on).apply_immediately(true).send().await?;
        }
        Ok(())
    }

    /// Asks for the delete. SkipFinalSnapshot is false by default, and rejected without a name.
    pub(super) async fn delete(&self, id: &str, snapshot: Option<&str>, cx: &Cx<'_>) -> Result<(), CallError> {
        let skip = self.snapshot_parameters.then_some(snapshot.is_none());
        let name = snapshot.map(str::to_owned);
        if self.cluster {
            let call = cx.aws.rds().delete_db_cluster().db_cluster_identifier(id);
            call.set_skip_final_snapshot(skip).set_final_db_snapshot_identifier(name).send().await?;
        } else {
            let call = cx.aws.rds().delete_db_instance().db_instance_identifier(id);
            call.set_skip_final_snapshot(skip).set_final_db_snapshot_identifier(name).send().await?;
        }
        Ok(())
    }
}

/// Identifiers are not case-sensitive.
pub(super) fn is(theirs: Option<&str>, ours: &str) -> bool {
    theirs.is_some_and(|theirs| theirs.eq_ignore_ascii_case(ours))
}

fn cluster(c: &DbCluster) -> Live {
    let members = c.db_cluster_members().iter().filter_map(|m| m.db_instance_identifier());
    Live {
        going: c.status() == Some("deleting"),
        protected: c.deletion_protection() == Some(true),
        holders: members.map(|id| format!("{id} (instance)")).collect(),
        global: c.global_cluster_identifier().filter(|id| !id.is_empty()).map(str::to_owned),
        member: false,
        replica: false,
    }
}

fn instance(i: &DbInstance) -> Live {
    let named = |id: Option<&str>| id.is_some_and(|id| !id.is_empty());
    let replicas = i.read_replica_db_instance_identifiers().iter().chain(i.read_replica_db_cluster_identifiers());
    Live {
        going: i.db_instance_status() == Some("deleting"),
        protected: i.deletion_protection() == Some(true),
        holders: replicas.map(|id| format!("{id} (read replica)")).collect(),
        global: None,
        member: named(i.db_cluster_identifier()),
        replica: named(i.read_replica_source_db_instance_identifier()) || named(i.read_replica_source_db_cluster_identifier()),
    }
}
