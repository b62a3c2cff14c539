//! CodeBuild. A delete of a project that is not there succeeds too; running builds go on.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::name_of;
use crate::call::StepResult;
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::CodeBuild::Project",
    step: |r, cx| Box::pin(project(r, cx)),
    look: None,
    actions: &["codebuild:DeleteProject"],
    rules: Rules { gone: &["ResourceNotFoundException"], retry: &[retry("ThrottlingException", 2, 60)], ..Rules::NONE },
}];

async fn project(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.codebuild().delete_project().name(name_of(r, "project/", cx)?).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, ErrorClass, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script, assert_fenced};

    fn project(id: &str) -> Bench {
        Bench::new("AWS::CodeBuild::Project", id, json!({}))
    }

    const DELETE: &[&str] = &["DeleteProject", "\"name\":\"web\""];

    #[tokio::test]
    async fn one_call_deletes_it() {
        for id in ["web", "arn:aws:codebuild:us-east-1:123456789012:project/web"] {
            let script = Script::new().json(DELETE, 200, json!({})).json_error(DELETE, "ResourceNotFoundException", "no");
            let mut bench = project(id);
            assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
            assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
            script.assert_done();
        }
    }

    /// An unknown project also succeeds, so a call to the wrong region would drop the record of a live one.
    #[tokio::test]
    async fn what_is_not_addressed_makes_no_call() {
        let script = Script::new();
        let elsewhere = project("arn:aws:codebuild:eu-west-1:123456789012:project/web").step(&script).await;
        assert_eq!(elsewhere.map_err(|e| e.code), Err(Code::WrongRegion.name()));
        for (id, code) in [
            ("", Code::MalformedPhysicalId),
            ("arn:aws:codebuild:us-east-1:123456789012:fleet/web", Code::MalformedPhysicalId),
            ("arn:aws:codebuild:us-east-1:123456789012:project/", Code::MalformedPhysicalId),
            ("***", Code::MaskedAddress),
        ] {
            let answer = project(id).step(&script).await;
            assert!(matches!(&answer, Ok(Step::Skipped { code: c, .. }) if *c == code), "{id}: {answer:?}");
        }
        assert_eq!(script.seen(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_throttle_passes_within_a_minute() {
        let throttled = || Script::new().json_error(DELETE, "ThrottlingException", "slow down");
        let mut bench = project("web");
        assert!(matches!(bench.step(&throttled()).await, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 2));
        bench.pass(60);
        assert_eq!(bench.step(&throttled()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    }

    #[tokio::test]
    async fn bad_input_denials_and_a_shut_fence_end_the_step() {
        for (code, class) in [("InvalidInputException", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
            let script = Script::new().json_error(DELETE, code, "no");
            assert_eq!(project("web").step(&script).await.map_err(|e| e.class), Err(class));
        }
        assert_fenced(project("web"), Script::new()).await;
    }
}
