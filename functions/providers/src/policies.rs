//! The delete policies of the worker and of a target's role, made from the actions that the types declare. A policy holds
//! 6,144 characters and a role takes ten, so services are grouped; `infra/policies` is generated from here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::registry::types;
use crate::{CLOUD_CONTROL_ACTIONS, CUSTOM_RESOURCE_ACTIONS};

/// Which policy holds the actions of a service. A service that is not named here gets `more`.
const GROUPS: &[(&str, &[&str])] = &[
    ("cloud-control", &["cloudformation"]),
    ("compute", &["autoscaling", "codebuild", "ecr", "ecs", "elasticfilesystem", "lambda", "states"]),
    ("identity", &["acm", "cognito-idp", "iam", "kms", "secretsmanager", "wafv2"]),
    ("messaging", &["events", "firehose", "kinesis", "scheduler", "sns", "sqs"]),
    ("network", &["ec2", "elasticloadbalancing", "route53", "servicediscovery"]),
    ("operations", &["cloudwatch", "logs", "ssm"]),
    ("storage", &["application-autoscaling", "dynamodb", "elasticache", "rds", "s3"]),
];

/// The policy documents by name, each with one statement per service.
pub fn policies() -> BTreeMap<&'static str, Value> {
    let mut groups: BTreeMap<&'static str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    let declared = types().iter().flat_map(|def| def.actions);
    for action in declared.chain(CLOUD_CONTROL_ACTIONS).chain(CUSTOM_RESOURCE_ACTIONS) {
        let service = action.split(':').next().unwrap_or(action);
        let group = GROUPS.iter().find(|(_, services)| services.contains(&service)).map_or("more", |(name, _)| name);
        groups.entry(group).or_default().entry(service).or_default().insert(action);
    }
    groups
        .into_iter()
        .map(|(name, services)| {
            let statements: Vec<Value> = services
                .into_iter()
                .map(|(service, actions)| json!({ "Sid": sid(service), "Effect": "Allow", "Action": actions, "Resource": "*" }))
                .collect();
            (name, json!({ "Version": "2012-10-17", "Statement": statements }))
        })
        .collect()
}

/// Statement ids are letters and digits.
fn sid(service: &str) -> String {
    service
        .split('-')
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
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
