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
    /// Cloud Control.
    cloudcontrol: aws_sdk_cloudcontrol,
    /// CloudWatch.
    cloudwatch: aws_sdk_cloudwatch,
    /// DynamoDB.
    dynamodb: aws_sdk_dynamodb,
    /// EC2.
    ec2: aws_sdk_ec2,
    /// EventBridge.
    events: aws_sdk_eventbridge,
    /// IAM.
    iam: aws_sdk_iam,
    /// KMS.
    kms: aws_sdk_kms,
    /// Lambda.
    lambda: aws_sdk_lambda,
    /// CloudWatch Logs.
    logs: aws_sdk_cloudwatchlogs,
    /// S3, for the buckets of a stack.
    s3: aws_sdk_s3,
    /// Secrets Manager.
    secrets: aws_sdk_secretsmanager,
    /// Step Functions.
    sfn: aws_sdk_sfn,
    /// SNS.
    sns: aws_sdk_sns,
    /// SQS.
    sqs: aws_sdk_sqs,
    /// Systems Manager.
    ssm: aws_sdk_ssm,
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
