//! Global tables: protection off when asked, scaling targets out, replicas out one at a time, then the table, then a look
//! until it is gone. DeleteTable is refused while a replica lives.

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    BillingMode, DeleteReplicationGroupMemberAction, IndexStatus, ReplicaStatus, ReplicationGroupUpdate, TableDescription,
    TableStatus,
};
use ebb_core::{Resource, Step};
use serde_json::{Value, json};

use super::{GONE, PROTECTED, describe, name, protect, switch_off};
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::{Cx, memo, protection};

pub(super) const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        retry("ResourceInUseException~cannot delete table while indexes are being", 8, 620),
        retry("ResourceInUseException", 5, 900),
        retry("LimitExceededException", 5, 300),
        retry("InternalServerError", 3, 60),
    ],
    terminal: &[],
    protected: PROTECTED,
};

/// DeleteTable was accepted.
const ACCEPTED: &str = "accepted";
/// How many scaling targets have been asked to go.
const SCALING: &str = "scaling";

pub(super) async fn global_table(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let table = name(r, cx)?;
    let found = match describe(table, cx).await {
        Ok(found) => found,
        Err(call) if call.is(GONE) && memo::get(cx, ACCEPTED).is_some() => return Ok(Step::DELETED),
        Err(call) => return Err(StepError::Call(call)),
    };
    if found.table_status == Some(TableStatus::Deleting) {
        return Ok(Step::pending_with(
            Duration::from_secs(5),
            "the table is DELETING",
            memo::with(cx, [(ACCEPTED, json!(true))]),
        ));
    }
    if cx.run.options.remove_protection
        && let Some(step) = switch_off(&found, table, cx).await?
    {
        return Ok(step);
    }
    // Behind a protection that is still on the table stays, so its replicas and scaling stay as well: AWS refuses.
    if found.deletion_protection_enabled != Some(true) {
        if let Some(step) = scaling_out(r, table, &found, cx).await? {
            return Ok(step);
        }
        if let Some(step) = replicas_out(table, &found, cx).await? {
            return Ok(step);
        }
        if found.global_secondary_indexes().iter().any(|index| index.index_status().is_some_and(|s| *s != IndexStatus::Active)) {
            return Ok(Step::pending(Duration::from_secs(8), "an index is changing"));
        }
    }
    cx.fence.check().await?;
    match cx.aws.dynamodb().delete_table().table_name(table).send().await.map_err(CallError::from) {
        Ok(_) => {
            Ok(Step::pending_with(Duration::from_secs(5), "the table is DELETING", memo::with(cx, [(ACCEPTED, json!(true))])))
        }
        Err(call) => Err(failed(table, call, cx).await),
    }
}

async fn failed(table: &str, call: CallError, cx: &Cx<'_>) -> StepError {
    protection::failed(call, &RULES, cx, protect(table, true, cx)).await
}

/// Replicas go one per call, each once the one before is gone. The listing names them; this region's own is the table.
async fn replicas_out(table: &str, found: &TableDescription, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    let wait = |note: &'static str| Ok(Some(Step::pending(Duration::from_secs(15), note)));
    let changing = |status: Option<&ReplicaStatus>| matches!(status, Some(ReplicaStatus::Deleting | ReplicaStatus::Creating));
    let mut first = None;
    for replica in found.replicas().iter().filter(|r| r.region_name().is_some_and(|region| region != cx.aws.region())) {
        if found.table_status == Some(TableStatus::Updating) || changing(replica.replica_status()) {
            return wait("a replica is being removed");
        }
        first = first.or(replica.region_name());
    }
    let Some(first) = first else { return Ok(None) };
    let remove = DeleteReplicationGroupMemberAction::builder().region_name(first).build();
    let remove = remove.map_err(|_| StepError::missing("replica region"))?;
    cx.fence.check().await?;
    let update = cx.aws.dynamodb().update_table().table_name(table);
    let update = update.replica_updates(ReplicationGroupUpdate::builder().delete(remove).build());
    match update.send().await.map_err(CallError::from) {
        Ok(_) => wait("a replica is being removed"),
        Err(call) => Err(failed(table, call, cx).await),
    }
}

/// Scaling targets outlive the table, and a later table of the same name would inherit them. Cloud Control deregisters
/// them, and with each its policies; what fails there is logged, never the table's failure.
async fn scaling_out(r: &Resource, table: &str, found: &TableDescription, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    let mode = found.billing_mode_summary().and_then(|summary| summary.billing_mode());
    if mode == Some(&BillingMode::PayPerRequest) {
        return Ok(None);
    }
    let targets = targets(table, found, cx.aws.region());
    let done = memo::get(cx, SCALING).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    if done >= targets.len() {
        return Ok(None);
    }
    for (n, (region, identifier)) in targets.iter().enumerate().skip(done) {
        cx.fence.check().await?;
        let elsewhere = (region != cx.aws.region()).then(|| cx.aws.in_region(region));
        let cloudcontrol = elsewhere.as_deref().unwrap_or(cx.aws).cloudcontrol();
        let delete =
            cloudcontrol.delete_resource().type_name("AWS::ApplicationAutoScaling::ScalableTarget").identifier(identifier);
        let delete = delete.client_token(cx.ctx.token(r, &format!("{region} {identifier}")));
        match delete.send().await.map_err(CallError::from) {
            Err(call) if call.fence_shut => return Err(StepError::Call(call)),
            Err(call) if !call.is(GONE) => tracing::warn!(code = call.code, "a scaling target of the table stays"),
            _ => {}
        }
        if !cx.has_time() {
            let memo = memo::with(cx, [(SCALING, json!(n + 1))]);
            return Ok(Some(Step::pending_with(Duration::ZERO, "scaling targets are being removed", memo)));
        }
    }
    let memo = memo::with(cx, [(SCALING, json!(targets.len()))]);
    Ok(Some(Step::pending_with(Duration::from_secs(1), "scaling targets were removed", memo)))
}

/// Region and Cloud Control identifier of every scaling target that the table can have: reads and writes of table and
/// indexes here, reads in the regions of replicas.
fn targets(table: &str, found: &TableDescription, here: &str) -> Vec<(String, String)> {
    let mut scaled = vec![(format!("table/{table}"), "table")];
    let indexes = found.global_secondary_indexes().iter().filter_map(|index| index.index_name());
    scaled.extend(indexes.map(|index| (format!("table/{table}/index/{index}"), "index")));
    let regions = found.replicas().iter().filter_map(|replica| replica.region_name()).filter(|region| *region != here);
    let of = |region: &str, units: &str| {
        let target =
            |(id, kind): &(String, &str)| (region.to_owned(), format!("{id}|dynamodb:{kind}:{units}CapacityUnits|dynamodb"));
        scaled.iter().map(target).collect::<Vec<_>>()
    };
    let mut targets = [of(here, "Read"), of(here, "Write")].concat();
    for region in regions {
        targets.extend(of(region, "Read"));
    }
    targets
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, ErrorClass, Look, Step};
    use serde_json::{Value, json};

    use crate::testing::{Bench, Script};

    const DESCRIBE: &[&str] = &["DescribeTable", "\"TableName\":\"orders\""];
    const DELETE: &[&str] = &["DeleteTable", "\"TableName\":\"orders\""];
    const REMOVE: &[&str] = &["UpdateTable", "\"ReplicaUpdates\":[{\"Delete\""];

    fn table() -> Bench {
        Bench::new("AWS::DynamoDB::GlobalTable", "orders", json!({}))
    }

    fn unprotecting() -> Bench {
        let mut bench = table();
        bench.run.options.remove_protection = true;
        bench
    }

    /// Billed per request, with replicas `region status`; this region lists itself too.
    fn described(status: &str, replicas: &[&str]) -> Value {
        let replicas: Vec<Value> = ["us-east-1 ACTIVE"]
            .iter()
            .chain(replicas)
            .filter_map(|replica| replica.split_once(' '))
            .map(|(region, status)| json!({ "RegionName": region, "ReplicaStatus": status }))
            .collect();
        let billing = json!({ "BillingMode": "PAY_PER_REQUEST" });
        json!({ "Table": { "TableName": "orders", "TableStatus": status, "Replicas": replicas, "BillingModeSummary": billing } })
    }

    fn with(mut table: Value, key: &str, value: Value) -> Value {
        table["Table"][key] = value;
        table
    }

    fn is_pending(step: &Result<Step, ebb_core::DeleteError>) -> bool {
        matches!(step, Ok(Step::Pending { .. }))
    }

    #[tokio::test]
    async fn replicas_go_one_at_a_time_then_the_table_and_then_it_is_looked_for() {
        let script = Script::new()
            .json(DESCRIBE, 200, described("ACTIVE", &["eu-west-1 ACTIVE", "eu-west-3 ACTIVE"]))
            .json(&[REMOVE, &["eu-west-1"]].concat(), 200, json!({}))
            .json(DESCRIBE, 200, described("ACTIVE", &["eu-west-1 DELETING", "eu-west-3 ACTIVE"]))
            .json(DESCRIBE, 200, described("UPDATING", &["eu-west-3 ACTIVE"]))
            .json(DESCRIBE, 200, described("ACTIVE", &["eu-west-3 ACTIVE"]))
            .json(&[REMOVE, &["eu-west-3"]].concat(), 200, json!({}))
            .json(DESCRIBE, 200, described("ACTIVE", &[]))
            .json(DELETE, 200, json!({}))
            .json(DESCRIBE, 200, described("DELETING", &[]))
            .json_error(DESCRIBE, "ResourceNotFoundException", "no");
        let mut bench = table();
        for _ in 0..6 {
            assert!(is_pending(&bench.step(&script).await));
        }
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }

    #[tokio::test]
    async fn what_is_not_there_is_gone() {
        let script = Script::new().json_error(DESCRIBE, "ResourceNotFoundException", "no");
        assert_eq!(table().step(&script).await, Ok(Step::ALREADY_GONE));
    }

    #[tokio::test]
    async fn an_index_that_changes_is_waited_for() {
        let indexes = json!([{ "IndexName": "by-day", "IndexStatus": "UPDATING" }]);
        let script = Script::new().json(DESCRIBE, 200, with(described("ACTIVE", &[]), "GlobalSecondaryIndexes", indexes));
        assert!(is_pending(&table().step(&script).await));
        script.assert_done();
    }

    #[tokio::test]
    async fn passing_errors_pass_within_their_budgets() {
        let busy = "Cannot delete table while indexes are being created, updated, or deleted";
        let passing = [
            ("ResourceInUseException", busy, 620),
            ("ResourceInUseException", "being updated", 900),
            ("LimitExceededException", "", 300),
            ("InternalServerError", "", 60),
        ];
        for (code, text, budget) in passing {
            let mut script = Script::new();
            for _ in 0..2 {
                script = script.json(DESCRIBE, 200, described("ACTIVE", &[])).json_error(DELETE, code, text);
            }
            let mut bench = table();
            assert!(is_pending(&bench.step(&script).await), "{code}");
            bench.pass(budget);
            assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(code.to_owned()));
        }
    }

    // They outlive the table: a later one of its name would inherit them.
    #[tokio::test]
    async fn scaling_targets_of_a_provisioned_table_go_first_and_only_once() {
        let mut provisioned = described("ACTIVE", &["eu-west-1 ACTIVE"]);
        provisioned["Table"]["BillingModeSummary"] = json!({ "BillingMode": "PROVISIONED" });
        provisioned["Table"]["GlobalSecondaryIndexes"] = json!([{ "IndexName": "by-day", "IndexStatus": "ACTIVE" }]);
        let target = |region: &str, target: &str| {
            [format!("cloudcontrolapi.{region}."), "ScalableTarget".to_owned(), format!("\"{target}|dynamodb\"")]
        };
        let expected = [
            target("us-east-1", "table/orders|dynamodb:table:ReadCapacityUnits"),
            target("us-east-1", "table/orders/index/by-day|dynamodb:index:ReadCapacityUnits"),
            target("us-east-1", "table/orders|dynamodb:table:WriteCapacityUnits"),
            target("us-east-1", "table/orders/index/by-day|dynamodb:index:WriteCapacityUnits"),
            target("eu-west-1", "table/orders|dynamodb:table:ReadCapacityUnits"),
            target("eu-west-1", "table/orders/index/by-day|dynamodb:index:ReadCapacityUnits"),
        ];
        let wants: Vec<Vec<&str>> = expected.iter().map(|wants| wants.iter().map(String::as_str).collect()).collect();
        // The step runs out of time after each call, and a target that stays does not stop it.
        let mut script = Script::new();
        for wants in &wants {
            script = script.json(DESCRIBE, 200, provisioned.clone()).json_error(wants, "AccessDeniedException", "no");
        }
        let script = script.json(DESCRIBE, 200, provisioned).json(&[REMOVE, &["eu-west-1"]].concat(), 200, json!({}));
        let mut bench = table();
        bench.soft_budget = 0;
        for _ in 0..7 {
            assert!(is_pending(&bench.step(&script).await));
        }
        script.assert_done();
    }

    // Nothing of a table that stays is touched: not its replicas, not its scaling.
    #[tokio::test]
    async fn a_protected_table_stays_whole_unless_asked() {
        let mut protected = with(described("ACTIVE", &["eu-west-1 ACTIVE"]), "DeletionProtectionEnabled", json!(true));
        protected["Table"]["BillingModeSummary"] = json!({ "BillingMode": "PROVISIONED" });
        let script = Script::new()
            .json(DESCRIBE, 200, protected.clone())
            .json_error(DELETE, "ValidationException", "protected against deletion")
            .json(DESCRIBE, 200, protected.clone());
        let error = table().step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
        assert!(matches!(table().look(&script).await, Ok(Look::Refuses { code: Code::Protected, .. })));
        assert_eq!(unprotecting().look(&script).await, Ok(Look::Clear));
        script.assert_done();

        let script = Script::new()
            .json(DESCRIBE, 200, protected.clone())
            .json(DESCRIBE, 200, protected)
            .json_error(&["UpdateTable", "\"DeletionProtectionEnabled\":false"], "AccessDeniedException", "no")
            .json_error(DELETE, "ValidationException", "protected against deletion")
            .json(&["UpdateTable", "\"DeletionProtectionEnabled\":true"], 200, json!({}));
        let mut bench = unprotecting();
        assert!(is_pending(&bench.step(&script).await));
        assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::Protected));
        script.assert_done();
    }

    // What was on before stays known through all that is remembered after it.
    #[tokio::test]
    async fn protection_is_put_back_when_a_replica_or_the_table_stays_for_good() {
        let protected = with(described("ACTIVE", &["eu-west-1 ACTIVE"]), "DeletionProtectionEnabled", json!(true));
        let flips = || {
            Script::new().json(DESCRIBE, 200, protected.clone()).json(DESCRIBE, 200, protected.clone()).json(
                &["UpdateTable", "\"DeletionProtectionEnabled\":false"],
                200,
                json!({}),
            )
        };
        let on = &["UpdateTable", "\"DeletionProtectionEnabled\":true"];
        let script = flips()
            .json(DESCRIBE, 200, described("ACTIVE", &["eu-west-1 ACTIVE"]))
            .json_error(REMOVE, "AccessDeniedException", "no")
            .json(on, 200, json!({}));
        let mut bench = unprotecting();
        for _ in 0..2 {
            assert!(is_pending(&bench.step(&script).await));
        }
        assert_eq!(bench.step(&script).await.map_err(|e| e.message), Err("no (deletion protection is on again)".into()));
        script.assert_done();

        let mut provisioned = described("ACTIVE", &[]);
        provisioned["Table"]["BillingModeSummary"] = Value::Null;
        let script = flips()
            .json(DESCRIBE, 200, provisioned.clone())
            .json(&["DeleteResource"], 200, json!({}))
            .json(&["DeleteResource"], 200, json!({}))
            .json(DESCRIBE, 200, provisioned)
            .json_error(DELETE, "AccessDeniedException", "no")
            .json(on, 200, json!({}));
        let mut bench = unprotecting();
        for _ in 0..3 {
            assert!(is_pending(&bench.step(&script).await));
        }
        assert!(bench.step(&script).await.is_err());
        script.assert_done();
    }

    #[tokio::test]
    async fn a_shut_fence_changes_nothing() {
        for found in [
            described("ACTIVE", &[]),
            described("ACTIVE", &["eu-west-1 ACTIVE"]),
            json!({ "Table": { "TableStatus": "ACTIVE" } }),
        ] {
            let script = Script::new().json(DESCRIBE, 200, found);
            let mut bench = table();
            bench.fence(false);
            assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
            script.assert_done();
        }
    }
}
