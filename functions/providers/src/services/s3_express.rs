//! S3 directory buckets.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
