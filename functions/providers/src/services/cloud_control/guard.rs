//! What is looked at before a delete that cannot be taken back: that the bucket or the ARN is of the region that is called,
//! and that no data guard of the type's native step would refuse.

use ebb_core::{Code, DeleteError, ErrorClass, Look, Resource};

use super::RULES;
use crate::Cx;
use crate::arn::same_region;
use crate::budget::settle_look;
use crate::call::{CallError, StepError};
use crate::classify::classify;
use crate::registry::find;
use crate::services::glue::catalog::no_other_tables;

/// Refuses what lives in another region: Cloud Control there would delete its namesake.
pub(super) async fn region(r: &Resource, id: &str, cx: &Cx<'_>) -> Result<(), StepError> {
    same_region(id, cx)?;
    if r.resource_type != "AWS::S3::Bucket" {
        return Ok(());
    }
    let location = cx.aws.s3().get_bucket_location().bucket(id).expected_bucket_owner(&cx.run.account).send().await;
    let found = match location.map_err(CallError::from) {
        // The first region has no constraint, the second an old name.
        Ok(answer) => match answer.location_constraint().map(|c| c.as_str()) {
            None | Some("") => "us-east-1".to_owned(),
            Some("EU") => "eu-west-1".to_owned(),
            Some(region) => region.to_owned(),
        },
        Err(call) if call.is(&["NoSuchBucket"]) => return Ok(()),
        Err(call) if call.is(&["PermanentRedirect", "AuthorizationHeaderMalformed"]) => "another region".to_owned(),
        Err(call) => {
            return match classify(&call, &RULES).class {
                ErrorClass::Retry { .. } | ErrorClass::Throttled => Err(call.into()),
                // Without the right to ask, the recorded region is all there is.
                _ => {
                    tracing::warn!(resource = %r.logical_id, code = call.code, "the bucket's region could not be verified");
                    Ok(())
                }
            };
        }
    };
    if found == cx.aws.region() {
        return Ok(());
    }
    let message = format!("the bucket is in {found}, its record is of {}: no delete issued", cx.aws.region());
    Err(DeleteError::refused(Code::WrongRegion, message).into())
}

/// Refuses what the native step would refuse: the handler knows neither consent nor plan. Protection is AWS's to refuse.
pub(super) async fn data(r: &Resource, cx: &Cx<'_>) -> Result<(), StepError> {
    if r.resource_type == "AWS::Glue::Database" {
        return no_other_tables(r, cx).await;
    }
    match native_look(r, cx).await? {
        Look::Refuses { code: Code::DataGuard, reason } => Err(DeleteError::refused(Code::DataGuard, reason).into()),
        _ => Ok(()),
    }
}

/// The look of the type's native step: it reads the same resource, whichever road deletes it.
pub(super) async fn native_look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    match find(&r.resource_type) {
        Some(def) => match def.look {
            Some(look) => Ok(look(r, cx).await.or_else(|error| settle_look(error, &def.rules))?),
            None => Ok(Look::Clear),
        },
        None => Ok(Look::Clear),
    }
}
