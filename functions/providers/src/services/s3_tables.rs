//! S3 Tables.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
