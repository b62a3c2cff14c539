//! What the tests of sweeps share: fleets of stacks as a listing finds them, and a sweep of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::group::Group;
use super::select::{Forecast, Seen, Selection, Tree, pick, settle, trees};
use super::{Found, Place, Select, Sweep};
use crate::state::Layout;
use crate::{Ending, Refusal};

pub(super) const NOW: u64 = 1_786_786_212_123;
pub(super) const REGION: &str = "us-east-1";
const HOUR: u64 = 3_600_000;

/// A stack of a fleet: its name and what is unusual about it.
#[derive(Clone)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) region: &'static str,
    body: Value,
    withheld: Option<Refusal>,
}

pub(super) fn stack(name: &str) -> Stack {
    let rows = json!({"Queue": {"physicalId": "q", "resourceType": "AWS::SQS::Queue", "properties": {}, "dependencies": []}});
    let body = json!({"version": 9, "stackName": name, "region": REGION, "resources": rows, "outputs": {}, "lastModified": NOW - 100 * HOUR});
    Stack { name: name.to_owned(), region: REGION, body, withheld: None }
}

impl Stack {
    /// Imports an export of these.
    pub(super) fn imports(self, from: &[&str]) -> Stack {
        self.reads("imports", "exportName", from)
    }

    /// Reads an output of these.
    pub(super) fn reads_outputs(self, from: &[&str]) -> Stack {
        self.reads("outputReads", "outputName", from)
    }

    fn reads(self, field: &str, name: &str, from: &[&str]) -> Stack {
        let reads: Vec<Value> =
            from.iter().map(|source| json!({"sourceStack": source, "sourceRegion": " US-East-1", name: "Value"})).collect();
        self.with(field, json!(reads))
    }

    /// With something that others may import.
    pub(super) fn exports(self) -> Stack {
        self.with("outputs", json!({"Value": "v"}))
    }

    /// Not given out by the bucket.
    pub(super) fn withheld(mut self, ending: Ending) -> Stack {
        let key = format!("cdkd/{}/{}/state.json", self.name, self.region);
        self.withheld = Some(Refusal::new(ending, format!("GetObject of {key}: no")));
        self
    }

    /// With a member of the state.
    pub(super) fn with(mut self, field: &str, value: Value) -> Stack {
        self.body[field] = value;
        self
    }

    /// Last written so many hours ago.
    pub(super) fn written(self, hours_ago: u64) -> Stack {
        self.with("lastModified", (NOW - hours_ago * HOUR).into())
    }

    /// With tags on its resource.
    pub(super) fn tagged(mut self, tags: Value) -> Stack {
        self.body["resources"]["Queue"]["properties"]["Tags"] = tags;
        self
    }

    pub(super) fn in_region(mut self, region: &'static str) -> Stack {
        self.region = region;
        self.with("region", region.into())
    }
}

/// Looks at whoever is free and starts them.
pub(super) fn begun(mut group: Group, dry_run: bool, look: impl Fn(&str) -> Result<(), Refusal>) -> Group {
    loop {
        let looks: Vec<_> = group.free(dry_run).into_iter().map(|row| (row.n, look(&row.stack))).collect();
        if looks.is_empty() {
            return group;
        }
        group = group.start(looks, dry_run);
    }
}

/// What a look at these stacks says, and at no others.
pub(super) fn deployed_again(stacks: &[&str]) -> impl Fn(&str) -> Result<(), Refusal> + use<> {
    let again: BTreeSet<String> = stacks.iter().map(|stack| (*stack).to_owned()).collect();
    move |stack| match again.contains(stack) {
        true => Err(crate::run::deployed_again(None)),
        false => Ok(()),
    }
}

/// The trees of a fleet.
pub(super) fn fleet(stacks: &[Stack], due_tag: Option<&str>) -> Vec<Tree> {
    let seen = |s: &Stack| {
        let (stack, region) = (s.name.clone(), Some(s.region.to_owned()));
        match &s.withheld {
            Some(why) => Seen::unread(stack, region, why.clone()),
            None => Seen::of(stack, region, s.body.to_string().as_bytes(), Layout::Regional, due_tag),
        }
    };
    trees(stacks.iter().map(seen).collect())
}

pub(super) fn everything() -> Select {
    Select { names: vec!["*".into()], ..Select::default() }
}

pub(super) fn sweep(select: Select, dry_run: bool) -> Sweep {
    Sweep {
        sweep_id: "20260815T093012123Z-1a2b3c4d".into(),
        execution: "arn:aws:states:us-east-1:123456789012:execution:ebb-sweep:nightly-7".into(),
        name: "old-previews".into(),
        timestamp: NOW,
        dry_run,
        options: crate::Options::default(),
        places: vec![Place {
            target: None,
            bucket: None,
            prefix: "cdkd".into(),
            select,
            found: Some(Found { account: "123456789012".into(), bucket: "states".into(), bucket_region: REGION.into() }),
        }],
    }
}

/// The selection of a fleet when every picked stack is judged by `judge`.
pub(super) fn selection_by(stacks: &[Stack], select: &Select, judge: impl Fn(&str) -> Result<Forecast, Refusal>) -> Selection {
    let trees = fleet(stacks, select.due_tag.as_deref());
    let (picked, left) = pick(&trees, select, NOW);
    let judged = picked.into_iter().map(|n| (n, judge(&trees[n].stack))).collect();
    settle(&sweep(select.clone(), false), select, &trees, judged, left)
}

pub(super) fn selection(stacks: &[Stack], select: &Select) -> Selection {
    selection_by(stacks, select, |_| Ok(Forecast { resources: 1, waves: 1, seconds: 10 }))
}

pub(super) fn chosen(selection: &Selection) -> Vec<&str> {
    selection.chosen.iter().map(|chosen| chosen.stack.as_str()).collect()
}

/// Name and code of those that were left.
pub(super) fn left(selection: &Selection) -> Vec<(&str, &str)> {
    selection.left.iter().map(|left| (left.stack.as_str(), left.code.as_str())).collect()
}
