//! Elastic Load Balancing (application, network and gateway load balancers).

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
