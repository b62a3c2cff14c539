//! Secrets Manager: secrets. They go at once, without a recovery window, and a missing one is no error then: the region
//! is checked before the call. Replicas go first.

use std::time::Duration;

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::same_region;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::SecretsManager::Secret",
    step: |r, cx| Box::pin(secret(r, cx)),
    look: None,
    actions: &["secretsmanager:DeleteSecret", "secretsmanager:DescribeSecret", "secretsmanager:RemoveRegionsFromReplication"],
    rules: Rules {
        gone: &["ResourceNotFoundException"],
        retry: &[
            retry("InternalServiceError", 3, 60),
            retry("InvalidRequestException~replica", 10, 300),
            retry("InvalidRequestException~scheduled for deletion", 5, 60),
        ],
        terminal: &["InvalidRequestException~managed by"],
        protected: &[],
    },
}];

async fn secret(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = r.physical_id.as_str();
    same_region(id, cx)?;
    let delete = cx.aws.secrets().delete_secret().secret_id(id).force_delete_without_recovery(true);
    match delete.send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if call.is(&["InvalidRequestException"]) && call.message.to_lowercase().contains("replica") => {
            remove_replicas(id, call, cx).await
        }
        Err(call) => Err(StepError::Call(call)),
    }
}

/// The regions are asked of the service: the recorded ones may be stale. Removal takes a while; with none left to
/// remove the refusal stands and is retried for a time.
async fn remove_replicas(id: &str, refusal: CallError, cx: &Cx<'_>) -> StepResult {
    let found = cx.aws.secrets().describe_secret().secret_id(id).send().await?;
    let regions: Vec<String> = found.replication_status().iter().filter_map(|r| r.region()).map(str::to_owned).collect();
    if regions.is_empty() {
        return Err(StepError::Call(refusal));
    }
    cx.fence.check().await?;
    cx.aws.secrets().remove_regions_from_replication().secret_id(id).set_remove_replica_regions(Some(regions)).send().await?;
    Ok(Step::pending(Duration::from_secs(10), "the replicas are being removed"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ebb_core::{Code, Step};
    use serde_json::json;

    use crate::testing::{Bench, Script};

    const ARN: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf";
    const TYPE: &str = "AWS::SecretsManager::Secret";
    const REPLICATED: &str = "You can't delete secret db because it has replica regions";

    #[tokio::test]
    async fn a_secret_goes_without_a_recovery_window() {
        let script =
            Script::new().json(&["secretsmanager.DeleteSecret", ARN, "\"ForceDeleteWithoutRecovery\":true"], 200, json!({}));
        assert_eq!(Bench::new(TYPE, ARN, json!({})).step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }

    // A forced delete succeeds for what it does not know: in the wrong region that would drop a live secret's record.
    #[tokio::test]
    async fn an_arn_of_another_region_is_refused_before_any_call() {
        let script = Script::new();
        let mut bench = Bench::new(TYPE, &ARN.replace("us-east-1", "eu-west-1"), json!({}));
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::WrongRegion.name()));
        assert_eq!(script.seen(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn replicas_are_removed_where_the_service_says_they_are() {
        let script = Script::new()
            .json_error(&["DeleteSecret"], "InvalidRequestException", REPLICATED)
            .json(
                &["DescribeSecret", ARN],
                200,
                json!({ "ReplicationStatus": [{ "Region": "eu-west-1" }, { "Region": "eu-west-3" }] }),
            )
            .json(&["RemoveRegionsFromReplication", "[\"eu-west-1\",\"eu-west-3\"]"], 200, json!({}))
            .json_error(&["DeleteSecret"], "InvalidRequestException", REPLICATED)
            .json(&["DescribeSecret"], 200, json!({}))
            .json(&["DeleteSecret"], 200, json!({}));
        let mut bench = Bench::new(TYPE, ARN, json!({ "ReplicaRegions": [{ "Region": "ap-south-1" }] }));
        let first = bench.step(&script).await;
        assert!(matches!(first, Ok(Step::Pending { look_again, .. }) if look_again == Duration::from_secs(10)), "{first:?}");
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }

    #[tokio::test]
    async fn replicas_that_never_go_are_final_after_five_minutes() {
        let mut script = Script::new();
        for _ in 0..2 {
            script = script.json_error(&["DeleteSecret"], "InvalidRequestException", REPLICATED).json(
                &["DescribeSecret"],
                200,
                json!({}),
            );
        }
        let mut bench = Bench::new(TYPE, ARN, json!({}));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        bench.pass(301);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err("InvalidRequestException".into()));
    }

    #[tokio::test]
    async fn what_is_not_there_is_gone_and_faults_pass() {
        let script = Script::new()
            .json_error(&["DeleteSecret"], "InternalServiceError", "")
            .json_error(&["DeleteSecret"], "InvalidRequestException", "it was marked: scheduled for deletion")
            .json_error(&["DeleteSecret"], "ResourceNotFoundException", "no");
        let mut bench = Bench::new(TYPE, ARN, json!({}));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
    }

    #[tokio::test]
    async fn a_secret_of_another_service_is_final() {
        let script = Script::new().json_error(&["DeleteSecret"], "InvalidRequestException", "the secret is managed by rds");
        let answer = Bench::new(TYPE, ARN, json!({})).step(&script).await;
        assert_eq!(answer.map_err(|e| e.message), Err("the secret is managed by rds".into()));
    }

    #[tokio::test]
    async fn a_shut_fence_stops_the_call() {
        let script = Script::new();
        let mut bench = Bench::new(TYPE, ARN, json!({}));
        bench.fence(false);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FenceShut.name()));
        assert_eq!(script.seen(), Vec::<String>::new());
    }
}
