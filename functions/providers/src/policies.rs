//! The delete policies of the worker and of a target's role, made from the actions that the types declare and those that
//! Cloud Control's handlers need. A policy holds 6,144 characters and a role takes ten, so services are grouped;
//! `infra/policies` is generated from here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::registry::types;
use crate::services::cloud_control::permissions;
use crate::{CLOUD_CONTROL_ACTIONS, CUSTOM_RESOURCE_ACTIONS};

/// Which policy holds the actions of a service. A service that is not named here gets `more`.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "analytics",
        &[
            "airflow",
            "aoss",
            "athena",
            "datasync",
            "dms",
            "elasticmapreduce",
            "emr-serverless",
            "es",
            "firehose",
            "glue",
            "kafka",
            "kinesis",
            "kinesisanalytics",
            "lakeformation",
            "redshift",
            "redshift-serverless",
            "schemas",
            "timestream",
        ],
    ),
    (
        "applications",
        &[
            "amplify",
            "apigateway",
            "appconfig",
            "apprunner",
            "appsync",
            "cognito-identity",
            "cognito-idp",
            "elasticbeanstalk",
            "events",
            "mq",
            "pipes",
            "scheduler",
            "ses",
            "sms-voice",
            "sns",
            "sqs",
            "states",
        ],
    ),
    (
        "compute",
        &[
            "application-autoscaling",
            "autoscaling",
            "batch",
            "codeartifact",
            "codebuild",
            "codecommit",
            "codeconnections",
            "codedeploy",
            "codepipeline",
            "codestar-connections",
            "codestar-notifications",
            "ecr",
            "ecr-public",
            "ecs",
            "eks",
            "lambda",
        ],
    ),
    ("edge", &["cloudfront", "globalaccelerator", "network-firewall", "route53", "route53resolver", "servicediscovery"]),
    (
        "identity",
        &[
            "access-analyzer",
            "acm",
            "acm-pca",
            "guardduty",
            "iam",
            "inspector",
            "inspector2",
            "kms",
            "ram",
            "secretsmanager",
            "securityhub",
            "signer",
            "verifiedpermissions",
            "wafv2",
        ],
    ),
    ("network", &["ec2", "elasticloadbalancing", "vpc-lattice"]),
    (
        "operations",
        &[
            "aps",
            "budgets",
            "cloudformation",
            "cloudtrail",
            "cloudwatch",
            "config",
            "iot",
            "logs",
            "resource-groups",
            "ssm",
            "synthetics",
            "xray",
        ],
    ),
    (
        "storage",
        &[
            "backup",
            "dlm",
            "dsql",
            "dynamodb",
            "elasticache",
            "elasticfilesystem",
            "fsx",
            "memorydb",
            "neptune-graph",
            "rds",
            "s3",
            "s3express",
            "s3tables",
            "s3vectors",
        ],
    ),
];

/// The policy documents by name, each with one statement.
pub fn policies() -> BTreeMap<&'static str, Value> {
    let mut groups: BTreeMap<&'static str, BTreeSet<&str>> = BTreeMap::new();
    let declared = types().iter().flat_map(|def| def.actions).chain(permissions::all());
    for action in declared.chain(CLOUD_CONTROL_ACTIONS).chain(CUSTOM_RESOURCE_ACTIONS) {
        let service = action.split(':').next().unwrap_or(action);
        let group = GROUPS.iter().find(|(_, services)| services.contains(&service)).map_or("more", |(name, _)| name);
        groups.entry(group).or_default().insert(action);
    }
    groups
        .into_iter()
        .map(|(name, actions)| {
            let statement = json!({ "Sid": "Delete", "Effect": "Allow", "Action": actions, "Resource": "*" });
            (name, json!({ "Version": "2012-10-17", "Statement": [statement] }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `make policies` writes them; a type that calls an action which its role lacks would fail on its first delete.
    #[test]
    fn the_committed_policies_are_these() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/policies");
        let mut committed = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            committed.insert(name, serde_json::from_slice::<Value>(&std::fs::read(&path).unwrap()).unwrap());
        }
        let made: BTreeMap<String, Value> = policies().into_iter().map(|(name, policy)| (name.to_owned(), policy)).collect();
        assert_eq!(committed, made, "run `make policies`");
    }

    #[test]
    fn they_fit_a_role() {
        assert!(policies().len() <= 9);
        for (name, policy) in policies() {
            assert!(policy.to_string().len() < 6144, "{name} is too large");
        }
    }
}
