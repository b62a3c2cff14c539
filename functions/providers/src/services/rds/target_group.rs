//! A proxy's target group is part of the proxy: what goes are its registrations.

use std::time::Duration;

use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Resource, Step};
use serde_json::Value;

use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(super) const TARGET_GROUP: TypeDef = TypeDef {
    name: "AWS::RDS::DBProxyTargetGroup",
    step: |r, cx| Box::pin(target_group(r, cx)),
    look: None,
    actions: &["rds:DeregisterDBProxyTargets"],
    rules: Rules {
        gone: &["DBProxyNotFoundFault", "DBProxyTargetGroupNotFoundFault", NO_TARGET],
        retry: &[retry("InvalidDBProxyStateFault", 10, 600)],
        ..Rules::NONE
    },
};

const NO_TARGET: &str = "DBProxyTargetNotFoundFault";

async fn target_group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let proxy = r.address("DBProxyName")?.ok_or_else(|| StepError::missing("DBProxyName"))?;
    let group = r.address("TargetGroupName")?.unwrap_or("default");
    let clusters = targets(r, "DBClusterIdentifiers")?;
    let instances = targets(r, "DBInstanceIdentifiers")?;
    if clusters.is_empty() && instances.is_empty() {
        return Ok(Step::DELETED);
    }
    let deregister = || cx.aws.rds().deregister_db_proxy_targets().db_proxy_name(proxy).target_group_name(group);
    let all = deregister().set_db_cluster_identifiers(list(&clusters)).set_db_instance_identifiers(list(&instances));
    match all.send().await.map_err(CallError::from) {
        Ok(_) => return Ok(Step::DELETED),
        // One that is missing fails the call for all.
        Err(call) if call.is(&[NO_TARGET]) && clusters.len() + instances.len() > 1 => {}
        Err(call) => return Err(call.into()),
    }
    let mut found = false;
    let each = clusters.iter().map(|c| deregister().db_cluster_identifiers(c));
    for one in each.chain(instances.iter().map(|i| deregister().db_instance_identifiers(i))) {
        if !cx.has_time() {
            return Ok(Step::pending(Duration::ZERO, "targets are being taken out one by one"));
        }
        cx.fence.check().await?;
        found |= one.send().await.ignore(&[NO_TARGET])?.is_some();
    }
    Ok(Step::Gone { already: !found })
}

/// `None` for no targets: an empty list is a parameter of its own.
fn list(targets: &[String]) -> Option<Vec<String>> {
    (!targets.is_empty()).then(|| targets.to_vec())
}

fn targets(r: &Resource, property: &str) -> Result<Vec<String>, StepError> {
    let recorded = match r.properties.get(property) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(targets)) => targets,
        Some(_) => return Err(StepError::missing(property)),
    };
    let one = |target: &Value| match target.as_str() {
        Some(id) if is_masked(id) => Err(Masked { property: property.to_owned() }.into()),
        Some(id) if !id.is_empty() => Ok(id.to_owned()),
        _ => Err(StepError::missing(property)),
    };
    recorded.iter().map(one).collect()
}
