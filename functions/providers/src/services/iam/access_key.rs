//! Access keys.

use ebb_core::{Code, Resource, Step};

use super::name;
use crate::Cx;
use crate::call::{StepError, StepResult};

/// Without a user IAM looks among the caller's own keys, and its not-found would hide a live key: the owner is recorded, or
/// asked for when it is not, or is masked.
pub(super) async fn access_key(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let iam = cx.aws.iam();
    let key = r.physical_id.as_str();
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err(StepError::malformed_id("an access key id"));
    }
    let user = match r.address("UserName") {
        Ok(Some(user)) => name(user).to_owned(),
        Ok(None) | Err(_) => {
            let answer = iam.get_access_key_last_used().access_key_id(key).send().await?;
            answer.user_name.unwrap_or_default()
        }
    };
    if user.is_empty() {
        return Err(StepError::Skip {
            code: Code::MissingAddress,
            reason: "the access key's user is neither in state nor known to IAM: no delete issued".into(),
        });
    }
    iam.delete_access_key().user_name(user).access_key_id(key).send().await?;
    Ok(Step::DELETED)
}
