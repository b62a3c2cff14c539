//! KMS: keys and aliases. A key is scheduled for deletion, never deleted at once: the schedule can be cancelled in its
//! window, and a key that is scheduled already counts as gone.

use ebb_core::{Resource, Step};
use serde_json::Value;

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{StepError, StepResult};
use crate::classify::{Retry, Rules, retry};
use crate::registry::TypeDef;

const FAULTS: [Retry; 2] = [retry("DependencyTimeoutException", 3, 60), retry("KMSInternalException", 3, 60)];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::KMS::Alias",
        step: |r, cx| Box::pin(alias(r, cx)),
        look: None,
        actions: &["kms:DeleteAlias"],
        rules: Rules { gone: &["NotFoundException"], retry: &FAULTS, ..Rules::NONE },
    },
    TypeDef {
        name: "AWS::KMS::Key",
        step: |r, cx| Box::pin(key(r, cx)),
        look: None,
        actions: &["kms:ScheduleKeyDeletion"],
        rules: Rules {
            gone: &[
                "NotFoundException",
                "KMSInvalidStateException~pending deletion",
                "KMSInvalidStateException~PendingDeletion",
                "KMSInvalidStateException~pending replica deletion",
                "KMSInvalidStateException~PendingReplicaDeletion",
            ],
            retry: &[FAULTS[0], FAULTS[1], retry("KMSInvalidStateException~creating", 5, 120)],
            ..Rules::NONE
        },
    },
];

/// Days that a key without a usable window of its own gets.
const WINDOW: i32 = 7;

async fn key(r: &Resource, cx: &Cx<'_>) -> StepResult {
    same_region(&r.physical_id, cx)?;
    let schedule = cx.aws.kms().schedule_key_deletion().key_id(&r.physical_id).pending_window_in_days(window(r));
    schedule.send().await?;
    Ok(Step::DELETED)
}

/// The recorded window, as number or text; what KMS would refuse, and a mask, count as not recorded.
fn window(r: &Resource) -> i32 {
    let days = match r.properties.get("PendingWindowInDays") {
        Some(Value::Number(days)) => days.as_i64().and_then(|days| i32::try_from(days).ok()),
        Some(Value::String(days)) => days.parse().ok(),
        _ => None,
    };
    days.filter(|days| (7..=30).contains(days)).unwrap_or(WINDOW)
}

/// The alias goes by itself: scheduling its key leaves it in place.
async fn alias(r: &Resource, cx: &Cx<'_>) -> StepResult {
    same_region(&r.physical_id, cx)?;
    let recorded = match Arn::parse(&r.physical_id) {
        Some(arn) => arn.resource,
        None => &r.physical_id,
    };
    let name = match recorded.strip_prefix("alias/").unwrap_or(recorded) {
        "" => return Err(StepError::malformed_id("an alias name")),
        name => format!("alias/{name}"),
    };
    cx.aws.kms().delete_alias().alias_name(name).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests {
    use ebb_core::{Code, Step};
    use serde_json::{Value, json};

    use crate::testing::{Bench, Script};

    const KEY: &str = "1234abcd-12ab-34cd-56ef-1234567890ab";

    async fn key_answers(script: &Script) -> Result<Step, String> {
        Bench::new("AWS::KMS::Key", KEY, json!({})).step(script).await.map_err(|e| e.code)
    }

    #[tokio::test]
    async fn a_key_is_scheduled_with_its_recorded_window_or_seven_days() {
        let windows: &[(Value, i32)] = &[
            (json!({}), 7),
            (json!(30), 30),
            (json!("14"), 14),
            (json!("***"), 7),
            (json!(90), 7),
            (json!(0), 7),
            (Value::Null, 7),
        ];
        for (recorded, days) in windows {
            let script =
                Script::new().json(&["ScheduleKeyDeletion", KEY, &format!("\"PendingWindowInDays\":{days}}}")], 200, json!({}));
            let mut bench = Bench::new("AWS::KMS::Key", KEY, json!({ "PendingWindowInDays": recorded }));
            assert_eq!(bench.step(&script).await, Ok(Step::DELETED), "{recorded}");
            script.assert_done();
        }
    }

    // A second attempt on a key that is scheduled fails: it is what the first one did.
    #[tokio::test]
    async fn a_key_that_is_scheduled_already_is_gone() {
        for text in ["is pending deletion.", "key state PendingDeletion", "is pending replica deletion", "PendingReplicaDeletion"]
        {
            let script = Script::new().json_error(&["ScheduleKeyDeletion"], "KMSInvalidStateException", text);
            assert_eq!(key_answers(&script).await, Ok(Step::ALREADY_GONE), "{text}");
        }
        let script = Script::new().json_error(&["ScheduleKeyDeletion"], "NotFoundException", "no such key");
        assert_eq!(key_answers(&script).await, Ok(Step::ALREADY_GONE));
    }

    #[tokio::test]
    async fn faults_and_a_key_in_the_making_pass() {
        let passing =
            [("DependencyTimeoutException", ""), ("KMSInternalException", ""), ("KMSInvalidStateException", "is Creating")];
        for (code, text) in passing {
            let script = Script::new().json_error(&["ScheduleKeyDeletion"], code, text);
            assert!(matches!(key_answers(&script).await, Ok(Step::Pending { .. })), "{code}");
        }
    }

    #[tokio::test]
    async fn other_states_and_denials_are_final() {
        for (code, text) in [("KMSInvalidStateException", "is unavailable"), ("AccessDeniedException", "key policy")] {
            let script = Script::new().json_error(&["ScheduleKeyDeletion"], code, text);
            assert_eq!(key_answers(&script).await, Err(code.to_owned()));
        }
    }

    #[tokio::test]
    async fn a_key_of_another_region_is_refused_and_a_shut_fence_stops_the_call() {
        let script = Script::new();
        let mut bench = Bench::new("AWS::KMS::Key", &format!("arn:aws:kms:eu-west-1:123456789012:key/{KEY}"), json!({}));
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::WrongRegion.name()));
        let mut bench = Bench::new("AWS::KMS::Key", KEY, json!({}));
        bench.fence(false);
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FenceShut.name()));
        assert_eq!(script.seen(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn an_alias_goes_by_its_full_name() {
        for recorded in ["alias/orders", "orders", "arn:aws:kms:us-east-1:123456789012:alias/orders"] {
            let script = Script::new().json(&["DeleteAlias", "\"AliasName\":\"alias/orders\""], 200, json!({}));
            assert_eq!(Bench::new("AWS::KMS::Alias", recorded, json!({})).step(&script).await, Ok(Step::DELETED), "{recorded}");
            script.assert_done();
        }
        let answer = Bench::new("AWS::KMS::Alias", "alias/", json!({})).step(&Script::new()).await;
        assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })));
    }

    #[tokio::test]
    async fn an_alias_that_is_not_there_is_gone_and_a_fault_passes() {
        let script = Script::new().json_error(&["DeleteAlias"], "NotFoundException", "no").json_error(
            &["DeleteAlias"],
            "KMSInternalException",
            "",
        );
        let mut bench = Bench::new("AWS::KMS::Alias", "alias/orders", json!({}));
        assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    }
}
