//! S3 Vectors.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
