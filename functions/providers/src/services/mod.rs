//! One file per AWS service; each lists its types with their steps, IAM actions and error rules.

pub(crate) mod cloud_control;
pub(crate) mod custom_resource;
mod iam;
mod sqs;

use crate::registry::TypeDef;

/// Every native type, service by service. A new service file is one more line here.
pub(crate) const ALL: &[&[TypeDef]] = &[iam::TYPES, sqs::TYPES];
