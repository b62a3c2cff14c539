//! What the machine is answered: the run's output, and for a failed run the Cause with what happened and what to do.

use ebb_core::ending::TODO_GUARDED;
use ebb_core::payload::{FinishAnswer, FinishNext};
use ebb_core::record::{Counts, RunRecord};
use ebb_core::run::told;
use ebb_core::{Ending, Run, Status, text};
use serde_json::{Value, json};

use crate::forecast::Forecast;
use crate::report::Written;

/// The largest plan in an output, in bytes of JSON; the report has all of it.
const MAX_PLAN: usize = 8 * 1024;
/// The most warnings in an output, and the longest of them in bytes; the report has all of them.
const MAX_WARNINGS: usize = 10;
const MAX_WARNING: usize = 300;

/// The answer of a run that has a record with its end in it.
pub(crate) fn of_record(record: &RunRecord, written: &Written, forecast: Option<&Forecast>) -> FinishAnswer {
    let (ending, message) = match &record.ended {
        Some(ended) => (ended.result, ended.message.as_deref()),
        None => (Ending::Error, None),
    };
    let mut output = output(&record.run, ending, record.counts(), written, message.unwrap_or(ending.meaning()));
    warn(&mut output, &record.warnings);
    if ending == Ending::DryRun {
        output["plan"] = plan(record, forecast);
        if output["plan"]["guarded"].as_array().is_some_and(|guarded| !guarded.is_empty()) && !record.run.options.skip_guarded {
            output["todo"] = TODO_GUARDED.into();
        }
    }
    if ending.succeeds() {
        return FinishAnswer { next: FinishNext::Succeed, output, error: None, cause: None };
    }
    fail(ending, output)
}

/// The answer of a run without a record.
pub(crate) fn without_record(run: &Run, ending: Ending, message: &str) -> FinishAnswer {
    fail(ending, output(run, ending, Counts::default(), &Written::default(), &text::display(message)))
}

fn output(run: &Run, ending: Ending, counts: Counts, written: &Written, message: &str) -> Value {
    let mut output = json!({"result": ending.name(), "exitClass": ending.exit_class()});
    let rest = json!({"counts": counts, "report": {"json": written.json, "html": written.html}, "message": message});
    for members in [told(Some(run)), rest] {
        if let (Some(output), Value::Object(members)) = (output.as_object_mut(), members) {
            output.extend(members);
        }
    }
    output
}

/// Adds what a person should know, when there is something.
fn warn(output: &mut Value, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let shown = warnings.iter().take(MAX_WARNINGS).map(|warning| text::cut(&text::display(warning), MAX_WARNING));
    output["warnings"] = shown.collect();
    if warnings.len() > MAX_WARNINGS {
        output["more"]["warnings"] = (warnings.len() - MAX_WARNINGS).into();
    }
}

fn fail(ending: Ending, output: Value) -> FinishAnswer {
    let mut cause = output.clone();
    cause["todo"] = ending.todo().into();
    FinishAnswer { next: FinishNext::Fail, output, error: Some(ending.name().into()), cause: Some(cause.to_string()) }
}

/// A dry run's plan: what a person decides on. Lists are cut so that the whole stays small.
fn plan(record: &RunRecord, forecast: Option<&Forecast>) -> Value {
    let rows = |status: Status| record.resources.iter().filter(move |(_, r)| r.status == status);
    let guarded = record.resources.iter().filter_map(|(id, r)| {
        let looked = r.guard()?;
        Some(json!({"id": text::display(id), "code": looked.code, "reason": looked.reason.as_deref().map(|r| text::cut(r, 200))}))
    });
    let left = [Status::Failed, Status::Skipped, Status::Blocked]
        .into_iter()
        .flat_map(rows)
        .map(|(id, r)| json!({"id": text::display(id), "code": r.code}));
    let mut lists: [(&str, Vec<Value>, usize); 4] = [
        ("guarded", guarded.collect(), 0),
        ("left", left.collect(), 0),
        ("retained", rows(Status::Retained).map(|(id, _)| text::display(id).into()).collect(), 0),
        ("orphans", record.orphans.iter().map(|id| text::display(id).into()).collect(), 0),
    ];
    loop {
        let mut plan = json!({
            "resources": record.resources.len(),
            "waves": forecast.map(|f| f.levels.len()),
            "longestPathSeconds": forecast.map(|f| f.longest_path_seconds),
        });
        for (name, list, cut) in &lists {
            plan[*name] = json!(list);
            if *cut > 0 {
                plan["more"][*name] = json!(cut);
            }
        }
        if plan.to_string().len() <= MAX_PLAN {
            return plan;
        }
        // The longest list gives way.
        let Some((_, list, cut)) = lists.iter_mut().max_by_key(|(_, list, _)| list.len()).filter(|(_, l, _)| !l.is_empty())
        else {
            return plan;
        };
        let keep = list.len() - list.len().div_ceil(4);
        *cut += list.len() - keep;
        list.truncate(keep);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ebb_core::payload::PlanNext;
    use ebb_core::plan::{self, Weights};
    use ebb_core::record::{Ended, Looked};
    use ebb_core::state::Layout;
    use ebb_core::{Graph, Item, Node, Outcome, StateDoc, StepResult};

    use super::*;
    use crate::report::Report;
    use crate::testing::{T, record, resource};
    use crate::verdict::verdict;

    fn ended(mut record: RunRecord, result: Ending, message: Option<&str>) -> RunRecord {
        record.ended = Some(Ended { result, at: T, message: message.map(str::to_owned) });
        record
    }

    fn written() -> Written {
        Written { json: Some("s3://state/r.json".into()), html: None }
    }

    /// The Cause of a failed execution is the output as JSON text, with `message` and `todo`.
    #[test]
    fn a_failed_run_says_what_happened_and_what_to_do() {
        let mut record = record();
        record.resources.insert("S/A".into(), resource("AWS::SQS::Queue", Status::Failed));
        let answer =
            of_record(&ended(record, Ending::Partial, Some("partially destroyed: 0 deleted, 1 failed")), &written(), None);
        assert_eq!((answer.next, answer.error.as_deref()), (FinishNext::Fail, Some("Partial")));
        let output = json!({
            "result": "Partial", "exitClass": 2, "runId": "20261206T051640000Z-1a2b3c4d",
            "stack": "S", "region": "us-west-2", "account": "123456789012",
            "counts": {"deleted": 0, "retained": 0, "skipped": 0, "failed": 1, "blocked": 0},
            "report": {"json": "s3://state/r.json", "html": null}, "message": "partially destroyed: 0 deleted, 1 failed",
        });
        assert_eq!(answer.output, output);
        let mut cause = output;
        cause["todo"] = Ending::Partial.todo().into();
        assert_eq!(serde_json::from_str::<Value>(&answer.cause.unwrap()).unwrap(), cause);
    }

    #[test]
    fn a_clean_run_has_no_error_and_says_what_went() {
        let answer = of_record(&ended(record(), Ending::Deleted, Some("destroyed: 4 deleted")), &written(), None);
        assert_eq!((answer.next, answer.error, answer.cause), (FinishNext::Succeed, None, None));
        assert_eq!(answer.output["message"], "destroyed: 4 deleted");
        assert_eq!(answer.output["exitClass"], 0);
        assert!(answer.output.get("plan").is_none());
    }

    /// What a person should know is in the output, of a run and of a dry run, and no more of it than an output holds.
    #[test]
    fn warnings_are_in_the_output_and_bounded() {
        let warned = |warnings: usize, result: Ending| {
            let mut record = record();
            record.run.dry_run = result == Ending::DryRun;
            record.warnings = (0..warnings).map(|n| format!("{n} {}", "x".repeat(900))).collect();
            of_record(&ended(record, result, None), &written(), None)
        };
        for result in [Ending::Deleted, Ending::Partial, Ending::DryRun] {
            let few = warned(10, result);
            assert_eq!((few.output["warnings"].as_array().unwrap().len(), few.output.get("more")), (10, None));
            let many = warned(13, result);
            assert_eq!(many.output["more"], json!({"warnings": 3}));
            let shown: Vec<&str> = many.output["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert!(shown.len() == 10 && shown[9].starts_with("9 x") && shown.iter().all(|text| text.len() <= MAX_WARNING));
            assert_eq!(warned(0, result).output.get("warnings"), None);
        }
        assert!(warned(13, Ending::Partial).cause.unwrap().contains(r#""more":{"warnings":3}"#));
    }

    /// A state's payload holds 256 KiB and a Cause 32 KiB: a plan is a summary.
    #[test]
    fn the_plan_of_a_large_dry_run_is_cut_and_says_so() {
        let mut record = record();
        record.run.dry_run = true;
        for n in 0..1000 {
            let mut row = resource("AWS::DynamoDB::Table", Status::Waiting);
            row.looked = Some(Looked { code: Some("Protected".into()), reason: Some("x".repeat(900)) });
            record.resources.insert(format!("S/Table{n:04}"), row);
        }
        record.resources.insert("S/Kept".into(), resource("AWS::SQS::Queue", Status::Retained));
        let forecast = Forecast { levels: vec![vec!["S/Kept".into()]; 7], longest_path_seconds: 90 };
        let answer = of_record(&ended(record, Ending::DryRun, None), &written(), Some(&forecast));
        let plan = &answer.output["plan"];
        assert!(plan.to_string().len() <= MAX_PLAN);
        assert_eq!((&plan["resources"], &plan["waves"], &plan["longestPathSeconds"]), (&json!(1001), &json!(7), &json!(90)));
        assert_eq!(plan["retained"], json!(["S/Kept"]));
        assert_eq!(answer.output["todo"], TODO_GUARDED);
        let shown = plan["guarded"].as_array().unwrap().len();
        assert!(shown > 5);
        assert_eq!(plan["more"]["guarded"], json!(1000 - shown));
        assert_eq!(answer.output["counts"]["blocked"], 0);
    }

    /// How a run of `rows`, every look of it clear and every delete done, ends.
    fn planned(rows: &Value, dry_run: bool) -> (RunRecord, FinishAnswer) {
        let body = json!({"version": 9, "stackName": "S", "region": "us-west-2", "resources": rows}).to_string();
        let doc = StateDoc::parse(body.as_bytes(), Layout::Regional).unwrap();
        let graph = Graph::build(Node::all([("S", &doc)])).unwrap();
        let weights = Weights::of(&graph);
        let run = Run { dry_run, ..record().run };
        let mut record = plan::begin(run, &graph, BTreeMap::from([("S".into(), "d".into())]), Vec::new(), T);
        let moment = plan::Moment { now: T, drive: 1, paused: false };
        record = plan::advance(record, &graph, &weights, &[], moment);
        while record.answer.next == PlanNext::Wave {
            let done =
                |item: Item| StepResult::new(&item.id, item.step, if item.look { Outcome::Pending } else { Outcome::Deleted });
            let results: Vec<StepResult> = plan::items(&record, &graph, &weights).into_iter().map(done).collect();
            record = plan::advance(record, &graph, &weights, &results, moment);
        }
        assert_eq!(record.answer.next, PlanNext::Finish);
        let (result, message) = verdict(&record, None, None);
        record.ended = Some(Ended { result, at: T, message });
        let answer = of_record(&record, &written(), None);
        (record, answer)
    }

    fn row(resource_type: &str, policy: &str, needs: &[&str], properties: Value) -> Value {
        json!({"resourceType": resource_type, "physicalId": "x", "properties": properties, "dependencies": needs, "deletionPolicy": policy})
    }

    /// What is left without a delete asks no guard: the real run deletes the rest, so its look does not say that it refuses.
    #[test]
    fn a_dry_run_does_not_say_that_a_guard_of_what_is_blocked_refuses() {
        let rows = json!({
            "Hook": row("Custom::Hook", "Delete", &["Q"], json!({"ServiceToken": "arn:aws:lambda:us-west-2:123456789012:function:h", "Password": "***"})),
            "Q": row("AWS::SQS::Queue", "Snapshot", &[], json!({})),
            "Other": row("AWS::SQS::Queue", "Delete", &[], json!({})),
        });
        let (record, look) = planned(&rows, true);
        assert!(record.resources["S/Q"].looked.is_some(), "the row itself speaks against its delete");
        let left = json!([{"id": "S/Hook", "code": "MaskedAddress"}, {"id": "S/Q", "code": "Blocked"}]);
        assert_eq!((&look.output["plan"]["guarded"], &look.output["plan"]["left"]), (&json!([]), &left));
        let message = "the plan was made and nothing was changed; 2 failed, skipped or blocked resource(s) would be left";
        assert_eq!((&look.output["message"], look.output.get("todo")), (&json!(message), None));
        let (record, real) = planned(&rows, false);
        assert_eq!((real.error.as_deref(), record.resources["S/Other"].status), (Some("Partial"), Status::Deleted));
        assert_eq!((&real.output["counts"]["skipped"], &real.output["counts"]["blocked"]), (&json!(1), &json!(1)));
    }

    /// A group whose stream is retained stays in every run: its look counts and names it.
    #[test]
    fn a_dry_run_names_and_counts_what_holds_something_retained() {
        let rows = json!({
            "Stream": row("AWS::Logs::LogStream", "Retain", &["Group"], json!({})),
            "Group": row("AWS::Logs::LogGroup", "Delete", &[], json!({})),
            "Other": row("AWS::SQS::Queue", "Delete", &[], json!({})),
        });
        let (record, look) = planned(&rows, true);
        let left = json!([{"id": "S/Group", "code": "HoldsRetained"}]);
        assert_eq!((&look.output["plan"]["guarded"], &look.output["plan"]["left"]), (&json!([]), &left));
        let counts = json!({"deleted": 0, "retained": 1, "skipped": 0, "failed": 0, "blocked": 1});
        assert_eq!(look.output["counts"], counts);
        assert_eq!(json!(Report::of(&record, None).counts), counts);
        let (record, real) = planned(&rows, false);
        assert_eq!(
            (real.error.as_deref(), record.resources["S/Group"].code.as_deref()),
            (Some("Partial"), Some("HoldsRetained"))
        );
        assert_eq!(real.output["counts"], json!({"deleted": 1, "retained": 1, "skipped": 0, "failed": 0, "blocked": 1}));
    }
}
