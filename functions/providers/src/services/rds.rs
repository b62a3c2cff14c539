//! RDS, DocumentDB and Neptune: one API.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
