//! Proxies and their endpoints. A proxy takes its endpoints and its target group along.

use std::time::Duration;

use aws_sdk_rds::types::{DbProxy, DbProxyEndpoint, DbProxyEndpointStatus, DbProxyStatus};
use ebb_core::Resource;

use super::kind::is;
use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallResult, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;
use crate::watch::Watch;

pub(super) const PROXY: TypeDef = TypeDef {
    name: "AWS::RDS::DBProxy",
    step: |r, cx| Box::pin(proxy(r, cx)),
    look: None,
    actions: &["rds:DeleteDBProxy", "rds:DescribeDBProxies"],
    rules: Rules { gone: NO_PROXY, retry: &[retry("InvalidDBProxyStateFault", 10, 900)], ..Rules::NONE },
};

pub(super) const ENDPOINT: TypeDef = TypeDef {
    name: "AWS::RDS::DBProxyEndpoint",
    step: |r, cx| Box::pin(endpoint(r, cx)),
    look: None,
    actions: &["rds:DeleteDBProxyEndpoint", "rds:DescribeDBProxyEndpoints"],
    rules: Rules {
        gone: NO_ENDPOINT,
        retry: &[retry("InvalidDBProxyEndpointStateFault", 10, 600), retry("InvalidDBProxyStateFault", 10, 600)],
        ..Rules::NONE
    },
};

const NO_PROXY: &[&str] = &["DBProxyNotFoundFault"];
const NO_ENDPOINT: &[&str] = &["DBProxyEndpointNotFoundFault", "DBProxyNotFoundFault"];

const LOOK_AGAIN: Duration = Duration::from_secs(15);

async fn proxy(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let watch = Watch::of(cx);
    let Some(live) = find(r, cx).await? else { return Ok(watch.gone(false)) };
    if live.status() != Some(&DbProxyStatus::Deleting) {
        let name = live.db_proxy_name().unwrap_or(&r.physical_id);
        cx.fence.check().await?;
        cx.aws.rds().delete_db_proxy().db_proxy_name(name).send().await?;
    }
    Ok(watch.pending_for(LOOK_AGAIN, cx, "the proxy is being deleted"))
}

/// By its name; a recorded ARN has an id of its own, so the proxy is looked for among all.
async fn find(r: &Resource, cx: &Cx<'_>) -> Result<Option<DbProxy>, StepError> {
    let id = r.physical_id.as_str();
    same_region(id, cx)?;
    let Some(arn) = Arn::parse(id) else {
        let answer = cx.aws.rds().describe_db_proxies().db_proxy_name(id).send().await.ignore(NO_PROXY)?;
        let found = answer.and_then(|a| a.db_proxies).unwrap_or_default();
        return Ok(found.into_iter().find(|p| is(p.db_proxy_name(), id)));
    };
    if !arn.resource.starts_with("db-proxy:") {
        return Err(StepError::malformed_id("a proxy name or its ARN"));
    }
    let all = cx.aws.rds().describe_db_proxies().into_paginator().items().send().try_collect().await?;
    Ok(all.into_iter().find(|p| p.db_proxy_arn() == Some(id)))
}

async fn endpoint(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (id, watch) = (r.physical_id.as_str(), Watch::of(cx));
    let call = cx.aws.rds().describe_db_proxy_endpoints().db_proxy_endpoint_name(id);
    let found = call.send().await.ignore(NO_ENDPOINT)?.and_then(|a| a.db_proxy_endpoints).unwrap_or_default();
    let ours = |e: &&DbProxyEndpoint| is(e.db_proxy_endpoint_name(), id);
    let Some(live) = found.iter().find(ours) else { return Ok(watch.gone(false)) };
    if live.status() != Some(&DbProxyEndpointStatus::Deleting) {
        if live.is_default() == Some(true) {
            return Err(StepError::terminal(
                "InvalidDBProxyEndpointStateFault",
                "it is the default endpoint of its proxy and goes with it alone",
            ));
        }
        cx.fence.check().await?;
        cx.aws.rds().delete_db_proxy_endpoint().db_proxy_endpoint_name(id).send().await?;
    }
    Ok(watch.pending_for(LOOK_AGAIN, cx, "the endpoint is being deleted"))
}
