//! Hosted zones. A zone goes when nothing but its own NS and SOA records is left. Records that the stack does not own,
//! such as those that validate a certificate, go only when the request says so; nothing of the zone is changed before
//! that is known.

use std::time::Duration;

use aws_sdk_route53::types::{AcceleratedRecoveryStatus, HostedZone, ResourceRecordSet, RrType};
use ebb_core::{Code, DeleteError, ErrorClass, Look, Resource, Step};

use super::{bare, batches, delete_sets, name, zone_id};
use crate::Cx;
use crate::call::{CallError, StepError, StepResult};

/// Records that a refusal names.
const NAMED: usize = 5;

pub(super) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = zone_id(r)?;
    let zone = get(id, cx).await?;
    if let Some(reason) = managed(&zone) {
        return Err(DeleteError::refused(Code::DataGuard, reason).into());
    }
    let mut foreign = foreign(id, &zone, cx).await?;
    if !foreign.is_empty() && !cx.run.options.delete_data {
        return Err(DeleteError::refused(Code::DataGuard, left(&foreign)).into());
    }
    if !foreign.is_empty() && is_signing(id, cx).await {
        return Err(signed());
    }
    settle_recovery(id, &zone, cx).await?;
    while !foreign.is_empty() {
        for batch in batches(foreign) {
            delete_sets(id, batch, cx).await?;
            if !cx.has_time() {
                return Ok(Step::pending(Duration::ZERO, "emptying the hosted zone"));
            }
        }
        foreign = self::foreign(id, &zone, cx).await?;
    }
    stop_query_logs(id, cx).await?;
    cx.fence.check().await?;
    match cx.aws.route53().delete_hosted_zone().id(id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if call.is(&["HostedZoneNotEmpty"]) && is_signing(id, cx).await => Err(signed()),
        Err(call) => Err(call.into()),
    }
}

async fn get(id: &str, cx: &Cx<'_>) -> Result<HostedZone, StepError> {
    let found = cx.aws.route53().get_hosted_zone().id(id).send().await?.hosted_zone;
    found.ok_or_else(|| StepError::odd_answer("Route 53 answered no hosted zone"))
}

/// Why a zone that another service made stays.
fn managed(zone: &HostedZone) -> Option<String> {
    let by = zone.linked_service()?.service_principal().unwrap_or("another service");
    Some(format!("the hosted zone is managed by {by}: delete it there (a Cloud Map zone goes with its namespace)"))
}

/// The first page of what is in the zone beside its own NS and SOA records.
async fn foreign(id: &str, zone: &HostedZone, cx: &Cx<'_>) -> Result<Vec<ResourceRecordSet>, StepError> {
    let page = cx.aws.route53().list_resource_record_sets().hosted_zone_id(id).send().await?;
    Ok(page.resource_record_sets.into_iter().filter(|set| !is_apex(set, zone)).collect())
}

fn is_apex(set: &ResourceRecordSet, zone: &HostedZone) -> bool {
    matches!(set.r#type, RrType::Ns | RrType::Soa) && name::same(&set.name, &zone.name)
}

/// The refusal that names what is left.
fn left(foreign: &[ResourceRecordSet]) -> String {
    let names: Vec<String> = foreign.iter().take(NAMED).map(|set| format!("{} {}", set.r#type.as_str(), set.name)).collect();
    let more = foreign.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "the hosted zone holds records that the stack does not own ({}{more}): delete them, or ask with deleteData",
        names.join(", ")
    )
}

/// Accelerated recovery has to be off, and takes minutes to switch. An error that passes until it is: its budget counts from
/// the first time.
async fn settle_recovery(id: &str, zone: &HostedZone, cx: &Cx<'_>) -> Result<(), StepError> {
    use AcceleratedRecoveryStatus as S;
    match zone.features().and_then(|features| features.accelerated_recovery_status()) {
        None | Some(S::Disabled) => return Ok(()),
        Some(status @ (S::EnableFailed | S::DisableFailed)) => {
            let message = format!("accelerated recovery of the hosted zone is {}: switch it off there first", status.as_str());
            return Err(DeleteError::refused(Code::Guarded, message).into());
        }
        Some(S::Enabled) => {
            cx.fence.check().await?;
            let off = cx.aws.route53().update_hosted_zone_features().hosted_zone_id(id).enable_accelerated_recovery(false);
            off.send().await?;
        }
        Some(_) => {}
    }
    Err(StepError::Ours(DeleteError {
        class: ErrorClass::Retry { after: Duration::from_secs(15), give_up: Some(Duration::from_secs(600)) },
        code: "AcceleratedRecovery".into(),
        message: "accelerated recovery of the hosted zone is being switched".into(),
        request_id: None,
    }))
}

/// As far as it goes: a zone may be deleted with them.
async fn stop_query_logs(id: &str, cx: &Cx<'_>) -> Result<(), StepError> {
    let list = cx.aws.route53().list_query_logging_configs().hosted_zone_id(id).into_paginator().items();
    let configs = match list.send().try_collect().await {
        Ok(configs) => configs,
        Err(error) => {
            tracing::warn!(code = CallError::from(error).code, "the hosted zone's query logs could not be listed");
            return Ok(());
        }
    };
    for config in configs.iter().filter(|config| bare(&config.hosted_zone_id) == id) {
        cx.fence.check().await?;
        match cx.aws.route53().delete_query_logging_config().id(&config.id).send().await.map_err(CallError::from) {
            Ok(_) => {}
            Err(call) if call.fence_shut => return Err(call.into()),
            Err(call) => tracing::warn!(code = call.code, "the hosted zone's query logs could not be stopped"),
        }
    }
    Ok(())
}

/// Signing gives the same code as records that are left.
async fn is_signing(id: &str, cx: &Cx<'_>) -> bool {
    let found = cx.aws.route53().get_dnssec().hosted_zone_id(id).send().await.ok();
    found.and_then(|dnssec| dnssec.status).is_some_and(|status| status.serve_signature() == Some("SIGNING"))
}

/// The refusal of a zone that is signed: it would stay without its records.
fn signed() -> StepError {
    let message = "DNSSEC signing of the hosted zone is on: switch it off and delete its key-signing keys, then tear down again";
    DeleteError::refused(Code::DataGuard, message).into()
}

/// Records of the plan go before their zone, so only what no plan ever deletes speaks against it: a certificate's
/// validation, which stays behind when the certificate goes.
pub(super) async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    let id = zone_id(r)?;
    let zone = get(id, cx).await?;
    if let Some(reason) = managed(&zone) {
        return Ok(Look::Refuses { code: Code::DataGuard, reason });
    }
    if cx.run.options.delete_data {
        return Ok(Look::Clear);
    }
    let mut call = cx.aws.route53().list_resource_record_sets().hosted_zone_id(id);
    loop {
        let page = call.send().await?;
        let validations: Vec<_> = page.resource_record_sets.into_iter().filter(validates).collect();
        if !validations.is_empty() {
            return Ok(Look::Refuses { code: Code::DataGuard, reason: left(&validations) });
        }
        match page.next_record_name.filter(|_| page.is_truncated && cx.has_time()) {
            Some(next) => {
                let list = cx.aws.route53().list_resource_record_sets().hosted_zone_id(id).start_record_name(next);
                call = list.set_start_record_type(page.next_record_type);
                call = call.set_start_record_identifier(page.next_record_identifier);
            }
            None => return Ok(Look::Clear),
        }
    }
}

fn validates(set: &ResourceRecordSet) -> bool {
    let by_acm = |value: &str| name::plain(value).ends_with(b".acm-validations.aws");
    set.r#type == RrType::Cname && set.resource_records().iter().any(|record| by_acm(record.value()))
}
