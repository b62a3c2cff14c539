//! API Gateway, REST APIs.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
