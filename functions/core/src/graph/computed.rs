//! Edges that follow from what rows say of each other: alarms that a composite alarm names, and the compensations that a
//! frontier needs because nothing waits for a whole level (a custom resource's handler still needs its role's policy,
//! which nothing depends on).

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::references::{Reference, at, read, walk};
use super::{Edge, Index, Node, Stack};

/// All computed edges.
pub(super) fn edges(nodes: &[Node], index: &Index) -> Vec<Edge> {
    let mut edges = Vec::new();
    for stack in &index.stacks {
        let scope = Scope::of(nodes, stack);
        scope.composite_alarms(&mut edges);
        scope.role_users(&mut edges);
        scope.log_groups(&mut edges);
        scope.custom_resources(&mut edges);
        scope.bucket_emptiers(&mut edges);
    }
    edges
}

struct Scope<'a> {
    nodes: &'a [Node],
    stack: &'a Stack<'a>,
    /// Role name → its row.
    roles: HashMap<&'a str, usize>,
    /// A role's row → the rows of policies that stand in it.
    policies: HashMap<usize, Vec<usize>>,
    /// Function name → its row; made when somebody asks.
    functions: OnceCell<HashMap<&'a str, usize>>,
}

impl<'a> Scope<'a> {
    fn of(nodes: &'a [Node], stack: &'a Stack<'a>) -> Self {
        let mut scope = Scope { nodes, stack, roles: HashMap::new(), policies: HashMap::new(), functions: OnceCell::new() };
        scope.roles = scope.by_physical_id("AWS::IAM::Role", name_in);
        scope.policies = scope.policies_by_role();
        scope
    }

    /// The rows of a type by (a part of) their physical ids.
    fn by_physical_id(&self, resource_type: &str, part: impl Fn(&'a str) -> &'a str) -> HashMap<&'a str, usize> {
        let rows = self.stack.of_type(resource_type);
        let mut found = HashMap::with_capacity(rows.len());
        found.extend(rows.iter().filter_map(|&n| Some((part(self.nodes[n].row.physical_id.as_deref()?), n))));
        found
    }

    fn functions(&self) -> &HashMap<&'a str, usize> {
        self.functions.get_or_init(|| self.by_physical_id("AWS::Lambda::Function", name_in))
    }

    /// Inline and managed policies by the roles they name or that name them.
    fn policies_by_role(&self) -> HashMap<usize, Vec<usize>> {
        let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
        for resource_type in ["AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy"] {
            for &policy in self.stack.of_type(resource_type) {
                let properties = &self.nodes[policy].row.properties;
                for reference in at(properties, "Roles").into_iter().chain(at(properties, "RoleName")) {
                    if let Some(role) = self.role_of(&reference) {
                        found.entry(role).or_default().push(policy);
                    }
                }
            }
        }
        let managed = self.by_physical_id("AWS::IAM::ManagedPolicy", |arn| arn);
        for &role in self.stack.of_type("AWS::IAM::Role") {
            for reference in at(&self.nodes[role].row.properties, "ManagedPolicyArns") {
                let policy = match &reference {
                    Reference::Id(arn) => managed.get(arn).copied(),
                    Reference::Logical(id) => self.logical(id, "AWS::IAM::ManagedPolicy"),
                    Reference::Unknown => None,
                };
                found.entry(role).or_default().extend(policy);
            }
        }
        found
    }

    /// The row of that name, when it is of that type.
    fn logical(&self, id: &str, resource_type: &str) -> Option<usize> {
        self.stack.logical(id).filter(|&n| self.nodes[n].row.resource_type == resource_type)
    }

    fn role_of(&self, reference: &Reference<'_>) -> Option<usize> {
        match reference {
            Reference::Id(id) if !id.contains(':') || id.contains(":role/") => self.roles.get(name_in(id)).copied(),
            Reference::Logical(id) => self.logical(id, "AWS::IAM::Role"),
            Reference::Id(_) | Reference::Unknown => None,
        }
    }

    /// A composite alarm goes before every alarm that its rule names: only text links them.
    fn composite_alarms(&self, edges: &mut Vec<Edge>) {
        let composites = self.stack.of_type("AWS::CloudWatch::CompositeAlarm");
        if composites.is_empty() {
            return;
        }
        let mut alarms: HashMap<&str, usize> = HashMap::new();
        for resource_type in ["AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"] {
            for &alarm in self.stack.of_type(resource_type) {
                let row = &self.nodes[alarm].row;
                let name = row.properties.get("AlarmName").and_then(Value::as_str).or(row.physical_id.as_deref());
                alarms.extend(name.map(|name| (alarm_name(name), alarm)));
            }
        }
        for &composite in composites {
            if let Some(rule) = self.nodes[composite].row.properties.get("AlarmRule").and_then(Value::as_str) {
                edges.extend(alarms_in(rule).into_iter().filter_map(|name| alarms.get(name)).map(|&alarm| (composite, alarm)));
            }
        }
    }

    /// What uses a role goes before the role's policies: a function without its policy fails in the middle of its work.
    fn role_users(&self, edges: &mut Vec<Edge>) {
        if self.policies.is_empty() {
            return;
        }
        for &user in &self.stack.members {
            let node = &self.nodes[user];
            if node.row.resource_type.starts_with("AWS::IAM::") {
                continue;
            }
            for role in self.roles_used(node) {
                edges.extend(self.policies_of(role).map(|policy| (user, policy)));
            }
        }
    }

    fn policies_of(&self, role: usize) -> impl Iterator<Item = usize> {
        self.policies.get(&role).into_iter().flatten().copied()
    }

    /// Roles in properties whose name ends in `Role` or `RoleArn`.
    fn roles_used(&self, node: &Node) -> BTreeSet<usize> {
        let mut used = BTreeSet::new();
        walk(&node.row.properties, &mut |property, value| {
            if property.ends_with("Role") || property.ends_with("RoleArn") {
                used.extend(self.role_of(&read(value)));
            }
        });
        used
    }

    /// A function goes before its log group: a late invocation would make the group again, outside any state.
    fn log_groups(&self, edges: &mut Vec<Edge>) {
        let groups = self.by_physical_id("AWS::Logs::LogGroup", |name| name);
        if groups.is_empty() {
            return;
        }
        for (name, &function) in self.functions() {
            let own = format!("/aws/lambda/{name}");
            let configured = at(&self.nodes[function].row.properties, "LoggingConfig.LogGroup");
            edges.extend(groups.get(own.as_str()).map(|&group| (function, group)));
            edges.extend(configured.into_iter().filter_map(|reference| match reference {
                Reference::Id(id) => groups.get(id).map(|&group| (function, group)),
                _ => None,
            }));
        }
    }

    /// A custom resource goes before its handler, the handler's role, policies and permissions, and, when the handler sits
    /// in a VPC, before that VPC's ways out. A handler behind a topic is reached through the topic's subscription.
    fn custom_resources(&self, edges: &mut Vec<Edge>) {
        let customs: Vec<usize> =
            self.stack.members.iter().copied().filter(|&n| is_custom(&self.nodes[n].row.resource_type)).collect();
        if customs.is_empty() {
            return;
        }
        let mut permissions: HashMap<usize, Vec<usize>> = HashMap::new();
        for &permission in self.stack.of_type("AWS::Lambda::Permission") {
            for function in at(&self.nodes[permission].row.properties, "FunctionName") {
                if let Some(function) = self.function(&function) {
                    permissions.entry(function).or_default().push(permission);
                }
            }
        }
        for custom in customs {
            let tokens = at(&self.nodes[custom].row.properties, "ServiceToken");
            let Some(token) = tokens.first() else { continue };
            let mut handlers: Vec<usize> = self.function(token).into_iter().collect();
            if let Some(topic) = self.topic(token) {
                edges.push((custom, topic));
                for &subscription in self.stack.of_type("AWS::SNS::Subscription") {
                    let properties = &self.nodes[subscription].row.properties;
                    if at(properties, "TopicArn").iter().any(|arn| self.topic(arn) == Some(topic)) {
                        edges.push((custom, subscription));
                        handlers.extend(at(properties, "Endpoint").iter().filter_map(|function| self.function(function)));
                    }
                }
            }
            for handler in handlers {
                edges.push((custom, handler));
                for role in self.roles_used(&self.nodes[handler]) {
                    edges.push((custom, role));
                    edges.extend(self.policies_of(role).map(|policy| (custom, policy)));
                }
                edges.extend(permissions.get(&handler).into_iter().flatten().map(|&permission| (custom, permission)));
                self.ways_out(custom, handler, edges);
            }
        }
    }

    fn function(&self, reference: &Reference<'_>) -> Option<usize> {
        match reference {
            Reference::Id(arn) => self.functions().get(name_in(arn)).copied(),
            Reference::Logical(id) => self.logical(id, "AWS::Lambda::Function"),
            Reference::Unknown => None,
        }
    }

    fn topic(&self, reference: &Reference<'_>) -> Option<usize> {
        match reference {
            Reference::Id(arn) => {
                let topics = self.stack.of_type("AWS::SNS::Topic").iter().copied();
                topics.into_iter().find(|&n| self.nodes[n].row.physical_id.as_deref() == Some(*arn))
            }
            Reference::Logical(id) => self.logical(id, "AWS::SNS::Topic"),
            Reference::Unknown => None,
        }
    }

    /// NAT gateways, routes, gateway attachments and endpoints of the stack, when the handler is in a VPC: its answer has
    /// to get out.
    fn ways_out(&self, custom: usize, handler: usize, edges: &mut Vec<Edge>) {
        if at(&self.nodes[handler].row.properties, "VpcConfig.SubnetIds").is_empty() {
            return;
        }
        for resource_type in
            ["AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::VPCGatewayAttachment", "AWS::EC2::VPCEndpoint"]
        {
            edges.extend(self.stack.of_type(resource_type).iter().map(|&way| (custom, way)));
        }
    }

    /// The emptier of a bucket goes before the bucket and its policy, which gives the handler its access.
    fn bucket_emptiers(&self, edges: &mut Vec<Edge>) {
        let emptiers = self.stack.of_type("Custom::S3AutoDeleteObjects");
        if emptiers.is_empty() {
            return;
        }
        let buckets = self.by_physical_id("AWS::S3::Bucket", |name| name);
        // A bucket by its name; one that is not in the stack may still have its policy here.
        let name = |reference: &Reference<'a>| match reference {
            Reference::Id(name) => Some(*name),
            Reference::Logical(id) => {
                self.logical(id, "AWS::S3::Bucket").and_then(|bucket| self.nodes[bucket].row.physical_id.as_deref())
            }
            Reference::Unknown => None,
        };
        let mut policies: HashMap<&str, BTreeSet<usize>> = HashMap::new();
        for &policy in self.stack.of_type("AWS::S3::BucketPolicy") {
            let row = &self.nodes[policy].row;
            let named = at(&row.properties, "Bucket");
            for bucket in named.iter().filter_map(name).chain(row.physical_id.as_deref()) {
                policies.entry(bucket).or_default().insert(policy);
            }
        }
        for &emptier in emptiers {
            for bucket in at(&self.nodes[emptier].row.properties, "BucketName").iter().filter_map(name) {
                edges.extend(buckets.get(bucket).map(|&bucket| (emptier, bucket)));
                edges.extend(policies.get(bucket).into_iter().flatten().map(|&policy| (emptier, policy)));
            }
        }
    }
}

/// Whether a type is a custom resource's.
pub(crate) fn is_custom(resource_type: &str) -> bool {
    resource_type.starts_with("Custom::") || resource_type == "AWS::CloudFormation::CustomResource"
}

/// The name in an ARN (`…:role/path/name`, `…:function:name`, `…:function:name:alias`) or the name itself.
fn name_in(id: &str) -> &str {
    if id.contains(':')
        && let Some((_, function)) = id.split_once(":function:")
    {
        return function.split(':').next().unwrap_or(function);
    }
    id.rsplit('/').next().unwrap_or(id)
}

/// What follows `:alarm:` in an ARN, or the name.
fn alarm_name(text: &str) -> &str {
    text.split_once(":alarm:").map_or(text, |(_, name)| name)
}

/// The alarms that `ALARM(x)`, `OK(x)` and `INSUFFICIENT_DATA(x)` name, in any case, quoted or not, as names or ARNs.
fn alarms_in(rule: &str) -> Vec<&str> {
    const STATES: [&str; 3] = ["alarm", "ok", "insufficient_data"];
    let mut found = Vec::new();
    let mut rest = rule;
    while let Some(open) = rest.find('(') {
        let (before, inside) = (rest[..open].trim_end(), &rest[open + 1..]);
        rest = inside;
        let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        if !STATES.contains(&word.to_ascii_lowercase().as_str()) {
            continue;
        }
        let name = inside.trim_start();
        let quoted = name.chars().next().filter(|c| matches!(c, '"' | '\''));
        let name = match quoted {
            Some(quote) => name[1..].split(quote).next().unwrap_or_default(),
            None => name.split(')').next().unwrap_or_default().trim(),
        };
        found.push(alarm_name(name));
        // What is inside the parentheses is a name, not a rule.
        rest = inside.get(inside.find(name).unwrap_or(0) + name.len()..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarm_rules_name_alarms_in_every_spelling() {
        let rule = r#"ALARM("a (1)") AND (ok('b') OR NOT Insufficient_Data(arn:aws:cloudwatch:us-east-1:1:alarm:c)) AND TRUE AND Alarm( d )"#;
        assert_eq!(alarms_in(rule), ["a (1)", "b", "c", "d"]);
        assert_eq!(alarms_in("((("), Vec::<&str>::new());
        assert_eq!(alarms_in("ALARM("), [""]);
        assert_eq!(alarms_in("XALARM(x)"), Vec::<&str>::new());
    }

    /// A rule is at most 10 kB of text that anybody may have written; twenty times that is read in a blink, too.
    #[test]
    fn a_long_rule_is_read_in_one_pass() {
        for piece in ["ALARM(", "ALARM('", "((((((", "ALARM()", "OK(\"", "       (", "xxxxxx", "ALARM(a) OR "] {
            let rule = piece.repeat(200_000 / piece.len());
            assert!(alarms_in(&rule).len() <= rule.len(), "{piece}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

        /// What it names stands in it; what is around does not matter.
        #[test]
        fn any_rule_is_read(rule in "\\PC{0,40}|((NOT|AND|ALARM|ok|Insufficient_data|[()\"' a-z:]|\\PC){0,3}){0,20}", name in "[a-zA-Z0-9 _|%/ü-]{0,10}[a-z]") {
            for alarm in alarms_in(&rule) {
                assert!(rule.contains(alarm));
            }
            assert_eq!(alarms_in(&format!("ALARM('{name}') AND {rule}"))[0], name);
        }
    }

    #[test]
    fn names_are_read_out_of_arns() {
        assert_eq!(name_in("arn:aws:iam::1:role/path/R"), "R");
        assert_eq!(name_in("arn:aws:lambda:us-east-1:1:function:F:live"), "F");
        assert_eq!(name_in("F"), "F");
    }
}
