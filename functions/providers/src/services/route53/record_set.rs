//! Records. The live set is read and deleted as it is: its recorded values are refused as soon as anybody edited it, and
//! that must not be taken for gone.

use aws_sdk_route53::types::{ResourceRecordSet, RrType};
use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Code, DeleteError, Resource, Step};
use serde_json::Value;

use super::{bare, delete_sets, name};
use crate::Cx;
use crate::call::{StepError, StepResult};
use crate::ids::fits_path;

/// A record, as its properties say it; its zone by id or by name.
struct Address<'r> {
    zone: Zone<'r>,
    name: &'r str,
    kind: &'r str,
    /// Of a set that shares name and type with others.
    identifier: Option<&'r str>,
}

enum Zone<'r> {
    Id(&'r str),
    Name(&'r str),
}

pub(super) async fn step(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let record = address(r)?;
    let zone = match record.zone {
        Zone::Id(id) => id.to_owned(),
        Zone::Name(name) => match zone_named(name, cx).await? {
            Some(id) => id,
            None => return Ok(Step::ALREADY_GONE),
        },
    };
    let Some(set) = live(&zone, &record, cx).await? else { return Ok(Step::ALREADY_GONE) };
    delete_sets(&zone, vec![set], cx).await?;
    Ok(Step::DELETED)
}

/// The zone stands before the first `|` of `zone|name|type` when the rest says what the properties say; a name may hold
/// the separator. Otherwise the zone is a property too.
fn address(r: &Resource) -> Result<Address<'_>, StepError> {
    if is_masked(&r.physical_id) {
        return Err(Masked { property: "physicalId".into() }.into());
    }
    let malformed = || StepError::unreadable_id("hostedZoneId|name|type, with Name and Type recorded");
    let (Some(name), Some(kind)) = (r.address("Name")?, r.address("Type")?) else { return Err(malformed()) };
    let identifier = identifier(r)?;
    let in_id = r.physical_id.split_once('|').and_then(|(zone, rest)| {
        let (named, typed) = rest.rsplit_once('|')?;
        (name::same(named, name) && typed.eq_ignore_ascii_case(kind)).then_some(zone)
    });
    let zone = match in_id {
        Some(zone) => Zone::Id(bare(zone)),
        None => match (r.address("HostedZoneId")?, r.address("HostedZoneName")?) {
            (Some(id), _) => Zone::Id(bare(id)),
            (None, Some(name)) => Zone::Name(name),
            (None, None) => return Err(StepError::missing("HostedZoneId")),
        },
    };
    match zone {
        Zone::Id(id) if !fits_path(id) => Err(malformed()),
        zone => Ok(Address { zone, name, kind, identifier }),
    }
}

/// One that cannot be read must not mean the set that has none.
fn identifier(r: &Resource) -> Result<Option<&str>, StepError> {
    match r.properties.get("SetIdentifier") {
        None | Some(Value::Null | Value::String(_)) => Ok(r.address("SetIdentifier")?),
        Some(_) => {
            let message = "the recorded SetIdentifier is not a string: no delete issued";
            Err(DeleteError::refused(Code::MalformedPhysicalId, message).into())
        }
    }
}

/// The id of the only zone of this name; `None` when there is none. The name in the call is where the list starts, not a
/// filter, so it is read until a later name shows.
async fn zone_named(wanted: &str, cx: &Cx<'_>) -> Result<Option<String>, StepError> {
    let list = || cx.aws.route53().list_hosted_zones_by_name().max_items(5);
    let mut call = list().dns_name(name::written(wanted));
    let mut found = Vec::new();
    loop {
        let page = call.send().await?;
        let later = page.hosted_zones.iter().any(|zone| name::order(&zone.name) > name::order(wanted));
        found.extend(page.hosted_zones.into_iter().filter(|zone| name::same(&zone.name, wanted)).map(|zone| zone.id));
        if found.len() > 1 {
            let message = "several hosted zones have the recorded HostedZoneName: no record is deleted on a guess";
            return Err(DeleteError::refused(Code::MissingAddress, message).into());
        }
        match (page.next_dns_name, page.next_hosted_zone_id) {
            (Some(next), Some(id)) if page.is_truncated && !later => call = list().dns_name(next).hosted_zone_id(id),
            _ => return Ok(found.pop().map(|id| bare(&id).to_owned())),
        }
    }
}

/// The set as it is in the zone; `None` once the list has gone past where it would stand.
async fn live(zone: &str, record: &Address<'_>, cx: &Cx<'_>) -> Result<Option<ResourceRecordSet>, StepError> {
    let list = || cx.aws.route53().list_resource_record_sets().hosted_zone_id(zone).max_items(100);
    let mut call = list().start_record_name(name::written(record.name)).start_record_type(RrType::from(record.kind));
    loop {
        let page = call.send().await?;
        let is_it = |set: &ResourceRecordSet| {
            name::same(&set.name, record.name)
                && set.r#type.as_str().eq_ignore_ascii_case(record.kind)
                && set.set_identifier.as_deref() == record.identifier
        };
        if let Some(set) = page.resource_record_sets.into_iter().find(is_it) {
            return Ok(Some(set));
        }
        match page.next_record_name.filter(|next| page.is_truncated && name::order(next) <= name::order(record.name)) {
            Some(next) => {
                call = list()
                    .start_record_name(next)
                    .set_start_record_type(page.next_record_type)
                    .set_start_record_identifier(page.next_record_identifier);
            }
            None => return Ok(None),
        }
    }
}
