//! Certificate Manager. A certificate for CloudFront lives in us-east-1 whatever the stack's region is, so each is called
//! in the region of its ARN.

use ebb_core::{Resource, Step};

use crate::arn::Arn;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::ids::physical_id;
use crate::registry::TypeDef;
use crate::{Clients, Cx};

/// What used it lets go of it seconds to tens of minutes after its own delete.
const RULES: Rules = Rules {
    gone: &["ResourceNotFoundException"],
    retry: &[
        blocked("ResourceInUseException", 15, 1800),
        retry("ConflictException", 5, 120),
        retry("ThrottlingException", 2, 60),
    ],
    ..Rules::NONE
};

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::CertificateManager::Certificate",
    step: |r, cx| Box::pin(certificate(r, cx)),
    look: None,
    actions: &["acm:DeleteCertificate", "acm:DescribeCertificate"],
    rules: RULES,
}];

async fn certificate(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = physical_id(r, "a certificate's ARN")?;
    let arn = Arn::parse(id).filter(|arn| !arn.region.is_empty() && arn.resource.starts_with("certificate/"));
    let arn = arn.ok_or_else(|| StepError::unreadable_id("a certificate's ARN"))?;
    let there = cx.aws.in_region(arn.region);
    match there.acm().delete_certificate().certificate_arn(id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let by = named("what uses it", used_by(&there, id).await);
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn used_by(there: &Clients, certificate: &str) -> Result<Vec<String>, StepError> {
    let answer = there.acm().describe_certificate().certificate_arn(certificate).send().await?;
    Ok(answer.certificate.and_then(|c| c.in_use_by).unwrap_or_default())
}

#[cfg(test)]
mod tests;
