//! One file per AWS service; each lists its types with their steps, IAM actions and error rules.

mod acm;
mod api_gateway;
mod api_gateway_v2;
mod app_sync;
mod auto_scaling;
mod bedrock_agent_core;
mod budgets;
pub(crate) mod cloud_control;
mod cloudfront;
mod cloudwatch;
mod code_build;
mod code_commit;
mod cognito;
pub(crate) mod custom_resource;
mod dlm;
mod dynamodb;
pub(crate) mod ec2;
mod ecr;
mod ecs;
mod efs;
mod elasticache;
mod elb;
mod emr;
mod events;
mod firehose;
mod fsx;
pub(crate) mod glue;
mod iam;
mod kinesis;
mod kms;
mod lambda;
mod logs;
mod pipes;
mod rds;
mod redshift;
mod route53;
mod s3;
mod s3_express;
mod s3_tables;
mod s3_vectors;
mod scheduler;
mod secrets;
mod service_discovery;
mod sfn;
mod sns;
mod sqs;
mod ssm;
mod wafv2;

use crate::registry::TypeDef;

pub use cloud_control::ACTIONS as CLOUD_CONTROL_ACTIONS;
pub use custom_resource::ACTIONS as CUSTOM_RESOURCE_ACTIONS;

/// Every native type, service by service. A new service file is one more line here.
pub(crate) const ALL: &[&[TypeDef]] = &[
    acm::TYPES,
    api_gateway::TYPES,
    api_gateway_v2::TYPES,
    app_sync::TYPES,
    auto_scaling::TYPES,
    bedrock_agent_core::TYPES,
    budgets::TYPES,
    cloudfront::TYPES,
    cloudwatch::TYPES,
    code_build::TYPES,
    code_commit::TYPES,
    cognito::TYPES,
    dlm::TYPES,
    dynamodb::TYPES,
    ec2::TYPES,
    ecr::TYPES,
    ecs::TYPES,
    efs::TYPES,
    elasticache::TYPES,
    elb::TYPES,
    emr::TYPES,
    events::TYPES,
    firehose::TYPES,
    fsx::TYPES,
    glue::TYPES,
    iam::TYPES,
    kinesis::TYPES,
    kms::TYPES,
    lambda::TYPES,
    logs::TYPES,
    pipes::TYPES,
    rds::TYPES,
    redshift::TYPES,
    route53::TYPES,
    s3::TYPES,
    s3_express::TYPES,
    s3_tables::TYPES,
    s3_vectors::TYPES,
    scheduler::TYPES,
    secrets::TYPES,
    service_discovery::TYPES,
    sfn::TYPES,
    sns::TYPES,
    sqs::TYPES,
    ssm::TYPES,
    wafv2::TYPES,
];
