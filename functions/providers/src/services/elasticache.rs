//! ElastiCache.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
