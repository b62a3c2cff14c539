//! What is torn down: the sample states, graphs of real CDK stacks, and generated ones, each as state files and as the
//! rows that the modelled AWS lives by.

mod generated;
mod samples;

use std::collections::{BTreeMap, BTreeSet};

use ebb_core::provider::is_custom_resource;
use serde_json::{Map, Value, json};

use super::rng::Rng;
use super::world::SECRET;

use generated::generated;
pub use generated::{fleet, huge};
pub use samples::{constructs, samples};

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
            let is_custom = is_custom_resource(resource_type);
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

#[cfg(test)]
mod tests {
    use super::generated::custom;
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
