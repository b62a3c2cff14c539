//! One file per AWS service; each lists its types with their steps, IAM actions and error rules.

pub(crate) mod cloud_control;
mod cloudwatch;
pub(crate) mod custom_resource;
mod dynamodb;
mod ec2;
mod events;
mod iam;
mod kms;
mod lambda;
mod logs;
mod s3;
mod secrets;
mod sfn;
mod sns;
mod sqs;
mod ssm;

use crate::registry::TypeDef;

pub use cloud_control::ACTIONS as CLOUD_CONTROL_ACTIONS;
pub use custom_resource::ACTIONS as CUSTOM_RESOURCE_ACTIONS;

/// Every native type, service by service. A new service file is one more line here.
pub(crate) const ALL: &[&[TypeDef]] = &[
    cloudwatch::TYPES,
    dynamodb::TYPES,
    ec2::TYPES,
    events::TYPES,
    iam::TYPES,
    kms::TYPES,
    lambda::TYPES,
    logs::TYPES,
    s3::TYPES,
    secrets::TYPES,
    sfn::TYPES,
    sns::TYPES,
    sqs::TYPES,
    ssm::TYPES,
];
