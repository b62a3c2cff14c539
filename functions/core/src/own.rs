//! What a run itself stands on: the app's functions, roles, machines, rules and logs, the state bucket, and the role it
//! works through. A run that deleted one of these would die half-way with the lock in its hand.

use serde_json::Value;

use crate::state::Row;

/// The app's four functions, `{app}-{part}`.
pub const PARTS: [&str; 4] = ["planner", "worker", "lock-keeper", "finalizer"];

/// What must not be deleted by the run that stands on it.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// The app's name.
    pub app: &'a str,
    /// The state bucket.
    pub bucket: &'a str,
    /// ARN of the role that the run works through.
    pub target_role: Option<&'a str>,
}

impl Own<'_> {
    /// Why `row` must not be deleted by this run, if it is one of these. Judged by names, so a row of that name in
    /// another account is refused as well.
    pub fn reason(&self, row: &Row) -> Option<&'static str> {
        let property = |name: &str| row.properties.get(name).and_then(Value::as_str);
        let physical_id = row.physical_id.as_deref();
        let any = |name: &str, test: &dyn Fn(&str) -> bool| [physical_id, property(name)].into_iter().flatten().any(test);
        let roles = || {
            let listed = row.properties.get("Roles").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            listed.chain(property("RoleName")).any(|role| self.is_role(role))
        };
        let (yes, reason) = match row.resource_type.as_str() {
            "AWS::Lambda::Function" => (any("FunctionName", &|n| self.is_function(n)), "it is one of this app's functions"),
            "AWS::Lambda::Permission"
            | "AWS::Lambda::Alias"
            | "AWS::Lambda::Version"
            | "AWS::Lambda::Url"
            | "AWS::Lambda::EventInvokeConfig" => {
                (property("FunctionName").is_some_and(|n| self.is_function(n)), "it is part of one of this app's functions")
            }
            "AWS::IAM::Role" => (any("RoleName", &|n| self.is_role(n)), "it is a role that this app works through"),
            "AWS::IAM::Policy" | "AWS::IAM::RolePolicy" => (roles(), "it is a policy of a role that this app works through"),
            "AWS::IAM::ManagedPolicy" => (
                roles() || any("ManagedPolicyName", &|n| self.is_named(last(n))),
                "it is a policy of a role that this app works through",
            ),
            "AWS::StepFunctions::StateMachine" => {
                (any("StateMachineName", &|n| self.is_named(last(n))), "it is one of this app's state machines")
            }
            "AWS::Events::Rule" | "AWS::Scheduler::Schedule" => {
                (any("Name", &|n| self.is_named(last(n))), "it is one of this app's rules or schedules")
            }
            // The bus has the app's own name.
            "AWS::Events::EventBus" => (any("Name", &|n| last(n) == self.app), "it is this app's event bus"),
            "AWS::Events::EventBusPolicy" => {
                (property("EventBusName").is_some_and(|n| last(n) == self.app), "it is the policy of this app's event bus")
            }
            "AWS::Logs::LogGroup" => (any("LogGroupName", &|n| self.is_log_group(n)), "it holds this app's logs"),
            "AWS::S3::Bucket" => (any("BucketName", &|n| n == self.bucket), "it is the state bucket of this run"),
            "AWS::S3::BucketPolicy" => (any("Bucket", &|n| n == self.bucket), "it is the policy of the state bucket of this run"),
            _ => return None,
        };
        yes.then_some(reason)
    }

    /// `{app}-…`, as everything with a name in the app's template.
    fn is_named(&self, name: &str) -> bool {
        name.strip_prefix(self.app).is_some_and(|rest| rest.starts_with('-'))
    }

    /// A name, an ARN, or either with a qualifier.
    fn is_function(&self, name: &str) -> bool {
        let name = name.split_once(":function:").map_or(name, |(_, rest)| rest);
        let name = name.split(':').next().unwrap_or_default();
        name.strip_prefix(self.app).and_then(|rest| rest.strip_prefix('-')).is_some_and(|part| PARTS.contains(&part))
    }

    fn is_role(&self, role: &str) -> bool {
        let role = last(role);
        self.is_named(role) || self.target_role.is_some_and(|arn| last(arn) == role)
    }

    fn is_log_group(&self, name: &str) -> bool {
        if let Some(function) = name.strip_prefix("/aws/lambda/") {
            return self.is_function(function);
        }
        name.strip_prefix("/aws/vendedlogs/states/").is_some_and(|machine| machine == self.app || self.is_named(machine))
    }
}

/// The last part of a name with a path, or of an ARN.
fn last(name: &str) -> &str {
    name.rsplit(['/', ':']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Layout, StateDoc};
    use serde_json::json;

    fn reason(resource_type: &str, physical_id: &str, properties: Value) -> Option<&'static str> {
        let own = Own {
            app: "ebb",
            bucket: "cdkd-state-123456789012",
            target_role: Some("arn:aws:iam::210987654321:role/teams/teardown"),
        };
        let row = json!({"resourceType": resource_type, "physicalId": physical_id, "properties": properties});
        let state = json!({"resources": {"Row": row}}).to_string();
        own.reason(&StateDoc::parse(state.as_bytes(), Layout::Regional).unwrap().row("Row").unwrap())
    }

    /// A run refuses to delete what it runs on.
    #[test]
    fn what_the_run_stands_on_is_refused() {
        for (resource_type, id, properties) in [
            ("AWS::Lambda::Function", "ebb-planner", json!({})),
            ("AWS::Lambda::Function", "arn:aws:lambda:us-east-1:123456789012:function:ebb-lock-keeper", json!({})),
            ("AWS::Lambda::Function", "", json!({"FunctionName": "ebb-worker"})),
            ("AWS::Lambda::Permission", "Allow-1", json!({"FunctionName": "ebb-finalizer:live"})),
            ("AWS::IAM::Role", "ebb-worker", json!({})),
            ("AWS::IAM::Role", "ebb-keeper-machine", json!({})),
            ("AWS::IAM::Role", "teardown", json!({})),
            ("AWS::IAM::Policy", "p", json!({"Roles": ["other", "ebb-trigger"]})),
            ("AWS::IAM::RolePolicy", "p", json!({"RoleName": "teardown"})),
            ("AWS::IAM::ManagedPolicy", "arn:aws:iam::123456789012:policy/ebb-delete-iam", json!({})),
            ("AWS::StepFunctions::StateMachine", "arn:aws:states:us-east-1:123456789012:stateMachine:ebb-drive", json!({})),
            ("AWS::Events::Rule", "arn:aws:events:us-east-1:123456789012:rule/ebb-ended-badly", json!({})),
            ("AWS::Scheduler::Schedule", "ebb-nightly", json!({})),
            ("AWS::Events::EventBus", "ebb", json!({})),
            ("AWS::Events::EventBusPolicy", "x", json!({"EventBusName": "arn:aws:events:us-east-1:123456789012:event-bus/ebb"})),
            ("AWS::Logs::LogGroup", "/aws/lambda/ebb-worker", json!({})),
            ("AWS::Logs::LogGroup", "/aws/vendedlogs/states/ebb", json!({})),
            ("AWS::S3::Bucket", "cdkd-state-123456789012", json!({})),
            ("AWS::S3::BucketPolicy", "policy-1", json!({"Bucket": "cdkd-state-123456789012"})),
        ] {
            assert!(reason(resource_type, id, properties).is_some(), "{resource_type} {id}");
        }
    }

    #[test]
    fn names_that_only_look_alike_are_not() {
        for (resource_type, id, properties) in [
            ("AWS::Lambda::Function", "ebb-plannerish", json!({})),
            ("AWS::Lambda::Function", "ebb-orders", json!({})),
            ("AWS::Lambda::Function", "webb-planner", json!({})),
            ("AWS::IAM::Role", "ebbing-role", json!({})),
            ("AWS::IAM::Policy", "ebb-worker", json!({"Roles": ["other"]})),
            ("AWS::Events::EventBus", "ebb-orders", json!({})),
            ("AWS::Logs::LogGroup", "/aws/lambda/ebb-orders", json!({})),
            ("AWS::S3::Bucket", "cdkd-state-123456789012-copy", json!({})),
            ("AWS::SQS::Queue", "ebb-worker", json!({})),
        ] {
            assert_eq!(reason(resource_type, id, properties), None, "{resource_type} {id}");
        }
    }
}
