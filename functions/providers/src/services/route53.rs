//! Route 53.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
