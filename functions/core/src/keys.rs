//! Keys of the state bucket (cdkd's layout) and of Ebb's own objects beside it.

use serde::{Deserialize, Serialize};

/// A stack in a region: what locks and state files belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackRef {
    /// The stack's name, `{parent}~{logicalId}` for a nested one.
    pub stack: String,
    /// The stack's region.
    pub region: String,
}

/// Where a stack's objects are: prefix, stack and region. The prefix is joined verbatim, so an empty one gives keys
/// with a leading slash, as cdkd writes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackKey {
    /// State prefix, `cdkd` by default.
    pub prefix: String,
    /// Stack name.
    pub stack: String,
    /// Region.
    pub region: String,
}

impl StackKey {
    /// A key from its three parts.
    pub fn new(prefix: &str, stack: &str, region: &str) -> Self {
        StackKey { prefix: prefix.into(), stack: stack.into(), region: region.into() }
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{}/{}/{name}", self.prefix, self.stack, self.region)
    }

    /// K1: the state.
    pub fn state(&self) -> String {
        self.at("state.json")
    }
    /// K2: the lock.
    pub fn lock(&self) -> String {
        self.at("lock.json")
    }
    /// K3: the state in the layout before regions.
    pub fn legacy_state(&self) -> String {
        format!("{}/{}/state.json", self.prefix, self.stack)
    }
    /// K4: the lock in the layout before regions.
    pub fn legacy_lock(&self) -> String {
        format!("{}/{}/lock.json", self.prefix, self.stack)
    }
    /// K5: the journal of a failed deploy.
    pub fn rollback_journal(&self) -> String {
        self.at("rollback-journal.json")
    }
    /// K6: the ledger of create tokens.
    pub fn create_tokens(&self) -> String {
        self.at("create-tokens.json")
    }
    /// The folder of deployment events.
    pub fn deployments(&self) -> String {
        self.at("deployments/")
    }
    /// K7: the event stream of one run.
    pub fn events(&self, run_id: &str) -> String {
        self.at(&format!("deployments/{run_id}.jsonl"))
    }
    /// K8: the index of event streams.
    pub fn events_index(&self) -> String {
        self.at("deployments/index.json")
    }
    /// K9: the region's exports.
    pub fn exports_index(&self) -> String {
        format!("{}/_index/{}/exports.json", self.prefix, self.region)
    }
    /// Ebb's run record; `.json` and `.html` reports lie beside it.
    pub fn run_record(&self, run_id: &str) -> String {
        format!("ebb/runs/{}/{}/{}/{run_id}.json", self.prefix, self.stack, self.region)
    }
    /// The machine-readable report of a run.
    pub fn report_json(&self, run_id: &str) -> String {
        format!("ebb/runs/{}/{}/{}/{run_id}.report.json", self.prefix, self.stack, self.region)
    }
    /// The report of a run for people.
    pub fn report_html(&self, run_id: &str) -> String {
        format!("ebb/runs/{}/{}/{}/{run_id}.report.html", self.prefix, self.stack, self.region)
    }
    /// The stack and region, without the prefix.
    pub fn stack_ref(&self) -> StackRef {
        StackRef { stack: self.stack.clone(), region: self.region.clone() }
    }
    /// The same place for another stack of the tree.
    pub fn sibling(&self, stack: &str) -> StackKey {
        StackKey { stack: stack.into(), ..self.clone() }
    }
}

/// K10: where a custom resource's handler answers. Not under the prefix; shared by all stacks.
pub fn custom_resource_response(request_id: &str) -> String {
    format!("custom-resource-responses/{request_id}.json")
}

/// What a key under the prefix is the state of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateKey {
    /// `{stack}/{region}/state.json`.
    Regional(StackRef),
    /// `{stack}/state.json`; its body tells the region.
    Legacy(String),
}

/// Reads a listed key as cdkd does; `None` for everything that is not a stack's state.
pub fn parse_state_key(prefix: &str, key: &str) -> Option<StateKey> {
    let rest = key.strip_prefix(prefix)?.strip_prefix('/')?;
    match rest.split('/').collect::<Vec<_>>()[..] {
        ["_index", ..] => None,
        [stack, "state.json"] if !stack.is_empty() => Some(StateKey::Legacy(stack.into())),
        [stack, region, "state.json"] if !stack.is_empty() && !region.is_empty() => {
            Some(StateKey::Regional(StackRef { stack: stack.into(), region: region.into() }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_prefix_keeps_its_leading_slash() {
        assert_eq!(StackKey::new("", "S", "us-east-1").state(), "/S/us-east-1/state.json");
        assert_eq!(StackKey::new("cdkd", "S", "us-east-1").lock(), "cdkd/S/us-east-1/lock.json");
    }

    #[test]
    fn only_the_two_state_layouts_are_stacks() {
        let regional = |s: &str, r: &str| Some(StateKey::Regional(StackRef { stack: s.into(), region: r.into() }));
        assert_eq!(parse_state_key("cdkd", "cdkd/S/us-east-1/state.json"), regional("S", "us-east-1"));
        assert_eq!(parse_state_key("cdkd", "cdkd/S/state.json"), Some(StateKey::Legacy("S".into())));
        assert_eq!(parse_state_key("", "/S/us-east-1/state.json"), regional("S", "us-east-1"));
        for other in
            ["cdkd/state.json", "cdkd/_index/us-east-1/exports.json", "cdkd/S/r/deployments/state.json", "cdkdx/S/state.json"]
        {
            assert_eq!(parse_state_key("cdkd", other), None, "{other}");
        }
    }
}
