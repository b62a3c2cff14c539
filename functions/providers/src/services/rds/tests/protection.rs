//! Deletion protection of clusters, and of instances of RDS and Neptune.

use ebb_core::{Code, ErrorClass, Look};

use super::*;
use crate::testing::pending;

const REFUSAL: &str = "Cannot delete protected Cluster, please disable deletion protection and try again.";

fn protected() -> impl Iterator<Item = Bench> {
    databases().filter(|bench| bench.resource.resource_type != "AWS::DocDB::DBInstance")
}

fn unprotecting() -> impl Iterator<Item = Bench> {
    protected().map(|mut bench| {
        bench.run.options.remove_protection = true;
        bench
    })
}

/// Up to a protection that this run has switched off.
async fn switched_off(bench: &mut Bench) {
    let script = look(Script::new(), bench, Some("available"), PROTECTED);
    assert_eq!(pending(bench.next(script).await).0, 0, "that it was on is remembered first");
    let script = switch(look(Script::new(), bench, Some("available"), PROTECTED), bench, false);
    pending(bench.next(script).await);
}

#[tokio::test]
async fn a_protected_database_stays_unless_asked() {
    for mut bench in protected() {
        let script = look(Script::new(), &bench, Some("available"), PROTECTED);
        let error = bench.next(script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
        assert!(error.message.contains("removeProtection"), "{}", error.message);
        // It was switched on between the look and the delete.
        let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, "InvalidParameterCombination", REFUSAL);
        let error = bench.next(script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
        assert!(error.message.contains("removeProtection") && error.message.contains(REFUSAL), "{}", error.message);
    }
}

#[tokio::test]
async fn a_look_names_the_protection() {
    for mut bench in protected() {
        for (status, more, clear) in [
            (Some("available"), PROTECTED, false),
            (Some("available"), "", true),
            (Some("deleting"), PROTECTED, true),
            (None, "", true),
        ] {
            let script = look(Script::new(), &bench, status, more);
            match bench.look(&script).await {
                Ok(Look::Refuses { code: Code::Protected, reason }) => assert!(!clear && reason.contains("removeProtection")),
                answer => assert_eq!((answer, clear), (Ok(Look::Clear), true)),
            }
            script.assert_done();
        }
        bench.run.options.remove_protection = true;
        assert_eq!(bench.look(&Script::new()).await, Ok(Look::Clear));
    }
}

#[tokio::test]
async fn protection_is_remembered_switched_off_and_the_database_deleted() {
    for mut bench in unprotecting() {
        switched_off(&mut bench).await;
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
        assert_eq!(pending(bench.next(script).await).0, 30);
    }
}

#[tokio::test]
async fn one_without_protection_is_not_switched() {
    for mut bench in unprotecting() {
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
        pending(bench.next(script).await);
    }
}

#[tokio::test]
async fn a_delete_that_fails_for_good_puts_the_protection_back() {
    for mut bench in unprotecting() {
        switched_off(&mut bench).await;
        let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, "AccessDenied", "no");
        let script = switch(script, &bench, true);
        let error = bench.next(script).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.message.as_str()), ("AccessDenied", "no (deletion protection is on again)"));

        let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, "SnapshotQuotaExceeded", "no");
        let script = script.query_error(&wants(&call(&bench, "Modify", &["DeletionProtection=true"])), "AccessDenied", "");
        let message = bench.next(script).await.unwrap_err().message;
        assert!(message.contains("could not be switched on again: AccessDenied"), "{message}");
    }
}

/// Not for what passes, not at the end of a budget.
#[tokio::test]
async fn protection_stays_off_while_the_delete_may_still_work() {
    for mut bench in unprotecting() {
        switched_off(&mut bench).await;
        let busy = words(&bench).busy;
        for seconds in [0, 3599] {
            bench.pass(seconds);
            let script = refuse(look(Script::new(), &bench, Some("modifying"), ""), &bench, busy, "modifying");
            let _ = bench.next(script).await;
        }
        bench.pass(1);
        let script = refuse(look(Script::new(), &bench, Some("modifying"), ""), &bench, busy, "modifying");
        let error = bench.next(script).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, busy));
    }
}

#[tokio::test]
async fn nothing_is_put_back_after_an_accepted_delete() {
    for mut bench in unprotecting() {
        switched_off(&mut bench).await;
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
        pending(bench.next(script).await);
        let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, "AccessDenied", "no");
        assert_eq!(bench.next(script).await.map_err(|e| e.message), Err("no".into()));
    }
}

#[tokio::test]
async fn one_that_was_off_before_is_not_switched_on() {
    for mut bench in unprotecting() {
        let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, "AccessDenied", "no");
        assert_eq!(bench.next(script).await.map_err(|e| e.message), Err("no".into()));
    }
}

/// A database that is being changed takes no other change yet, however long that lasts.
#[tokio::test]
async fn a_switch_that_has_to_wait_is_tried_again() {
    for mut bench in unprotecting() {
        let script = look(Script::new(), &bench, Some("modifying"), PROTECTED);
        pending(bench.next(script).await);
        for _ in 0..2 {
            bench.pass(300);
            let script = look(Script::new(), &bench, Some("modifying"), PROTECTED);
            let script = script.query_error(&wants(&call(&bench, "Modify", &[])), words(&bench).busy, "modifying");
            assert!(pending(bench.next(script).await).1.starts_with(words(&bench).busy));
        }
        // It is off, and what AWS describes lags.
        let script = switch(look(Script::new(), &bench, Some("available"), PROTECTED), &bench, false);
        let script = delete(script, &bench, &[]);
        pending(bench.next(script).await);
    }
}

#[tokio::test]
async fn a_switch_that_is_denied_is_left_to_the_delete() {
    for mut bench in unprotecting() {
        let script = look(Script::new(), &bench, Some("available"), PROTECTED);
        pending(bench.next(script).await);
        let script = look(Script::new(), &bench, Some("available"), PROTECTED);
        let script = script.query_error(&wants(&call(&bench, "Modify", &["DeletionProtection=false"])), "AccessDenied", "no");
        let script = refuse(script, &bench, "InvalidParameterCombination", REFUSAL);
        let script = switch(script, &bench, true);
        let error = bench.next(script).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Protected, "InvalidParameterCombination"));
    }
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_switched() {
    for mut bench in unprotecting() {
        let script = look(Script::new(), &bench, Some("available"), PROTECTED);
        pending(bench.next(script).await);
        bench.fence(false);
        let script = look(Script::new(), &bench, Some("available"), PROTECTED);
        assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    }
}
