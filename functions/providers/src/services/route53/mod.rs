//! Route 53: hosted zones and records. The service is global, allows five calls a second, and one change of a zone at a
//! time. What is deleted is always the set as it is live: a DELETE has to repeat it exactly.

mod hosted_zone;
mod name;
mod record_set;
#[cfg(test)]
mod tests;

use aws_sdk_route53::error::SdkError;
use aws_sdk_route53::operation::change_resource_record_sets::ChangeResourceRecordSetsError;
use aws_sdk_route53::types::{Change, ChangeAction, ChangeBatch, ResourceRecordSet};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use ebb_core::Resource;

use crate::Cx;
use crate::call::{CallError, StepError};
use crate::classify::{Retry, Rules, retry};
use crate::ids::{fits_path, physical_id};
use crate::registry::TypeDef;

const IN_FLIGHT: Retry = retry("PriorRequestNotComplete", 3, 120);
const THROTTLED: Retry = retry("Throttling", 2, 120);
const NOT_FOUND: &str = "InvalidChangeBatch~it was not found";
/// Somebody edited the record since it was read.
const DIFFERS: Retry = retry("InvalidChangeBatch~do not match the current values", 1, 60);
/// The zone is switching its accelerated recovery.
const SWITCHING: Retry = retry("~is marked disabled for mutation", 15, 600);

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::Route53::HostedZone",
        step: |r, cx| Box::pin(hosted_zone::step(r, cx)),
        look: Some(|r, cx| Box::pin(hosted_zone::look(r, cx))),
        actions: &[
            "route53:ChangeResourceRecordSets",
            "route53:DeleteHostedZone",
            "route53:DeleteQueryLoggingConfig",
            "route53:GetDNSSEC",
            "route53:GetHostedZone",
            "route53:ListQueryLoggingConfigs",
            "route53:ListResourceRecordSets",
            "route53:UpdateHostedZoneFeatures",
        ],
        rules: Rules {
            gone: &["NoSuchHostedZone"],
            // Of a record that somebody deleted or edited since the zone was listed: it is listed again.
            retry: &[retry(NOT_FOUND, 1, 60), DIFFERS, IN_FLIGHT, THROTTLED, SWITCHING, retry("HostedZoneNotEmpty", 5, 120)],
            ..Rules::NONE
        },
    },
    TypeDef {
        name: "AWS::Route53::RecordSet",
        step: |r, cx| Box::pin(record_set::step(r, cx)),
        look: None,
        actions: &["route53:ChangeResourceRecordSets", "route53:ListHostedZonesByName", "route53:ListResourceRecordSets"],
        // `InvalidChangeBatch` also says that the values differ: then the record is alive, and read again.
        rules: Rules {
            gone: &["NoSuchHostedZone", NOT_FOUND],
            retry: &[DIFFERS, IN_FLIGHT, THROTTLED, SWITCHING],
            ..Rules::NONE
        },
    },
];

/// A zone's id without the path that Route 53 puts before it.
fn bare(zone: &str) -> &str {
    zone.strip_prefix("/hostedzone/").unwrap_or(zone)
}

/// The recorded zone of a row that is one.
fn zone_id(r: &Resource) -> Result<&str, StepError> {
    let zone = bare(physical_id(r, "a hosted zone id")?);
    if fits_path(zone) { Ok(zone) } else { Err(StepError::malformed_id("a hosted zone id")) }
}

/// Most resource records, and most characters in all their values, of one request (API reference,
/// ChangeResourceRecordSets).
const MOST_RECORDS: usize = 1000;
const MOST_CHARACTERS: usize = 32_000;

/// The sets in batches that one request takes. An alias counts like a record.
fn batches(sets: Vec<ResourceRecordSet>) -> Vec<Vec<ResourceRecordSet>> {
    let (mut batches, mut batch) = (Vec::new(), Vec::new());
    let (mut records, mut characters) = (0, 0);
    for set in sets {
        let of_set = set.resource_records().len().max(1);
        let in_values: usize = set.resource_records().iter().map(|record| record.value().chars().count()).sum();
        if !batch.is_empty() && (records + of_set > MOST_RECORDS || characters + in_values > MOST_CHARACTERS) {
            batches.push(std::mem::take(&mut batch));
            (records, characters) = (0, 0);
        }
        (records, characters) = (records + of_set, characters + in_values);
        batch.push(set);
    }
    batches.extend((!batch.is_empty()).then_some(batch));
    batches
}

/// Deletes `sets` as they are, in one batch: all of them or none.
async fn delete_sets(zone: &str, sets: Vec<ResourceRecordSet>, cx: &Cx<'_>) -> Result<(), StepError> {
    let odd = |_| StepError::odd_answer("Route 53 listed a record that cannot be sent back");
    let change = |set| Change::builder().action(ChangeAction::Delete).resource_record_set(set).build();
    let changes = sets.into_iter().map(change).collect::<Result<_, _>>().map_err(odd)?;
    let batch = ChangeBatch::builder().set_changes(Some(changes)).build().map_err(odd)?;
    cx.fence.check().await?;
    let call = cx.aws.route53().change_resource_record_sets().hosted_zone_id(zone).change_batch(batch);
    call.send().await.map(drop).map_err(|error| refused(error).into())
}

/// A refused batch comes in the usual form, or as `<InvalidChangeBatch><Messages>…`, in which the SDK finds no code.
fn refused(error: SdkError<ChangeResourceRecordSetsError, HttpResponse>) -> CallError {
    let body = error.raw_response().and_then(|r| r.body().bytes()).map(|b| String::from_utf8_lossy(b).into_owned());
    let call = CallError::from(error);
    match body {
        Some(body) if call.code.is_empty() && body.contains("<InvalidChangeBatch") => {
            let messages = body.split("<Message>").skip(1).filter_map(|rest| rest.split("</Message>").next());
            CallError { code: "InvalidChangeBatch".into(), message: messages.collect::<Vec<_>>().join(" "), ..call }
        }
        _ => call,
    }
}
