//! What to do next: for the run from how it ended, for a row from its code.

use ebb_core::record::{ResourceRecord, RunRecord};
use ebb_core::{Code, Ending, Status};

/// What mends a row, by its code.
const BY_CODE: &[(&str, &str)] = &[
    ("AccessDenied", "grant the action to the role that the run works through, then start again"),
    ("BadServiceToken", "repair ServiceToken in the state, or drop the row with `cdkd state orphan`"),
    ("Blocked", "mend what blocks it; it is deleted by the next run"),
    ("ChildFailed", "mend the nested stack's own resources; they are named here too"),
    ("ChildSkipped", "repair the nested stack's own state; it is named here too"),
    ("DataGuard", "save what is in it, then empty it or set deleteData"),
    ("Denied", "grant the action that the reason names to the role that the run works through, then start again"),
    ("FinalSnapshotFailed", "take a snapshot by hand, or set skipFinalSnapshot"),
    ("FinalSnapshotTimeout", "wait for the snapshot, then start again: it is found and used"),
    ("FinalSnapshotUnsupported", "take a copy by hand, then set skipFinalSnapshot"),
    ("Guarded", "save what is in it, then set what its reason asks for: deleteData, removeProtection or skipFinalSnapshot"),
    ("HandlerDidNotComplete", "read the handler's log; start again when it can answer, or drop the row with `cdkd state orphan`"),
    ("HandlerFailed", "read the handler's log, mend what it names, then start again"),
    (
        "HoldsRetained",
        "it stays because a retained row needs it; to have it gone, set that row's DeletionPolicy to Delete and deploy, or delete both by hand",
    ),
    ("MalformedPhysicalId", "repair the row's physicalId in the state, or drop the row with `cdkd state orphan`"),
    ("MaskedAddress", "put the real value into the state, or drop the row with `cdkd state orphan`"),
    ("MissingAddress", "repair the row's properties in the state, or drop the row with `cdkd state orphan`"),
    ("NoProperties", "delete what the handler made by hand, then drop the row with `cdkd state orphan`"),
    ("NoProvider", "delete it by hand, or give the app ExtraDeletePolicyArn, then start again"),
    ("NoServiceToken", "delete what the handler made by hand, then drop the row with `cdkd state orphan`"),
    ("OwnResource", "it is a part of what the run works with; tear it down from elsewhere"),
    ("Protected", "switch its protection off, or set removeProtection"),
    ("ResourceTimeout", "look whether AWS is still deleting it, then start again"),
    ("UnknownDeletionPolicy", "repair its DeletionPolicy in the state"),
    ("WorkerCrashed", "read the worker's log, then start again"),
    ("WrongRegion", "repair the region in the state; it was looked for in the wrong one"),
];

/// What mends a row with that code.
pub(super) fn of_code(code: &str) -> Option<&'static str> {
    BY_CODE.binary_search_by_key(&code, |(name, _)| name).ok().map(|n| BY_CODE[n].1)
}

/// What to do after a run.
pub(super) fn of_run(record: &RunRecord, ending: Ending) -> Vec<String> {
    let has = |status| record.resources.values().any(|row| row.status == status);
    let mut todo = vec![ending.todo().to_owned()];
    if !record.run.dry_run {
        let guarded = Code::Guarded.name();
        let skipped = |row: &ResourceRecord| row.status == Status::Skipped && row.code.as_deref() != Some(guarded.as_ref());
        if record.resources.values().any(skipped) {
            todo.push(
                "repair the records of what was skipped, or drop them with `cdkd state orphan`: a skip does not mend itself"
                    .into(),
            );
        }
        if has(Status::Failed) {
            todo.push("mend what made resources fail; starting again tries them again".into());
        }
    }
    if record.resources.values().any(|r| r.status == Status::Skipped && ebb_core::provider::is_custom_resource(&r.resource_type))
    {
        todo.push(
            "do not delete a skipped custom resource's handler by hand: without it the next run takes the resource for gone"
                .into(),
        );
    }
    todo
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_core::Code;

    #[test]
    fn the_table_is_sorted_and_every_code_of_a_row_that_is_left_has_advice() {
        assert!(BY_CODE.windows(2).all(|w| w[0].0 < w[1].0));
        use Code::*;
        for code in [
            MalformedPhysicalId,
            MissingAddress,
            MaskedAddress,
            NoProvider,
            ResourceTimeout,
            DataGuard,
            Protected,
            FinalSnapshotFailed,
            FinalSnapshotTimeout,
            FinalSnapshotUnsupported,
            UnknownDeletionPolicy,
            WorkerCrashed,
            WrongRegion,
            HandlerFailed,
            HandlerDidNotComplete,
            NoServiceToken,
            NoProperties,
            BadServiceToken,
            OwnResource,
            Guarded,
            HoldsRetained,
        ] {
            assert!(of_code(&code.name()).is_some(), "{code:?}");
        }
        assert_eq!(of_code("Throttling"), None);
    }

    /// What `skipGuarded` left is protected on purpose: nobody is told to drop its record.
    #[test]
    fn guarded_rows_keep_their_records() {
        let told = |code: &str| {
            let mut record = crate::testing::record();
            let row = crate::testing::resource("AWS::DynamoDB::Table", Status::Skipped);
            record.resources.insert("S/Table".into(), ResourceRecord { code: Some(code.into()), ..row });
            of_run(&record, Ending::Partial).iter().any(|todo| todo.contains("cdkd state orphan"))
        };
        assert!(told("MaskedAddress"));
        assert!(!told("Guarded"));
    }
}
