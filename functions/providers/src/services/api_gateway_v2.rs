//! API Gateway, HTTP and WebSocket APIs.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
