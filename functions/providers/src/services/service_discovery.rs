//! Cloud Map: namespaces and services. A namespace goes by an operation that later steps look at; what ECS registered in
//! it takes itself away some minutes after its service.

mod namespace;

use std::time::Duration;

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::name_of;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::registry::TypeDef;

const SERVICE: Rules = Rules {
    gone: &["ServiceNotFound"],
    retry: &[blocked("ResourceInUse", 10, 900), retry("RequestLimitExceeded", 2, 60)],
    ..Rules::NONE
};

pub(crate) const TYPES: &[TypeDef] = &[
    namespace::of("AWS::ServiceDiscovery::HttpNamespace"),
    namespace::of("AWS::ServiceDiscovery::PrivateDnsNamespace"),
    namespace::of("AWS::ServiceDiscovery::PublicDnsNamespace"),
    TypeDef {
        name: "AWS::ServiceDiscovery::Service",
        step: |r, cx| Box::pin(service(r, cx)),
        look: None,
        actions: &["servicediscovery:DeleteService", "servicediscovery:DeregisterInstance", "servicediscovery:ListInstances"],
        rules: SERVICE,
    },
];

/// After so long, instances that are still registered are nobody's draining tasks.
const DRAINED: Duration = Duration::from_secs(300);

/// Refused while instances are registered: those of ECS tasks go with the tasks, those that something else registered only
/// when the request says deleteData.
async fn service(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = name_of(r, "service/", cx)?;
    let call = match cx.aws.servicediscovery().delete_service().id(id).send().await.map_err(CallError::from) {
        Ok(_) => return Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &SERVICE) => call,
        Err(call) => return Err(call.into()),
    };
    let found = instances(id, cx).await;
    if cx.run.options.delete_data && cx.elapsed() >= DRAINED {
        for instance in found.iter().flatten() {
            if !cx.has_time() {
                break;
            }
            cx.fence.check().await?;
            cx.aws.servicediscovery().deregister_instance().service_id(id).instance_id(instance).send().await.best_effort()?;
        }
    }
    let names = found.map(|ids| ids.iter().map(|id| format!("{id} (registered instance)")).collect());
    Err(call.held_by(named("instances", names)).into())
}

async fn instances(service: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let call = cx.aws.servicediscovery().list_instances().service_id(service);
    let pages = call.into_paginator().send().try_collect().await?;
    Ok(pages.iter().flat_map(|page| page.instances()).filter_map(|i| i.id().map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests;
