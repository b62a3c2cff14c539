//! WAF: web ACLs. One of scope CLOUDFRONT lives in us-east-1; elsewhere it would not be found, which says nothing.

use std::sync::Arc;

use aws_sdk_wafv2::types::{ResourceType, Scope};
use ebb_core::{Resource, Step};

use crate::arn::{Arn, same_region};
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::ids::{parts, physical_id};
use crate::registry::TypeDef;
use crate::{Clients, Cx};

const RULES: Rules = Rules {
    gone: &["WAFNonexistentItemException"],
    retry: &[
        retry("WAFOptimisticLockException", 1, 60),
        blocked("WAFAssociatedItemException", 10, 900),
        retry("WAFUnavailableEntityException", 5, 120),
        retry("WAFInternalErrorException", 3, 60),
        retry("WAFTagOperationException", 3, 60),
    ],
    // Firewall Manager's.
    terminal: &["WAFInvalidOperationException"],
    protected: &[],
};

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::WAFv2::WebACL",
    step: |r, cx| Box::pin(web_acl(r, cx)),
    look: None,
    actions: &["cloudfront:ListDistributionsByWebACLId", "wafv2:DeleteWebACL", "wafv2:GetWebACL", "wafv2:ListResourcesForWebACL"],
    rules: RULES,
}];

/// What WAF asks for on every call.
struct Address<'r> {
    name: &'r str,
    id: &'r str,
    scope: Scope,
}

/// From an ARN `…:{regional|global}/webacl/name/id`, or from `name|id|scope`.
fn address<'r>(r: &'r Resource, cx: &Cx<'_>) -> Result<Address<'r>, StepError> {
    const EXPECTED: &str = "a web ACL's ARN or name|id|scope";
    let text = physical_id(r, EXPECTED)?;
    let (scope, name, id) = match Arn::parse(text) {
        Some(arn) => {
            let segments: Vec<&str> = arn.resource.split('/').collect();
            let [scope, "webacl", name, id] = segments[..] else { return Err(StepError::unreadable_id(EXPECTED)) };
            if scope == "regional" {
                same_region(text, cx)?;
            }
            (scope, name, id)
        }
        None => {
            let [name, id, scope] = parts(text).ok_or_else(|| StepError::unreadable_id(EXPECTED))?;
            (scope, name, id)
        }
    };
    let scope = match scope {
        "global" | "CLOUDFRONT" => Scope::Cloudfront,
        "regional" | "REGIONAL" => Scope::Regional,
        _ => return Err(StepError::unreadable_id(EXPECTED)),
    };
    if name.is_empty() || id.is_empty() {
        return Err(StepError::unreadable_id(EXPECTED));
    }
    Ok(Address { name, id, scope })
}

/// The lock token is read right before the delete, which takes no other.
async fn web_acl(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let Address { name, id, scope } = address(r, cx)?;
    let there: Arc<Clients> = cx.aws.in_region(if scope == Scope::Cloudfront { "us-east-1" } else { cx.aws.region() });
    let waf = there.wafv2();
    let found = waf.get_web_acl().name(name).id(id).scope(scope.clone()).send().await?;
    let token = found.lock_token.ok_or_else(|| StepError::odd_answer("WAF answered a web ACL without a lock token"))?;
    let delete = waf.delete_web_acl().name(name).id(id).scope(scope.clone()).lock_token(token);
    match delete.send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let arn = found.web_acl.map(|acl| acl.arn).unwrap_or_default();
            let by = if scope == Scope::Cloudfront {
                named("distributions", distributions(&there, &arn).await)
            } else {
                named("associated resources", resources(&there, &arn, cx).await)
            };
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn distributions(there: &Clients, arn: &str) -> Result<Vec<String>, StepError> {
    let answer = there.cloudfront().list_distributions_by_web_acl_id().web_acl_id(arn).send().await?;
    let items = answer.distribution_list.and_then(|list| list.items).unwrap_or_default();
    Ok(items.into_iter().filter(|d| d.web_acl_id == arn).map(|d| format!("{} (distribution)", d.id)).collect())
}

/// WAF lists one kind at a time; a kind that the region does not know is an error of its own and holds nothing.
async fn resources(there: &Clients, arn: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let mut found = Vec::new();
    let mut error = None;
    for kind in ResourceType::values() {
        if !cx.has_time() {
            break;
        }
        let list = there.wafv2().list_resources_for_web_acl().web_acl_arn(arn).resource_type(ResourceType::from(*kind));
        match list.send().await {
            Ok(answer) => found.extend(answer.resource_arns.unwrap_or_default()),
            Err(e) => error = Some(e),
        }
    }
    match error {
        Some(error) if found.is_empty() => Err(error.into()),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests;
