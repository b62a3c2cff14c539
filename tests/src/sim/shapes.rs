//! What is torn down: the sample states, graphs of real CDK stacks, and generated ones, each as state files and as the
//! rows that the modelled AWS lives by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ebb_core::provider::is_custom_resource;
use serde_json::{Map, Value, json};

use super::provider::snapshots;
use super::rng::Rng;
use super::world::SECRET;

/// A stack to tear down, with the stacks nested in it and what lies beside it.
#[derive(Clone, Debug)]
pub struct Shape {
    pub name: String,
    pub stack: String,
    pub region: String,
    /// The root stacks of a sweep, when there are more than `stack`.
    pub fleet: Vec<String>,
    /// The request has to say that a nested stack may be torn down by itself.
    pub nested_by_itself: bool,
    /// The error that every run of it ends with.
    pub refused: Option<&'static str>,
    pub files: Vec<File>,
    /// Keys and bodies of what is not ours to touch.
    pub bystanders: Vec<(String, String)>,
    rows: Vec<Row>,
}

/// One state file.
#[derive(Clone, Debug)]
pub struct File {
    pub stack: String,
    pub legacy: bool,
    pub state: Value,
}

/// A row as AWS lives by it.
#[derive(Clone, Debug)]
pub struct Row {
    /// `stack/LogicalId`.
    pub id: String,
    pub stack: String,
    pub resource_type: String,
    pub in_vpc: bool,
    pub is_custom: bool,
    /// Its policy keeps it.
    pub retained: bool,
    /// A snapshot is due before it goes.
    pub snapshot: bool,
    /// It cannot be addressed: the row is skipped.
    pub masked: bool,
    /// It fails whatever AWS says: no physical id, or a policy that is not known.
    pub broken: bool,
    /// `stack/LogicalId` of what must outlive it.
    pub needs: Vec<String>,
}

impl Row {
    /// Whether it may stay while what it needs goes: kept by policy, or a row that cannot be addressed (its resource may
    /// have gone with another).
    pub fn stays(&self) -> bool {
        self.retained || (self.masked && !self.is_custom)
    }
}

impl Shape {
    /// All rows but those of nested stacks, which are nothing in AWS.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Who needs `id`.
    pub fn users(&self, id: &str) -> Vec<String> {
        self.rows.iter().filter(|row| row.needs.iter().any(|need| need == id)).map(|row| row.id.clone()).collect()
    }

    /// Whether a run without troubles leaves nothing.
    pub fn can_be_clean(&self) -> bool {
        self.refused.is_none() && !self.rows.iter().any(|row| row.masked || row.broken)
    }

    /// Whether `stack`, or the root that it is nested in, is ours.
    pub fn is_ours(&self, stack: &str) -> bool {
        let root = stack.split('~').next().unwrap_or_default();
        let inside = stack.strip_prefix(&self.stack).is_some_and(|rest| rest.is_empty() || rest.starts_with('~'));
        inside || self.fleet.iter().any(|one| one == root)
    }

    fn new(name: &str, region: &str, stack: &str, mut files: Vec<File>) -> Shape {
        for file in &mut files {
            plant_secrets(&mut file.state);
        }
        let rows = rows(&files);
        let bystanders = vec![
            (format!("cdkd/Bystander/{region}/state.json"), bystander(region)),
            (
                format!("cdkd/Bystander/{region}/lock.json"),
                r#"{"owner":"jo@host:1","timestamp":5,"expiresAt":99999999999999,"operation":"deploy"}"#.into(),
            ),
            (format!("cdkd/{stack}/other-region-1/lock.json"), "{}".into()),
            (format!("cdkd/{stack}X/{region}/lock.json"), "{}".into()),
            ("custom-resource-responses/cdkd-of-another-stack.json".into(), "{}".into()),
        ];
        Shape {
            name: name.to_owned(),
            stack: stack.to_owned(),
            region: region.to_owned(),
            fleet: Vec::new(),
            nested_by_itself: false,
            refused: None,
            files,
            bystanders,
            rows,
        }
    }
}

/// A marker in every row's properties and in every file's outputs.
fn plant_secrets(state: &mut Value) {
    state["outputs"]["SimOutput"] = format!("{SECRET}-output").into();
    for row in state["resources"].as_object_mut().into_iter().flat_map(|rows| rows.values_mut()) {
        row["properties"]["SimSecret"] = format!("{SECRET}-property").into();
    }
}

fn bystander(region: &str) -> String {
    json!({
        "version": 9, "stackName": "Bystander", "region": region, "outputs": {}, "exportNames": [], "lastModified": 5,
        "resources": {"Queue": {
            "physicalId": "bystander", "resourceType": "AWS::SQS::Queue", "properties": {}, "dependencies": []
        }},
    })
    .to_string()
}

fn rows(files: &[File]) -> Vec<Row> {
    let mut rows = Vec::new();
    // What everything inside a nested stack needs too, and what stands for a nested row.
    let mut inherited: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut inside: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let empty = Map::new();
        let resources = file.state["resources"].as_object().unwrap_or(&empty);
        inside.insert(file.stack.clone(), resources.keys().map(|id| format!("{}/{id}", file.stack)).collect());
        for (id, row) in resources {
            if row["resourceType"] == "AWS::CloudFormation::Stack" {
                let needs = dependencies(row).map(|need| format!("{}/{need}", file.stack)).collect();
                inherited.insert(format!("{}~{id}", file.stack), needs);
            }
        }
    }
    for file in files {
        let Some(resources) = file.state["resources"].as_object() else { continue };
        let names = Names::of(resources);
        for (id, row) in resources {
            let resource_type = row["resourceType"].as_str().unwrap_or_default();
            if resource_type == "AWS::CloudFormation::Stack" {
                continue;
            }
            let is_custom = ebb_core::provider::is_custom_resource(resource_type);
            let mut local: BTreeSet<String> =
                dependencies(row).filter(|need| resources.contains_key(*need)).map(str::to_owned).collect();
            if is_custom {
                local.extend(names.behind(row));
            }
            local.remove(id);
            let mut needs: BTreeSet<String> = inherited.get(&file.stack).into_iter().flatten().cloned().collect();
            for need in local {
                // A nested row is its resources.
                match inside.get(&format!("{}~{need}", file.stack)) {
                    Some(children) if resources[&need]["resourceType"] == "AWS::CloudFormation::Stack" => {
                        needs.extend(children.clone())
                    }
                    _ => drop(needs.insert(format!("{}/{need}", file.stack))),
                }
            }
            let policy = row["deletionPolicy"].as_str();
            let strings = || row["properties"].as_object().into_iter().flat_map(|p| p.values()).filter_map(Value::as_str);
            rows.push(Row {
                id: format!("{}/{id}", file.stack),
                stack: file.stack.clone(),
                resource_type: resource_type.to_owned(),
                in_vpc: row["properties"].get("VpcConfig").is_some(),
                is_custom,
                retained: matches!(policy, Some("Retain" | "RetainExceptOnCreate")),
                snapshot: policy == Some("Snapshot"),
                masked: row["physicalId"] == "***" || strings().any(ebb_core::provider::is_masked),
                broken: !row["physicalId"].is_string()
                    || !matches!(policy, None | Some("Delete" | "Retain" | "RetainExceptOnCreate" | "Snapshot")),
                needs: needs.into_iter().collect(),
            });
        }
    }
    rows
}

fn dependencies(row: &Value) -> impl Iterator<Item = &str> {
    row["dependencies"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Functions and roles of a stack by name, to find what a custom resource stands on.
struct Names<'a>(&'a Map<String, Value>);

impl<'a> Names<'a> {
    fn of(resources: &'a Map<String, Value>) -> Self {
        Names(resources)
    }

    fn named(&self, resource_type: &str, arn: &str) -> Option<&'a str> {
        let name = arn.rsplit([':', '/']).next().unwrap_or(arn);
        self.0
            .iter()
            .find(|(_, row)| row["resourceType"] == resource_type && row["physicalId"] == name)
            .map(|(id, _)| id.as_str())
    }

    /// The handler of a custom resource, the handler's role and that role's policies.
    fn behind(&self, custom: &Value) -> Vec<String> {
        let mut found = Vec::new();
        let Some(token) = custom["properties"]["ServiceToken"].as_str() else { return found };
        let Some(function) = self.named("AWS::Lambda::Function", token) else { return found };
        found.push(function.to_owned());
        let Some(role) = self.0[function]["properties"]["Role"].as_str().and_then(|arn| self.named("AWS::IAM::Role", arn)) else {
            return found;
        };
        found.push(role.to_owned());
        let name = &self.0[role]["physicalId"];
        for (id, row) in self.0 {
            let of_role = row["properties"]["Roles"].as_array().is_some_and(|roles| roles.contains(name));
            if row["resourceType"] == "AWS::IAM::Policy" && of_role {
                found.push(id.clone());
            }
        }
        found
    }
}

/// A shape for a seed: samples, real graphs, generated ones.
pub fn draw(rng: &Rng) -> Shape {
    match rng.below(10) {
        0..=4 => samples()[rng.below(samples().len())].clone(),
        5 => constructs()[rng.below(constructs().len())].clone(),
        _ => generated(rng),
    }
}

/// The sample states.
pub fn samples() -> &'static [Shape] {
    static SAMPLES: OnceLock<Vec<Shape>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("a sample state");
        let file = |stack: &str, text: &str| File { stack: stack.into(), legacy: false, state: read(text) };
        let one = |name: &str, region: &str, stack: &str, text: &str| Shape::new(name, region, stack, vec![file(stack, text)]);
        let (parent, child) = ("Storefront", "Storefront~SearchNested1B");
        let parent_text = include_str!("../../states/06-v10-nested-parent.json");
        let child_text = include_str!("../../states/07-v10-nested-child.json");
        let importer_text = include_str!("../../states/09-v9-importer.json");
        let mut legacy = one("01", "ap-northeast-1", "LegacyMailer", include_str!("../../states/01-v1-legacy.json"));
        legacy.files[0].legacy = true;
        let mut by_itself = one("07", "us-east-1", child, child_text);
        by_itself.nested_by_itself = true;
        let mut imported = one("08 imported", "us-east-1", "SharedBus", include_str!("../../states/08-v9-exporter.json"));
        imported.refused = Some("ActiveImports");
        imported.bystanders.push(("cdkd/Billing/us-east-1/state.json".into(), importer_text.into()));
        vec![
            legacy,
            one("02", "us-west-2", "OrdersApi", include_str!("../../states/02-v2-rest-api.json")),
            one("03", "eu-central-1", "LedgerData", include_str!("../../states/03-v5-policies.json")),
            one("04", "us-east-1", "EdgeNetwork", include_str!("../../states/04-v8-vpc-lambda-nat.json")),
            one("05", "eu-west-1", "TenantPortal", include_str!("../../states/05-v11-latest.json")),
            Shape::new("06", "us-east-1", parent, vec![file(parent, parent_text), file(child, child_text)]),
            by_itself,
            one("08", "us-east-1", "SharedBus", include_str!("../../states/08-v9-exporter.json")),
            imported,
            one("09", "us-east-1", "Billing", importer_text),
        ]
    })
}

/// Real graphs: every sixth of the list by size.
pub fn constructs() -> &'static [Shape] {
    static CONSTRUCTS: OnceLock<Vec<Shape>> = OnceLock::new();
    CONSTRUCTS.get_or_init(|| {
        let all: Vec<Value> = serde_json::from_str(include_str!("../../graphs/constructs.json")).expect("the graphs");
        let size = |graph: &Value| graph["resources"].as_object().map_or(0, Map::len);
        let mut all: Vec<&Value> = all.iter().collect();
        all.sort_by_key(|graph| (size(graph), graph["name"].as_str().unwrap_or_default().to_owned()));
        all.into_iter().step_by(6).map(construct).collect()
    })
}

fn construct(graph: &Value) -> Shape {
    let name = graph["name"].as_str().unwrap_or_default();
    let stack: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut resources = Map::new();
    for (id, row) in graph["resources"].as_object().into_iter().flatten() {
        let resource_type = row["t"].as_str().unwrap_or_default();
        // The graphs have no properties; a custom resource without a handler would refuse the whole run.
        let properties = match is_custom_resource(resource_type) {
            true => json!({"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:elsewhere"}),
            false => json!({}),
        };
        let row = row_of(resource_type, &format!("{stack}-{id}"), properties, row["d"].clone());
        resources.insert(id.clone(), row);
    }
    let state = state_of(&stack, "us-east-1", resources);
    Shape::new(name, "us-east-1", &stack, vec![File { stack: stack.clone(), legacy: false, state }])
}

fn row_of(resource_type: &str, physical_id: &str, properties: Value, dependencies: Value) -> Value {
    json!({
        "physicalId": physical_id, "resourceType": resource_type, "properties": properties, "attributes": {},
        "dependencies": dependencies, "provisionedBy": "sdk",
    })
}

fn state_of(stack: &str, region: &str, resources: Map<String, Value>) -> Value {
    json!({
        "version": 11, "stackName": stack, "region": region, "resources": resources, "outputs": {}, "exportNames": [],
        "imports": [], "outputReads": [], "lastModified": 1_762_000_000_000_u64,
    })
}

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

fn generated(rng: &Rng) -> Shape {
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

/// A stack of so many slow resources that one drive's history does not hold its teardown.
pub fn huge(rows: usize) -> Shape {
    let mut resources = Map::new();
    for n in 0..rows {
        let needs: Vec<String> = if n % 3 == 0 { Vec::new() } else { vec![format!("Row{}", n - 1)] };
        let row = row_of("AWS::ElastiCache::ReplicationGroup", &format!("Huge-{n}"), json!({}), json!(needs));
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
fn custom(rng: &Rng, stack: &str, n: usize, rows: &mut Map<String, Value>, ids: &mut Vec<String>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_all_sizes_are_there() {
        assert_eq!(samples().len(), 10);
        let sizes: Vec<usize> = constructs().iter().map(|shape| shape.rows().len()).collect();
        assert!((40..=45).contains(&sizes.len()) && sizes[0] <= 5 && sizes[sizes.len() - 1] >= 55, "{sizes:?}");
    }

    #[test]
    fn a_custom_resource_needs_what_its_handler_stands_on() {
        let rng = Rng::new(1, "shape");
        let (mut rows_of, mut ids) = (Map::new(), Vec::new());
        custom(&rng, "S", 0, &mut rows_of, &mut ids);
        let files = [File { stack: "S".into(), legacy: false, state: json!({"resources": rows_of}) }];
        let rows = rows(&files);
        let custom = rows.iter().find(|row| row.is_custom).unwrap();
        assert_eq!(custom.needs, ["S/Handler0", "S/Policy0", "S/Role0"]);
    }

    #[test]
    fn a_nested_stacks_rows_stand_for_it() {
        let shape = samples().iter().find(|shape| shape.name == "06").unwrap();
        let child = shape.rows().iter().find(|row| row.id.ends_with("/IndexerSource3D")).unwrap();
        assert!(child.needs.contains(&"Storefront/CatalogTable0A".to_owned()), "{:?}", child.needs);
    }
}
