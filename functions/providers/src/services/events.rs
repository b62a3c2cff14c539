//! EventBridge: rules and buses. A rule goes after its targets, a bus after its rules; what AWS manages stays.
//! DeleteRule and DeleteEventBus succeed for what is not there, so the listing before them is the probe.

use aws_sdk_eventbridge::operation::list_rules::ListRulesOutput;
use aws_sdk_eventbridge::operation::list_targets_by_rule::ListTargetsByRuleOutput;
use aws_sdk_eventbridge::types::Rule;
use ebb_core::provider::is_masked;
use ebb_core::{Code, DeleteError, Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["ResourceNotFoundException"];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::Events::EventBus",
        step: |r, cx| Box::pin(event_bus(r, cx)),
        look: None,
        actions: &[
            "events:DeleteEventBus",
            "events:DeleteRule",
            "events:ListRules",
            "events:ListTargetsByRule",
            "events:RemoveTargets",
        ],
        rules: Rules {
            gone: GONE,
            retry: &[
                retry("ConcurrentModificationException", 2, 60),
                retry("ValidationException~rules", 3, 60),
                retry("ValidationException~targets", 2, 30),
                retry("InternalException", 3, 60),
            ],
            terminal: &["ManagedRuleException"],
            protected: &[],
        },
    },
    TypeDef {
        name: "AWS::Events::Rule",
        step: |r, cx| Box::pin(rule(r, cx)),
        look: None,
        actions: &["events:DeleteRule", "events:ListTargetsByRule", "events:RemoveTargets"],
        rules: Rules {
            gone: GONE,
            retry: &[
                retry("ConcurrentModificationException", 2, 60),
                retry("InternalException", 3, 60),
                retry("ValidationException~targets", 2, 30),
            ],
            terminal: &["ManagedRuleException"],
            protected: &[],
        },
    },
];

/// Targets that one RemoveTargets call takes.
const TARGETS: usize = 100;

/// A rule on its bus; `None` is the default bus, which is called by leaving its name out.
#[derive(Debug, PartialEq)]
struct Address<'a> {
    rule: &'a str,
    bus: Option<&'a str>,
}

/// From an ARN `rule/[bus/]name`, from `bus|name`, or from a bare name and the recorded bus. Names of partner buses hold
/// slashes, names of rules do not.
fn address(r: &Resource) -> Result<Address<'_>, StepError> {
    let malformed = || StepError::malformed_id("a rule ARN, bus|rule or a rule name");
    let id = r.physical_id.as_str();
    let (bus, rule) = if let Some(arn) = Arn::parse(id) {
        let path = arn.resource.strip_prefix("rule/").ok_or_else(malformed)?;
        path.rsplit_once('/').map_or((None, path), |(bus, rule)| (Some(bus), rule))
    } else if let Some((bus, rule)) = id.split_once('|') {
        (Some(bus), rule)
    } else {
        (r.address("EventBusName")?, id)
    };
    let bus = bus.map(bus_name);
    if rule.is_empty() || bus == Some("") {
        return Err(malformed());
    }
    Ok(Address { rule, bus: bus.filter(|bus| *bus != "default") })
}

/// The name of a bus recorded by name or ARN.
fn bus_name(text: &str) -> &str {
    Arn::parse(text).and_then(|arn| arn.resource.strip_prefix("event-bus/")).unwrap_or(text)
}

async fn rule(r: &Resource, cx: &Cx<'_>) -> StepResult {
    same_region(&r.physical_id, cx)?;
    let address = address(r)?;
    let targets = targets(&address, cx).await?;
    delete_rule(&address, &targets, cx).await?;
    Ok(Step::DELETED)
}

/// Every target of a rule, by id. The recorded ones may be stale.
async fn targets(address: &Address<'_>, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let mut ids = Vec::new();
    let mut token = None;
    loop {
        let list = cx.aws.events().list_targets_by_rule().rule(address.rule).set_event_bus_name(address.bus.map(str::to_owned));
        let page: ListTargetsByRuleOutput = list.set_next_token(token).send().await?;
        ids.extend(page.targets().iter().map(|target| target.id().to_owned()));
        token = page.next_token;
        if token.is_none() {
            return Ok(ids);
        }
    }
}

/// Targets out, a hundred at a time, then the rule. An answer of 200 may still hold failures: the first one decides.
async fn delete_rule(address: &Address<'_>, targets: &[String], cx: &Cx<'_>) -> Result<(), StepError> {
    let bus = address.bus.map(str::to_owned);
    for ids in targets.chunks(TARGETS) {
        cx.fence.check().await?;
        let remove = cx.aws.events().remove_targets().rule(address.rule).set_event_bus_name(bus.clone());
        let answer = remove.set_ids(Some(ids.to_vec())).send().await?;
        let failed = answer.failed_entries().iter().find(|entry| !entry.error_code().is_some_and(|code| GONE.contains(&code)));
        if let Some(entry) = failed {
            let code = entry.error_code().unwrap_or("FailedEntry");
            let error = CallError::inside(code, entry.error_message().unwrap_or("a target was not removed"));
            return Err(CallError { about_other: true, ..error }.into());
        }
    }
    cx.fence.check().await?;
    cx.aws.events().delete_rule().name(address.rule).set_event_bus_name(bus).send().await?;
    Ok(())
}

/// A bus cannot go while it has rules, whoever made them. What AWS manages is named and stops the delete before anything
/// on the bus is touched.
async fn event_bus(r: &Resource, cx: &Cx<'_>) -> StepResult {
    same_region(&r.physical_id, cx)?;
    let bus = bus_name(&r.physical_id);
    if bus.is_empty() || is_masked(bus) {
        return Err(StepError::malformed_id("a bus name"));
    }
    if bus == "default" {
        return Err(DeleteError::refused(Code::Guarded, "the default event bus cannot be deleted").into());
    }
    let rules = rules(bus, cx).await?;
    if let Some(managed) = rules.iter().find(|rule| rule.managed_by().is_some_and(|by| !by.is_empty())) {
        return Err(DeleteError::refused(
            Code::Guarded,
            format!(
                "the rule {} on the bus is managed by {}: remove it there",
                managed.name().unwrap_or_default(),
                managed.managed_by().unwrap_or_default()
            ),
        )
        .into());
    }
    if !rules.is_empty() {
        tracing::warn!(resource = r.logical_id, rules = rules.len(), "the bus still has rules: they go with it");
    }
    for name in rules.iter().filter_map(Rule::name) {
        let address = Address { rule: name, bus: Some(bus) };
        // A rule that is gone by now is none of the bus's not-found.
        let Some(targets) = unless_gone(targets(&address, cx).await)? else { continue };
        unless_gone(delete_rule(&address, &targets, cx).await)?;
        if !cx.has_time() {
            return Ok(Step::pending(std::time::Duration::ZERO, "the bus's rules are being deleted"));
        }
    }
    cx.fence.check().await?;
    cx.aws.events().delete_event_bus().name(bus).send().await?;
    Ok(Step::DELETED)
}

/// The rules of this very bus: those of another one in the answer are none of ours.
async fn rules(bus: &str, cx: &Cx<'_>) -> Result<Vec<Rule>, StepError> {
    let mut rules = Vec::new();
    let mut token = None;
    loop {
        let page: ListRulesOutput = cx.aws.events().list_rules().event_bus_name(bus).set_next_token(token).send().await?;
        token = page.next_token;
        rules.extend(page.rules.unwrap_or_default().into_iter().filter(|rule| rule.event_bus_name().map(bus_name) == Some(bus)));
        if token.is_none() {
            return Ok(rules);
        }
    }
}

/// `None` when what the call was about is not there.
fn unless_gone<T>(answer: Result<T, StepError>) -> Result<Option<T>, StepError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.aws_code().is_some_and(|code| GONE.contains(&code)) => Ok(None),
        Err(StepError::Call(call)) => Err(StepError::Call(CallError { about_other: true, ..call })),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
