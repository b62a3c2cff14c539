//! EventBridge Scheduler. A schedule lives in a group, and a name without its group means the default one: a not-found from
//! there says nothing of a schedule elsewhere.

use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Code, Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::Scheduler::Schedule",
    step: |r, cx| Box::pin(schedule(r, cx)),
    look: None,
    actions: &["scheduler:DeleteSchedule", "scheduler:ListSchedules"],
    rules: Rules {
        gone: &["ResourceNotFoundException"],
        retry: &[retry("ConflictException", 2, 60), retry("InternalServerException", 3, 60), retry("ThrottlingException", 2, 60)],
        ..Rules::NONE
    },
}];

async fn schedule(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (recorded, name) = name(r, cx)?;
    let mut group = match recorded {
        Some(group) => Some(group.to_owned()),
        None => group_name(r)?.map(str::to_owned),
    };
    if group.is_none() && r.properties.is_empty() {
        let mut groups = groups_of(name, cx).await?;
        if groups.len() > 1 {
            let reason = "schedules of this name are in several groups and the state names none: no delete issued";
            return Ok(Step::skipped(Code::MissingAddress, reason));
        }
        group = groups.pop();
        if group.is_none() {
            return Ok(Step::ALREADY_GONE);
        }
    }
    cx.aws.scheduler().delete_schedule().name(name).set_group_name(group).send().await?;
    Ok(Step::DELETED)
}

/// Group and name in a recorded id that is a name, `group/name`, or an ARN that ends with `schedule/group/name`.
fn name<'r>(r: &'r Resource, cx: &Cx<'_>) -> Result<(Option<&'r str>, &'r str), StepError> {
    let id = r.physical_id.as_str();
    let malformed = || StepError::malformed_id("a schedule's name, group/name or ARN");
    if is_masked(id) {
        return Err(Masked { property: "physicalId".into() }.into());
    }
    same_region(id, cx)?;
    let path = match Arn::parse(id) {
        Some(arn) => arn.resource.strip_prefix("schedule/").filter(|path| path.contains('/')).ok_or_else(malformed)?,
        None => id,
    };
    // A dot segment in the path of the call would address what is above.
    let usable = |part: &str| !matches!(part, "" | "." | "..");
    match path.split('/').collect::<Vec<_>>()[..] {
        [name] if usable(name) => Ok((None, name)),
        [group, name] if usable(group) && usable(name) => Ok((Some(group), name)),
        _ => Err(malformed()),
    }
}

/// The recorded group. One that cannot be read must not mean the default one.
fn group_name(r: &Resource) -> Result<Option<&str>, StepError> {
    match (r.address("GroupName")?, r.properties.get("GroupName")) {
        (None, Some(recorded)) if !recorded.is_null() => Err(StepError::missing("usable GroupName")),
        (group, _) => Ok(group),
    }
}

/// The groups that hold a schedule of this very name. The call filters by prefix.
async fn groups_of(name: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let found = cx.aws.scheduler().list_schedules().name_prefix(name).into_paginator().items().send().try_collect().await?;
    Ok(found.into_iter().filter(|s| s.name() == Some(name)).filter_map(|s| s.group_name).collect())
}

#[cfg(test)]
mod tests;
