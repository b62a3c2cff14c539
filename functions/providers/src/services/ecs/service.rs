//! ECS services. A service drains for minutes after its delete was accepted and holds interfaces, targets and its cluster
//! as long: later steps look until it is INACTIVE.

use std::time::Duration;

use aws_sdk_applicationautoscaling::types::{ScalableDimension, ServiceNamespace};
use ebb_core::Resource;
use ebb_core::provider::{Masked, is_masked};

use super::last_part;
use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, matches, retry};
use crate::watch::{Seen, Watch};

pub(super) const RULES: Rules = Rules {
    gone: &["ServiceNotFoundException", "ClusterNotFoundException"],
    retry: &[
        retry("ServerException", 3, 60),
        retry("InvalidParameterException~deployment", 10, 600),
        retry("ThrottlingException", 2, 60),
    ],
    ..Rules::NONE
};

const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// The delete was accepted before: the service is DRAINING or INACTIVE, which only a look tells apart.
const NOT_ACTIVE: &[&str] = &["ServiceNotActiveException"];

pub(super) async fn service(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let at = Address::of(r, cx)?;
    let watch = Watch::of(cx);
    let found = if watch.asked() { true } else { delete(&at, cx).await? };
    match look(&at, cx).await? {
        Seen::Gone => Ok(watch.gone(found)),
        Seen::There if watch.asked() => {
            delete(&at, cx).await?;
            Ok(watch.pending_for(LOOK_AGAIN, cx, "the service was not going: asked again"))
        }
        Seen::Going | Seen::There => Ok(watch.pending_for(LOOK_AGAIN, cx, "the service is DRAINING")),
    }
}

/// A service and its cluster. Without a cluster the API looks into the one called `default`, and its not-found would hide a
/// live service.
struct Address<'r> {
    service: &'r str,
    cluster: &'r str,
}

impl<'r> Address<'r> {
    fn of(r: &'r Resource, cx: &Cx<'_>) -> Result<Self, StepError> {
        let malformed = || StepError::unreadable_id("a service's ARN or name, alone or with its cluster");
        if is_masked(&r.physical_id) {
            return Err(Masked { property: "physicalId".into() }.into());
        }
        let (service, recorded) = match r.physical_id.split('|').collect::<Vec<_>>()[..] {
            [service] => (service, None),
            [a, b] if a.contains(":service/") || b.contains(":cluster/") => (a, Some(b)),
            [a, b] if b.contains(":service/") || a.contains(":cluster/") => (b, Some(a)),
            _ => return Err(malformed()),
        };
        same_region(service, cx)?;
        let path = match Arn::parse(service) {
            Some(arn) => arn.resource.strip_prefix("service/").ok_or_else(malformed)?,
            None => service,
        };
        if path.is_empty() || path.ends_with('/') || recorded == Some("") {
            return Err(malformed());
        }
        let recorded = recorded.or(path.split_once('/').map(|(cluster, _)| cluster));
        let cluster = match (r.address("Cluster"), recorded) {
            // Which of the two holds it cannot be told, and a not-found from the wrong one would hide it.
            (Ok(Some(cluster)), Some(recorded)) if last_part(cluster) != last_part(recorded) => return Err(malformed()),
            (Ok(Some(cluster)), _) | (_, Some(cluster)) => cluster,
            (Err(masked), None) => return Err(masked.into()),
            (Ok(None), None) => return Err(StepError::missing("Cluster")),
        };
        same_region(cluster, cx)?;
        Ok(Address { service, cluster })
    }
}

/// Whether there was an active service to delete. Its scaling goes first, or it may raise the count again.
async fn delete(at: &Address<'_>, cx: &Cx<'_>) -> Result<bool, StepError> {
    cx.fence.check().await?;
    let scaling = cx.aws.applicationautoscaling().deregister_scalable_target().service_namespace(ServiceNamespace::Ecs);
    scaling
        .resource_id(format!("service/{}/{}", last_part(at.cluster), last_part(at.service)))
        .scalable_dimension(ScalableDimension::EcsServiceDesiredCount)
        .send()
        .await
        .best_effort()?;

    cx.fence.check().await?;
    let ecs = cx.aws.ecs();
    let update = ecs.update_service().cluster(at.cluster).service(at.service).desired_count(0);
    match update.send().await.map_err(CallError::from) {
        Ok(_) => {}
        Err(call) if call.is(NOT_ACTIVE) => return Ok(false),
        // A DAEMON service has no desired count.
        Err(call) if matches(&call, "InvalidParameterException~daemon") => {}
        Err(call) => return Err(call.into()),
    }
    cx.fence.check().await?;
    let delete = ecs.delete_service().cluster(at.cluster).service(at.service).force(true);
    Ok(delete.send().await.ignore(NOT_ACTIVE)?.is_some())
}

async fn look(at: &Address<'_>, cx: &Cx<'_>) -> Result<Seen, StepError> {
    let call = cx.aws.ecs().describe_services().cluster(at.cluster).services(at.service);
    let Some(answer) = call.send().await.ignore(&["ClusterNotFoundException"])? else { return Ok(Seen::Gone) };
    let ours = answer.services().iter().find(|s| s.service_name() == Some(last_part(at.service)));
    let missing = || answer.failures().iter().any(|f| f.reason() == Some("MISSING"));
    Ok(match ours.and_then(|s| s.status()) {
        Some("INACTIVE") => Seen::Gone,
        Some("DRAINING") => Seen::Going,
        None if missing() => Seen::Gone,
        _ => Seen::There,
    })
}
