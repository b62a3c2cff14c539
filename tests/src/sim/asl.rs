//! The state machines of `infra/` as data: just the fields that those files use. A field, a state type or a comparison
//! that is not known here is an error of the reader, so the simulation never passes over what AWS would act on.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

/// A state machine.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Machine {
    #[serde(default)]
    pub comment: String,
    pub query_language: String,
    pub timeout_seconds: u64,
    pub start_at: String,
    pub states: BTreeMap<String, State>,
}

/// A state.
#[derive(Debug, Deserialize)]
#[serde(tag = "Type")]
pub enum State {
    Task(Task),
    Choice(Choice),
    Pass(Pass),
    Wait(Wait),
    Map(Map),
    Succeed(Succeed),
    Fail(Fail),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Task {
    #[serde(default)]
    pub comment: String,
    pub resource: String,
    /// Only the task that waits for a child has none.
    pub timeout_seconds: Option<u64>,
    pub parameters: Value,
    pub result_selector: Option<Value>,
    /// Absent means `$`; `null` throws the result away.
    #[serde(default, deserialize_with = "nullable")]
    pub result_path: ResultPath,
    #[serde(default)]
    pub retry: Vec<Retrier>,
    #[serde(default)]
    pub catch: Vec<Catcher>,
    pub next: Option<String>,
    #[serde(default)]
    pub end: bool,
}

/// Where a result goes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum ResultPath {
    /// `$`: it replaces the input.
    #[default]
    Root,
    /// `null`: it is thrown away.
    Discard,
    /// `$.name`.
    Field(String),
}

fn nullable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ResultPath, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        None => Ok(ResultPath::Discard),
        Some(path) if path == "$" => Ok(ResultPath::Root),
        Some(path) => match path.strip_prefix("$.") {
            Some(name) if !name.contains(['.', '[']) => Ok(ResultPath::Field(name.to_owned())),
            _ => Err(serde::de::Error::custom(format!("ResultPath {path}"))),
        },
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Retrier {
    pub error_equals: Vec<String>,
    pub interval_seconds: u64,
    pub backoff_rate: f64,
    pub max_attempts: u32,
    pub max_delay_seconds: u64,
    pub jitter_strategy: Jitter,
}

#[derive(Debug, Deserialize)]
pub enum Jitter {
    #[serde(rename = "FULL")]
    Full,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Catcher {
    pub error_equals: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub result_path: ResultPath,
    pub next: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Choice {
    #[serde(default)]
    pub comment: String,
    pub choices: Vec<Rule>,
    pub default: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Rule {
    pub variable: Option<String>,
    pub string_equals: Option<String>,
    pub boolean_equals: Option<bool>,
    pub is_present: Option<bool>,
    pub and: Option<Vec<Rule>>,
    pub next: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Pass {
    #[serde(default)]
    pub comment: String,
    pub parameters: Option<Value>,
    pub result: Option<Value>,
    #[serde(default, deserialize_with = "nullable")]
    pub result_path: ResultPath,
    pub next: Option<String>,
    #[serde(default)]
    pub end: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Wait {
    #[serde(default)]
    pub comment: String,
    pub seconds: Option<u64>,
    pub seconds_path: Option<String>,
    pub next: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Map {
    #[serde(default)]
    pub comment: String,
    pub items_path: String,
    pub item_selector: Value,
    pub max_concurrency: usize,
    pub item_processor: Processor,
    #[serde(default, deserialize_with = "nullable")]
    pub result_path: ResultPath,
    pub next: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Processor {
    pub processor_config: ProcessorConfig,
    pub start_at: String,
    pub states: BTreeMap<String, State>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ProcessorConfig {
    pub mode: Mode,
}

#[derive(Debug, Deserialize)]
pub enum Mode {
    #[serde(rename = "INLINE")]
    Inline,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Succeed {
    #[serde(default)]
    pub comment: String,
    pub output_path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Fail {
    #[serde(default)]
    pub comment: String,
    pub error_path: String,
    pub cause_path: String,
}

/// The machines that a teardown and a sweep run on.
#[derive(Debug)]
pub struct Machines {
    pub teardown: Machine,
    pub drive: Machine,
    pub keeper: Machine,
    pub sweep: Machine,
}

/// Reads a definition, filled in as the template does when it is deployed.
pub fn read(definition: &str) -> Result<Machine, String> {
    let mut text = definition.to_owned();
    for (variable, value) in [
        ("${PlannerArn}", "planner"),
        ("${WorkerArn}", "worker"),
        ("${LockKeeperArn}", "lock-keeper"),
        ("${FinalizerArn}", "finalizer"),
        ("${KeeperMachineArn}", "keeper"),
        ("${DriveMachineArn}", "drive"),
        ("${TeardownMachineArn}", "teardown"),
        ("${SweepConcurrency}", "10"),
        ("${Partition}", "aws"),
        ("${MaxConcurrency}", "40"),
    ] {
        text = text.replace(variable, value);
    }
    if let Some(at) = text.find("${") {
        let rest: String = text[at..].chars().take(40).collect();
        return Err(format!("a variable that is not known: {rest}"));
    }
    let machine: Machine = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if machine.query_language != "JSONPath" {
        return Err(format!("the query language {}", machine.query_language));
    }
    Ok(machine)
}

/// The definitions in `infra/`.
pub fn machines() -> &'static Machines {
    static MACHINES: OnceLock<Machines> = OnceLock::new();
    MACHINES.get_or_init(|| {
        let one = |name: &str, definition| read(definition).unwrap_or_else(|error| panic!("infra/{name}.asl.json: {error}"));
        Machines {
            teardown: one("teardown", include_str!("../../../infra/teardown.asl.json")),
            drive: one("drive", include_str!("../../../infra/drive.asl.json")),
            keeper: one("keeper", include_str!("../../../infra/keeper.asl.json")),
            sweep: one("sweep", include_str!("../../../infra/sweep.asl.json")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_use_no_feature_that_is_not_known_here() {
        let machines = machines();
        assert_eq!(machines.teardown.timeout_seconds, 172_800);
        assert_eq!(machines.keeper.start_at, "Renew");
        let State::Map(map) = &machines.drive.states["Delete a wave"] else { panic!("Delete a wave is no Map") };
        assert_eq!((map.max_concurrency, map.item_processor.start_at.as_str()), (40, "Delete one"));
    }

    #[test]
    fn a_feature_that_is_not_known_is_an_error() {
        let with = |state: &str| {
            read(&format!(r#"{{"QueryLanguage": "JSONPath", "TimeoutSeconds": 1, "StartAt": "A", "States": {{"A": {state}}}}}"#))
        };
        assert!(with(r#"{"Type": "Pass", "End": true}"#).is_ok());
        for state in [
            r#"{"Type": "Pass", "End": true, "InputPath": "$.x"}"#,
            r#"{"Type": "Pass", "End": true, "ResultPath": "$.a.b"}"#,
            r#"{"Type": "Parallel", "End": true}"#,
            r#"{"Type": "Wait", "Timestamp": "2026-01-01T00:00:00Z", "Next": "A"}"#,
            r#"{"Type": "Choice", "Choices": [{"Variable": "$.x", "NumericEquals": 1, "Next": "A"}], "Default": "A"}"#,
            r#"{"Type": "Pass", "End": true, "Result": "${Unknown}"}"#,
        ] {
            assert!(with(state).is_err(), "{state}");
        }
        assert!(read(r#"{"QueryLanguage": "JSONata", "TimeoutSeconds": 1, "StartAt": "A", "States": {}}"#).is_err());
    }
}
