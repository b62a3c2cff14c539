//! Generated stacks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::super::provider::snapshots;
use super::super::rng::Rng;
use super::{File, Row, Shape, row_of, state_of};

const TYPES: &[&str] = &[
    "AWS::SQS::Queue",
    "AWS::SNS::Topic",
    "AWS::SNS::Subscription",
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::Logs::LogGroup",
    "AWS::IAM::Role",
    "AWS::IAM::Policy",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::EC2::VPC",
    "AWS::EC2::Subnet",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::NatGateway",
    "AWS::ECS::Service",
    "AWS::RDS::DBInstance",
    "AWS::CloudFront::Distribution",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::ApiGateway::RestApi",
    "AWS::Events::Rule",
    "AWS::CDK::Metadata",
    "AWS::ECR::Repository",
    "AWS::Cognito::UserPool",
    "AWS::Unknown::Thing",
];

pub(super) fn generated(rng: &Rng) -> Shape {
    // Now and then a wave that does not fit its hundred items.
    let size = rng.between(1, if rng.chance(15) { 150 } else { *rng.pick(&[3, 6, 10, 16, 30]) });
    let stack = "Generated";
    let mut files = Vec::new();
    let mut resources = some_rows(rng, stack, size as usize);
    for nested in 0..if rng.chance(250) { rng.between(1, 3) } else { 0 } {
        let id = format!("Nested{nested}");
        let child = format!("{stack}~{id}");
        let needs: Vec<String> = resources.keys().take(rng.below(3)).cloned().collect();
        resources.insert(id.clone(), row_of("AWS::CloudFormation::Stack", &child, json!({}), json!(needs)));
        if rng.chance(900) {
            let mut state = state_of(&child, "us-east-1", some_rows(rng, &child, rng.between(1, 8) as usize));
            state["parentStack"] = stack.into();
            state["parentLogicalId"] = id.into();
            state["parentRegion"] = "us-east-1".into();
            files.push(File { stack: child, legacy: false, state });
        }
    }
    files.insert(0, File { stack: stack.into(), legacy: false, state: state_of(stack, "us-east-1", resources) });
    Shape::new("generated", "us-east-1", stack, files)
}

/// Stacks that import from earlier ones and read outputs of them; some have nested stacks, which read too. Every row of a
/// stack needs every row of the stacks that it imports from.
pub fn fleet(rng: &Rng, stacks: usize) -> Shape {
    let name = |n: usize| format!("Fleet{n:03}");
    let mut files: Vec<File> = Vec::new();
    let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for n in 0..stacks {
        let stack = name(n);
        let some = |count: usize| (0..count).map(|_| name(rng.below(n))).collect::<BTreeSet<String>>();
        let strong = if n > 0 && rng.chance(600) { some(rng.between(1, 2) as usize) } else { BTreeSet::new() };
        let weak = if n > 0 && rng.chance(200) { some(1) } else { BTreeSet::new() };
        let mut resources = Map::new();
        for row in 0..rng.between(1, 3) {
            let resource_type = *rng.pick(&["AWS::SQS::Queue", "AWS::DynamoDB::Table", "AWS::SSM::Parameter", "AWS::IAM::Role"]);
            let mut made = row_of(resource_type, &format!("{stack}-{row}"), json!({}), json!([]));
            // A row that fails whatever AWS says.
            if rng.chance(30) {
                made["physicalId"] = Value::Null;
            }
            resources.insert(format!("Row{row}"), made);
        }
        let reads = |sources: &BTreeSet<String>, field: &str| {
            sources.iter().map(|s| json!({"sourceStack": s, "sourceRegion": "us-east-1", field: "Value"})).collect::<Value>()
        };
        let mut reader = (stack.clone(), false);
        if rng.chance(200) {
            let child = format!("{stack}~Nested");
            resources.insert("Nested".into(), row_of("AWS::CloudFormation::Stack", &child, json!({}), json!([])));
            let mut inside = Map::new();
            inside.insert("Inner".into(), row_of("AWS::SQS::Queue", &format!("{stack}-inner"), json!({}), json!([])));
            let mut state = state_of(&child, "us-east-1", inside);
            state["parentStack"] = stack.as_str().into();
            state["parentLogicalId"] = "Nested".into();
            state["parentRegion"] = "us-east-1".into();
            if rng.chance(500) {
                state["imports"] = reads(&strong, "exportName");
                reader = (child.clone(), true);
            }
            files.push(File { stack: child, legacy: false, state });
        }
        let mut state = state_of(&stack, "us-east-1", resources);
        if !reader.1 {
            state["imports"] = reads(&strong, "exportName");
        }
        state["outputReads"] = reads(&weak, "outputName");
        imports.insert(reader.0, strong.into_iter().collect());
        files.push(File { stack, legacy: false, state });
    }
    let mut shape = Shape::new("fleet", "us-east-1", "Fleet", files);
    shape.fleet = (0..stacks).map(name).collect();
    let ids = |root: &str| -> Vec<String> {
        let of = |row: &&Row| row.stack.split('~').next() == Some(root);
        shape.rows.iter().filter(of).map(|row| row.id.clone()).collect()
    };
    let needs: Vec<Vec<String>> =
        shape.rows.iter().map(|row| imports.get(&row.stack).into_iter().flatten().flat_map(|root| ids(root)).collect()).collect();
    for (row, needs) in shape.rows.iter_mut().zip(needs) {
        row.needs.extend(needs);
    }
    shape
}

/// A stack of so many slow resources that one drive's history does not hold its teardown, and with so much in its state that
/// workers read their rows alone.
pub fn huge(rows: usize) -> Shape {
    let mut resources = Map::new();
    for n in 0..rows {
        let needs: Vec<String> = if n % 3 == 0 { Vec::new() } else { vec![format!("Row{}", n - 1)] };
        let row =
            row_of("AWS::ElastiCache::ReplicationGroup", &format!("Huge-{n}"), json!({"Note": "x".repeat(1_100)}), json!(needs));
        resources.insert(format!("Row{n}"), row);
    }
    let state = state_of("Huge", "us-east-1", resources);
    Shape::new("huge", "us-east-1", "Huge", vec![File { stack: "Huge".into(), legacy: false, state }])
}

fn some_rows(rng: &Rng, stack: &str, size: usize) -> Map<String, Value> {
    let mut rows = Map::new();
    let mut ids: Vec<String> = Vec::new();
    while ids.len() < size {
        let n = ids.len();
        if rng.chance(60) {
            custom(rng, stack, n, &mut rows, &mut ids);
            continue;
        }
        let resource_type = *rng.pick(TYPES);
        let needs: BTreeSet<String> = (0..if n == 0 { 0 } else { rng.below(4) }).map(|_| rng.pick(&ids).clone()).collect();
        let id = format!("Row{n}{}", resource_type.rsplit("::").next().unwrap_or_default());
        let mut row = row_of(resource_type, &format!("{stack}-{id}"), json!({}), json!(needs));
        match rng.below(100) {
            0..=3 => row["deletionPolicy"] = "Retain".into(),
            4 => row["deletionPolicy"] = "RetainExceptOnCreate".into(),
            // One that no snapshot can be taken of refuses the whole run.
            5..=8 if snapshots(resource_type) => row["deletionPolicy"] = "Snapshot".into(),
            9 if rng.chance(200) => row["deletionPolicy"] = "Archive".into(),
            10 if rng.chance(200) => row["physicalId"] = "***".into(),
            11 if rng.chance(200) => row["physicalId"] = Value::Null,
            12 => row["properties"] = json!({"VpcConfig": {"SubnetIds": ["subnet-1"]}}),
            _ => {}
        }
        rows.insert(id.clone(), row);
        ids.push(id);
    }
    rows
}

/// A custom resource with its handler, the handler's role and the role's policy, which nothing depends on.
pub(super) fn custom(rng: &Rng, stack: &str, n: usize, rows: &mut Map<String, Value>, ids: &mut Vec<String>) {
    let (role, policy, function, custom) =
        (format!("Role{n}"), format!("Policy{n}"), format!("Handler{n}"), format!("Custom{n}"));
    let name = |id: &str| format!("{}-{id}", stack.replace('~', "-"));
    let needs: Vec<String> = if ids.is_empty() || rng.chance(500) { Vec::new() } else { vec![rng.pick(ids).clone()] };
    let role_arn = format!("arn:aws:iam::123456789012:role/{}", name(&role));
    let function_arn = format!("arn:aws:lambda:us-east-1:123456789012:function:{}", name(&function));
    let mut put = |id: &str, row: Value| {
        rows.insert(id.to_owned(), row);
        ids.push(id.to_owned());
    };
    put(&role, row_of("AWS::IAM::Role", &name(&role), json!({}), json!([])));
    put(&policy, row_of("AWS::IAM::Policy", &name(&policy), json!({"Roles": [name(&role)]}), json!([role])));
    put(&function, row_of("AWS::Lambda::Function", &name(&function), json!({"Role": role_arn}), json!([role])));
    let mut depends = vec![function.clone()];
    depends.extend(needs);
    put(&custom, row_of("Custom::Seed", &name(&custom), json!({"ServiceToken": function_arn}), json!(depends)));
}
