//! CodeCommit: repositories. The whole history goes.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::StepResult;
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::CodeCommit::Repository",
    step: |r, cx| Box::pin(repository(r, cx)),
    look: None,
    actions: &["codecommit:DeleteRepository"],
    rules: Rules {
        gone: &["RepositoryDoesNotExistException"],
        retry: &[retry("EncryptionKeyUnavailableException", 5, 60), retry("~EncryptionKeyUnavailable", 5, 60)],
        ..Rules::NONE
    },
}];

/// An unknown name succeeds, too: the answer then names no repository.
async fn repository(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let answer = cx.aws.codecommit().delete_repository().repository_name(&r.physical_id).send().await?;
    Ok(if answer.repository_id().is_some() { Step::DELETED } else { Step::ALREADY_GONE })
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, ErrorClass, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script};

    const DELETE: &[&str] = &["CodeCommit_20150413.DeleteRepository", "\"repositoryName\":\"orders\""];

    fn bench() -> Bench {
        Bench::new("AWS::CodeCommit::Repository", "orders", json!({}))
    }

    /// Silent success for an unknown name is no delete.
    #[tokio::test]
    async fn an_answer_without_a_repository_means_there_was_none() {
        let script = Script::new().json(DELETE, 200, json!({ "repositoryId": "r1" })).json(DELETE, 200, json!({})).json_error(
            DELETE,
            "RepositoryDoesNotExistException",
            "no",
        );
        assert_eq!(bench().step(&script).await, Ok(Step::DELETED));
        assert_eq!(bench().step(&script).await, Ok(Step::ALREADY_GONE));
        assert_eq!(bench().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }

    #[tokio::test]
    async fn a_repository_of_another_region_is_not_asked_for() {
        let mut elsewhere = bench();
        elsewhere.resource.region = "eu-west-1".into();
        assert_eq!(elsewhere.step(&Script::new()).await.unwrap_err().code, Code::WrongRegion.name());
    }

    #[tokio::test]
    async fn what_passes_and_what_does_not() {
        crate::testing::passes(bench, DELETE, "EncryptionKeyUnavailableException", 5, 60).await;
        for code in ["EncryptionKeyAccessDeniedException", "EncryptionKeyDisabledException", "InvalidRepositoryNameException"] {
            let error = bench().step(&Script::new().json_error(DELETE, code, "no")).await.unwrap_err();
            assert_eq!(error.class, ErrorClass::Terminal, "{code}");
        }
        let mut shut = bench();
        shut.fence(false);
        assert_eq!(shut.step(&Script::new()).await.unwrap_err().class, ErrorClass::FenceShut);
    }
}
