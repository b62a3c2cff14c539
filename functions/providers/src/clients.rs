//! AWS clients of one account and region, built on first use and kept for the container's life. Every one carries the
//! fence guard, so no mutating call leaves without an open fence.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aws_types::SdkConfig;
use aws_types::region::Region;

use crate::fence_guard::FenceGuard;

macro_rules! clients {
    ($($(#[$doc:meta])* $name:ident: $krate:ident),* $(,)?) => {
        /// Clients of one account and region.
        pub struct Clients {
            config: SdkConfig,
            elsewhere: Mutex<HashMap<String, Arc<Clients>>>,
            $($name: OnceLock<$krate::Client>,)*
        }

        impl Clients {
            /// Clients that call with `config`'s credentials in `config`'s region.
            pub fn new(config: SdkConfig) -> Self {
                Clients { config, elsewhere: Mutex::default(), $($name: OnceLock::new(),)* }
            }

            $($(#[$doc])* pub fn $name(&self) -> &$krate::Client {
                self.$name.get_or_init(|| {
                    let config = $krate::config::Builder::from(&self.config).interceptor(FenceGuard).build();
                    $krate::Client::from_conf(config)
                })
            })*
        }
    };
}

clients! {
    /// Certificate Manager.
    acm: aws_sdk_acm,
    /// API Gateway, REST APIs.
    apigateway: aws_sdk_apigateway,
    /// API Gateway, HTTP and WebSocket APIs.
    apigatewayv2: aws_sdk_apigatewayv2,
    /// Application Auto Scaling.
    applicationautoscaling: aws_sdk_applicationautoscaling,
    /// AppSync.
    appsync: aws_sdk_appsync,
    /// Auto Scaling.
    autoscaling: aws_sdk_autoscaling,
    /// Bedrock AgentCore.
    bedrockagentcore: aws_sdk_bedrockagentcorecontrol,
    /// Budgets.
    budgets: aws_sdk_budgets,
    /// Cloud Control.
    cloudcontrol: aws_sdk_cloudcontrol,
    /// CloudFront.
    cloudfront: aws_sdk_cloudfront,
    /// CloudWatch.
    cloudwatch: aws_sdk_cloudwatch,
    /// CodeBuild.
    codebuild: aws_sdk_codebuild,
    /// CodeCommit.
    codecommit: aws_sdk_codecommit,
    /// Cognito user pools.
    cognito: aws_sdk_cognitoidentityprovider,
    /// Data Lifecycle Manager.
    dlm: aws_sdk_dlm,
    /// DynamoDB.
    dynamodb: aws_sdk_dynamodb,
    /// EC2.
    ec2: aws_sdk_ec2,
    /// Elastic Container Registry.
    ecr: aws_sdk_ecr,
    /// Elastic Container Service.
    ecs: aws_sdk_ecs,
    /// Elastic File System.
    efs: aws_sdk_efs,
    /// ElastiCache.
    elasticache: aws_sdk_elasticache,
    /// Elastic Load Balancing (application, network and gateway load balancers).
    elb: aws_sdk_elasticloadbalancingv2,
    /// EMR.
    emr: aws_sdk_emr,
    /// EventBridge.
    events: aws_sdk_eventbridge,
    /// Data Firehose.
    firehose: aws_sdk_firehose,
    /// FSx.
    fsx: aws_sdk_fsx,
    /// Glue.
    glue: aws_sdk_glue,
    /// IAM.
    iam: aws_sdk_iam,
    /// Kinesis Data Streams.
    kinesis: aws_sdk_kinesis,
    /// KMS.
    kms: aws_sdk_kms,
    /// Lambda.
    lambda: aws_sdk_lambda,
    /// CloudWatch Logs.
    logs: aws_sdk_cloudwatchlogs,
    /// EventBridge Pipes.
    pipes: aws_sdk_pipes,
    /// RDS, DocumentDB and Neptune: one API.
    rds: aws_sdk_rds,
    /// Redshift.
    redshift: aws_sdk_redshift,
    /// Route 53.
    route53: aws_sdk_route53,
    /// S3, for the buckets of a stack.
    s3: aws_sdk_s3,
    /// S3 Tables.
    s3tables: aws_sdk_s3tables,
    /// S3 Vectors.
    s3vectors: aws_sdk_s3vectors,
    /// EventBridge Scheduler.
    scheduler: aws_sdk_scheduler,
    /// Secrets Manager.
    secrets: aws_sdk_secretsmanager,
    /// Cloud Map.
    servicediscovery: aws_sdk_servicediscovery,
    /// Step Functions.
    sfn: aws_sdk_sfn,
    /// SNS.
    sns: aws_sdk_sns,
    /// SQS.
    sqs: aws_sdk_sqs,
    /// Systems Manager.
    ssm: aws_sdk_ssm,
    /// WAF.
    wafv2: aws_sdk_wafv2,
}

impl Clients {
    /// The region these clients call.
    pub fn region(&self) -> &str {
        self.config.region().map_or("", Region::as_ref)
    }

    /// The same account in another region (a subscription's topic, a custom resource's function).
    pub fn in_region(&self, region: &str) -> Arc<Clients> {
        let mut elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        elsewhere
            .entry(region.to_owned())
            .or_insert_with(|| {
                let config = self.config.clone().into_builder().region(Region::new(region.to_owned())).build();
                Arc::new(Clients::new(config))
            })
            .clone()
    }
}
