//! Systems Manager: parameters.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::SSM::Parameter",
    step: |r, cx| Box::pin(parameter(r, cx)),
    look: None,
    actions: &["ssm:DeleteParameter"],
    rules: Rules {
        gone: &["ParameterNotFound"],
        retry: &[retry("ThrottlingException", 2, 120), retry("InternalServerError", 3, 60)],
        ..Rules::NONE
    },
}];

async fn parameter(r: &Resource, cx: &Cx<'_>) -> StepResult {
    same_region(&r.physical_id, cx)?;
    cx.aws.ssm().delete_parameter().name(name(r)?).send().await?;
    Ok(Step::DELETED)
}

/// The name in a recorded id that may be a name or an ARN. An ARN has one slash after `parameter` whether the name starts
/// with one or not: a name with further slashes must start with one, of the others the recorded name tells.
fn name(r: &Resource) -> Result<&str, StepError> {
    let Some(arn) = Arn::parse(&r.physical_id) else { return Ok(&r.physical_id) };
    let rooted = arn.resource.strip_prefix("parameter").filter(|name| name.len() > 1 && name.starts_with('/'));
    let rooted = rooted.ok_or_else(|| StepError::malformed_id("a parameter's name or ARN"))?;
    let bare = &rooted[1..];
    let starts_with_slash = bare.contains('/') || r.properties.get("Name").and_then(|name| name.as_str()) == Some(rooted);
    Ok(if starts_with_slash { rooted } else { bare })
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script};

    async fn deletes(physical_id: &str, name: &str) {
        let script = Script::new().json(&["AmazonSSM.DeleteParameter", &json!({ "Name": name }).to_string()], 200, json!({}));
        let mut bench = Bench::new("AWS::SSM::Parameter", physical_id, json!({ "Name": name }));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "{physical_id}");
        script.assert_done();
    }

    #[tokio::test]
    async fn a_parameter_goes_by_its_whole_name() {
        deletes("/app/stage/url", "/app/stage/url").await;
        deletes("plain", "plain").await;
        deletes("arn:aws:ssm:us-east-1:123456789012:parameter/app/stage/url", "/app/stage/url").await;
        deletes("arn:aws:ssm:us-east-1:123456789012:parameter/plain", "plain").await;
        deletes("arn:aws:ssm:us-east-1:123456789012:parameter/root", "/root").await;
    }

    #[tokio::test]
    async fn what_is_not_there_is_gone() {
        let script = Script::new().json_error(&["DeleteParameter"], "ParameterNotFound", "no");
        let mut bench = Bench::new("AWS::SSM::Parameter", "/app", json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
    }

    // Throttles of this service are HTTP 400: the code decides, and its budget ends.
    #[tokio::test]
    async fn a_throttle_passes_for_two_minutes() {
        for code in ["ThrottlingException", "InternalServerError"] {
            let script = Script::new().json_error(&["DeleteParameter"], code, "Rate exceeded").json_error(
                &["DeleteParameter"],
                code,
                "Rate exceeded",
            );
            let mut bench = Bench::new("AWS::SSM::Parameter", "/app", json!({}));
            assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })), "{code}");
            bench.pass(130);
            assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(code.to_owned()));
        }
    }

    #[tokio::test]
    async fn an_arn_of_another_region_is_refused_before_any_call() {
        let script = Script::new();
        let mut bench = Bench::new("AWS::SSM::Parameter", "arn:aws:ssm:eu-west-1:123456789012:parameter/app", json!({}));
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::WrongRegion.name()));
        let mut bench = Bench::new("AWS::SSM::Parameter", "arn:aws:ssm:us-east-1:123456789012:document/app", json!({}));
        assert!(matches!(bench.step(&script).await, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })));
    }

    #[tokio::test]
    async fn a_shut_fence_stops_the_call() {
        let script = Script::new();
        let mut bench = Bench::new("AWS::SSM::Parameter", "/app", json!({}));
        bench.fence(false);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FenceShut.name()));
        assert_eq!(script.seen(), Vec::<String>::new());
    }
}
