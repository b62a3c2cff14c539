//! Instances under termination protection. How they go is in `slow.rs`.

use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::json;

use super::{done, list, next, pending, seconds, wait};
use crate::testing::{Bench, Script};

const PROTECTION: &str =
    "The instance 'i-1' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.";

fn bench(remove_protection: bool) -> Bench {
    let mut bench = Bench::new("AWS::EC2::Instance", "i-1", json!({}));
    bench.run.options.remove_protection = remove_protection;
    bench
}

fn attribute(on: bool) -> String {
    format!(
        "<DescribeInstanceAttributeResponse><instanceId>i-1</instanceId><disableApiTermination><value>{on}</value>\
         </disableApiTermination></DescribeInstanceAttributeResponse>"
    )
}

fn off(script: Script) -> Script {
    script.on(&["ModifyInstanceAttribute", "DisableApiTermination.Value=false"], 200, done("ModifyInstanceAttribute"))
}

fn look(bench: &Bench, script: &Script) -> Result<Look, ebb_core::DeleteError> {
    let answer = wait(bench.look(script));
    script.assert_done();
    answer
}

#[test]
fn a_look_names_the_protection() {
    let wants = ["DescribeInstanceAttribute", "Attribute=disableApiTermination", "InstanceId=i-1"];
    let answer = look(&bench(false), &Script::new().on(&wants, 200, attribute(true)));
    assert!(matches!(answer, Ok(Look::Refuses { code: Code::Protected, .. })), "{answer:?}");
    assert_eq!(look(&bench(false), &Script::new().on(&wants, 200, attribute(false))), Ok(Look::Clear));
    let gone = Script::new().ec2_error(&wants, "InvalidInstanceID.NotFound", "no such instance");
    assert_eq!(look(&bench(false), &gone), Ok(Look::Clear));
    assert_eq!(look(&bench(true), &Script::new()), Ok(Look::Clear), "it will be switched off");
}

/// Contract 5.5: off by default.
#[test]
fn a_protected_instance_is_refused() {
    let script = Script::new().ec2_error(&["TerminateInstances"], "OperationNotPermitted", PROTECTION);
    let error = next(&mut bench(false), script).unwrap_err();
    assert_eq!(error.class, ErrorClass::Protected);
    assert!(error.message.contains("removeProtection"), "{}", error.message);
}

#[test]
fn the_protection_is_switched_off_right_before() {
    let script = off(Script::new()).on(&["TerminateInstances"], 200, done("TerminateInstances")).on(
        &["DescribeInstances"],
        200,
        list("DescribeInstances", "reservationSet", &[]),
    );
    assert_eq!(next(&mut bench(true), script), Ok(Step::DELETED));
}

/// That the switch fails does not stop the delete: AWS says whether it mattered.
#[test]
fn a_switch_that_fails_is_passed_over() {
    let script = Script::new()
        .ec2_error(&["ModifyInstanceAttribute"], "IncorrectInstanceState", "not now")
        .on(&["TerminateInstances"], 200, done("TerminateInstances"))
        .on(&["DescribeInstances"], 200, list("DescribeInstances", "reservationSet", &[]));
    assert_eq!(next(&mut bench(true), script), Ok(Step::DELETED));
}

/// The switch takes up to half a minute to count: flipped and tried again for 45 s.
#[test]
fn the_switch_may_lag() {
    let refused = || off(Script::new()).ec2_error(&["TerminateInstances"], "OperationNotPermitted", PROTECTION);
    let mut bench = bench(true);
    assert_eq!(pending(next(&mut bench, refused())).0, seconds(3));
    bench.pass(44);
    pending(next(&mut bench, refused()));
    bench.pass(1);
    assert_eq!(next(&mut bench, refused()).map_err(|e| e.class), Err(ErrorClass::Terminal));
}

#[test]
fn an_instance_in_between_is_tried_again() {
    let refused = || Script::new().ec2_error(&["TerminateInstances"], "IncorrectInstanceState", "in transition");
    let mut bench = bench(false);
    assert_eq!(pending(next(&mut bench, refused())).0, seconds(5));
    bench.pass(120);
    assert_eq!(next(&mut bench, refused()).map_err(|e| e.class), Err(ErrorClass::Terminal));
}

/// The same code also stands for instances that a service manages: no protection of ours, nothing to wait for.
#[test]
fn not_permitted_for_another_reason_is_not_retried() {
    let script = off(Script::new()).ec2_error(&["TerminateInstances"], "OperationNotPermitted", "managed by a service");
    let error = next(&mut bench(true), script).unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Protected, "managed by a service"));
}
