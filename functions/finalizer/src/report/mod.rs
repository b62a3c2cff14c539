//! The report of a run, made of its record alone: what became of every resource and why, what is left in AWS, and what to
//! do next. As JSON for programs and as one page of HTML for people. Names, types, ids and reasons only.

mod advice;
mod html;
mod json;
mod leftovers;
#[cfg(test)]
mod limits;
mod resource;
mod timeline;

use ebb_core::record::{Counts, RunRecord};
use ebb_core::run::Options;
use ebb_core::{Ending, Millis, text};
use ebb_store::{Bucket, BucketErrorKind, Put, When};
use serde::Serialize;

use crate::forecast::Forecast;
pub use leftovers::Leftover;
pub use resource::ResourceReport;

/// The report's format.
const REPORT_VERSION: u32 = 1;

/// A run, told.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The report's format.
    pub report_version: u32,
    /// Result or error name.
    pub result: &'static str,
    /// 0 clean, 1 refused, 2 work left behind, 130 interrupted.
    pub exit_class: u8,
    /// What happened.
    pub message: String,
    /// What to do next, the most important first.
    pub todo: Vec<String>,
    /// How many resources came to what.
    pub counts: Counts,
    /// The run and its place.
    pub run: Place,
    /// When the first step was planned.
    pub started_at: String,
    /// When the result was written.
    pub ended_at: String,
    /// How long that took, in milliseconds.
    pub duration_ms: u64,
    /// Waves that were emitted.
    pub waves: u64,
    /// Executions of the drive machine.
    pub drives: u32,
    /// What is still in AWS, or comes back, and nothing else tells of.
    pub leftovers: Vec<Leftover>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The state files, and whether they were removed.
    pub states: Vec<StateReport>,
    /// What a dry run foretells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    /// Every resource, in the order in which work on it began.
    pub resources: Vec<ResourceReport>,
    #[serde(skip)]
    span: (Millis, Millis),
}

/// The run and where it worked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The run's id.
    pub run_id: String,
    /// The execution's ARN.
    pub execution: String,
    /// What the run wrote into its locks.
    pub lock_owner: String,
    /// The stack.
    pub stack: String,
    /// Its region.
    pub region: String,
    /// Its account.
    pub account: String,
    /// The state bucket.
    pub bucket: String,
    /// The state prefix.
    pub prefix: String,
    /// The role that was worked through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Nothing was to be changed.
    pub dry_run: bool,
    /// What the request allowed.
    pub options: Options,
}

/// A state file of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateReport {
    /// Whose.
    pub stack: String,
    /// It was removed with everything that belongs to it.
    pub removed: bool,
}

/// The plan of a dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    /// Typical seconds of the longest chain of deletes.
    pub longest_path_seconds: u64,
    /// Ids by level, the first to go first; what is free goes at once.
    pub levels: Vec<Vec<String>>,
}

impl Report {
    /// The report of a run. Texts are display-safe.
    pub(crate) fn of(record: &RunRecord, forecast: Option<&Forecast>) -> Report {
        let ended = record.ended.as_ref();
        let ending = ended.map_or(Ending::Error, |ended| ended.result);
        let ended_at = ended.map_or(record.at, |ended| ended.at);
        let run = &record.run;
        let all = |texts: &[String]| texts.iter().map(|t| text::display(t)).collect();
        Report {
            report_version: REPORT_VERSION,
            result: ending.name(),
            exit_class: ending.exit_class(),
            message: ended.and_then(|ended| ended.message.as_deref()).map_or(ending.meaning().into(), text::display),
            todo: advice::of_run(record, ending),
            counts: record.counts(),
            run: Place {
                run_id: text::display(&run.run_id),
                execution: text::display(&run.execution),
                lock_owner: text::display(&run.owner),
                stack: text::display(&run.stack),
                region: text::display(&run.region),
                account: text::display(&run.account),
                bucket: text::display(&run.bucket),
                prefix: text::display(&run.prefix),
                role: run.target.as_ref().map(|target| text::display(&target.role_arn)),
                dry_run: run.dry_run,
                options: run.options.clone(),
            },
            started_at: text::iso(record.started_at),
            ended_at: text::iso(ended_at),
            duration_ms: ended_at.saturating_sub(record.started_at),
            waves: record.wave,
            drives: record.drive,
            leftovers: leftovers::of(record, ending),
            warnings: all(&record.warnings),
            states: record.stacks.iter().map(|(s, l)| StateReport { stack: text::display(s), removed: l.removed }).collect(),
            plan: forecast.map(|forecast| PlanReport {
                longest_path_seconds: forecast.longest_path_seconds,
                levels: forecast.levels.iter().map(|level| all(level)).collect(),
            }),
            resources: resource::all(record),
            span: (record.started_at, ended_at),
        }
    }
}

/// Where the report lies, as `s3://bucket/key`; nothing where it could not be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) json: Option<String>,
    pub(crate) html: Option<String>,
}

/// Writes both forms, unless they are there. A failure is logged and changes nothing else.
pub(crate) async fn write(bucket: &dyn Bucket, record: &RunRecord, forecast: Option<&Forecast>) -> Written {
    let report = Report::of(record, forecast);
    let (key, id) = (record.run.key(), &record.run.run_id);
    let html = Put { content_type: "text/html; charset=utf-8", ..Put::json(html::page(&report)) };
    Written {
        json: put(bucket, key.report_json(id), Put::json(json::text(&report))).await,
        html: put(bucket, key.report_html(id), html).await,
    }
}

async fn put(bucket: &dyn Bucket, key: String, put: Put) -> Option<String> {
    match bucket.put(&key, put, When::Absent).await {
        Ok(_) => {}
        // An earlier finish wrote it.
        Err(error) if error.kind == BucketErrorKind::Precondition => {}
        Err(error) => {
            tracing::warn!(%error, "the report is not written");
            return None;
        }
    }
    Some(format!("s3://{}/{key}", bucket.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bed, partial};

    /// The machine-readable report and the page lie beside the run record.
    #[tokio::test(start_paused = true)]
    async fn both_forms_are_written_once() {
        let bed = Bed::new();
        let record = partial();
        let written = write(&*bed.bucket, &record, None).await;
        let (json, html) = (record.run.key().report_json(&record.run.run_id), record.run.key().report_html(&record.run.run_id));
        assert_eq!(written, Written { json: Some(format!("s3://state/{json}")), html: Some(format!("s3://state/{html}")) });
        bed.put(&json, "{}");
        assert_eq!(write(&*bed.bucket, &record, None).await, written);
        assert_eq!(bed.body(&json).unwrap(), "{}", "what is there stays");
        assert_eq!(bed.bucket.hook.content_type(&html).as_deref(), Some("text/html; charset=utf-8"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_that_cannot_be_written_is_no_failure() {
        let bed = Bed::new();
        let record = partial();
        bed.bucket.hook.deny("PutObject", &record.run.key().report_html(&record.run.run_id));
        assert!(matches!(write(&*bed.bucket, &record, None).await, Written { json: Some(_), html: None }));
    }
}
