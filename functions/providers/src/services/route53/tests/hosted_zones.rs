use ebb_core::{Code, DeleteError, ErrorClass, Step};
use serde_json::json;

use super::{CHANGE, CHANGED, LIST, apex, odd_refusal, page, record, set};
use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

pub(super) const GET: &[&str] = &["GET ", "/hostedzone/Z1 "];
const DELETE: &[&str] = &["DELETE ", "/hostedzone/Z1 "];
const DELETED: &str = "<DeleteHostedZoneResponse><ChangeInfo><Id>C</Id><Status>PENDING</Status>\
                       <SubmittedAt>2026-11-30T00:00:00Z</SubmittedAt></ChangeInfo></DeleteHostedZoneResponse>";
const LOGS: &[&str] = &["GET ", "/queryloggingconfig?hostedzoneid=Z1"];
const DNSSEC: &[&str] = &["GET ", "/hostedzone/Z1/dnssec"];
const FEATURES: &[&str] = &["POST ", "/hostedzone/Z1/features", "<EnableAcceleratedRecovery>false</EnableAcceleratedRecovery>"];

pub(super) fn bench() -> Bench {
    Bench::new("AWS::Route53::HostedZone", "Z1", json!({}))
}

pub(super) fn emptying() -> Bench {
    let mut bench = bench();
    bench.run.options.delete_data = true;
    bench
}

/// The zone as GetHostedZone answers it.
pub(super) fn zone(more: &str) -> String {
    format!(
        "<GetHostedZoneResponse><HostedZone><Id>/hostedzone/Z1</Id><Name>example.com.</Name><CallerReference>c</CallerReference>\
         {more}</HostedZone></GetHostedZoneResponse>"
    )
}

fn recovery(status: &str) -> String {
    zone(&format!("<Features><AcceleratedRecoveryStatus>{status}</AcceleratedRecoveryStatus></Features>"))
}

fn dnssec(status: &str) -> String {
    format!("<GetDNSSECResponse><Status><ServeSignature>{status}</ServeSignature></Status></GetDNSSECResponse>")
}

/// An unsigned zone that holds `sets`, up to their deletes.
fn holding(sets: &[String], next: Option<(&str, &str)>) -> Script {
    Script::new().on(GET, 200, zone("")).on(LIST, 200, page(sets, next)).on(DNSSEC, 200, dnssec("NOT_SIGNING"))
}

fn configs(configs: &[(&str, &str)]) -> String {
    let config = |(id, zone): &(&str, &str)| {
        format!("<QueryLoggingConfig><Id>{id}</Id><HostedZoneId>{zone}</HostedZoneId></QueryLoggingConfig>")
    };
    let configs: String = configs.iter().map(config).collect();
    format!(
        "<ListQueryLoggingConfigsResponse><QueryLoggingConfigs>{configs}</QueryLoggingConfigs></ListQueryLoggingConfigsResponse>"
    )
}

/// A zone with nothing in it, up to the delete.
fn empty() -> Script {
    Script::new().on(GET, 200, zone("")).on(LIST, 200, page(&apex(), None)).on(LOGS, 200, configs(&[]))
}

fn foreign() -> [String; 4] {
    let [ns, soa] = apex();
    [ns, soa, record("_x.example.com.", "CNAME", "_y.acm-validations.aws."), record("sub.example.com.", "NS", "ns.other.")]
}

#[track_caller]
fn pending_for(answer: Result<Step, DeleteError>, seconds: u64) {
    assert!(matches!(&answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == seconds), "{answer:?}");
}

#[tokio::test]
async fn an_empty_zone_goes() {
    for id in ["Z1", "/hostedzone/Z1"] {
        let script = empty().on(DELETE, 200, DELETED);
        assert_eq!(Bench::new("AWS::Route53::HostedZone", id, json!({})).step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn a_zone_that_is_not_there_is_gone() {
    let script = Script::new().query_error(GET, "NoSuchHostedZone", "no");
    assert_eq!(bench().step(&script).await, Ok(Step::ALREADY_GONE));
    assert_eq!(bench().step(&empty().query_error(DELETE, "NoSuchHostedZone", "no")).await, Ok(Step::ALREADY_GONE));
}

/// Nothing of the zone is changed: neither its records nor its query logs.
#[tokio::test]
async fn foreign_records_stay_without_consent_and_are_named() {
    let script = Script::new().on(GET, 200, zone("")).on(LIST, 200, page(&foreign(), None));
    let error = bench().step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::DataGuard.name()));
    let names = "(CNAME _x.example.com., NS sub.example.com.)";
    assert!(error.message.contains(names) && error.message.contains("deleteData"), "{}", error.message);
    script.assert_done();

    let many: Vec<String> = (0..7).map(|n| record(&format!("r{n}.example.com."), "A", "10.0.0.1")).collect();
    let script = Script::new().on(GET, 200, zone("")).on(LIST, 200, page(&many, None));
    let message = bench().step(&script).await.unwrap_err().message;
    assert!(message.contains("A r4.example.com. and 2 more") && !message.contains("10.0.0.1"), "{message}");
}

#[tokio::test]
async fn with_consent_everything_goes_but_the_zones_own_records() {
    let script = holding(&foreign(), None)
        .on(CHANGE, 200, CHANGED)
        .on(LIST, 200, page(&apex(), None))
        .on(LOGS, 200, configs(&[]))
        .on(DELETE, 200, DELETED);
    assert_eq!(emptying().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    let batch = &script.seen()[3];
    assert_eq!(batch.matches("<Change>").count(), 2);
    for (sent, name) in [(true, "_x.example.com."), (true, "sub.example.com."), (false, "example.com.")] {
        assert_eq!(batch.contains(&format!("<Name>{name}</Name>")), sent, "{name}");
    }
}

#[tokio::test]
async fn a_large_zone_takes_many_steps() {
    let mut bench = emptying();
    bench.soft_budget = 0;
    for n in 0..3 {
        let more = Some(("next.example.com.", "A"));
        let sets = [apex().to_vec(), vec![record(&format!("r{n}.example.com."), "A", "10.0.0.1")]].concat();
        let script = holding(&sets, more).on(CHANGE, 200, CHANGED);
        pending_for(bench.step(&script).await, 0);
        script.assert_done();
    }
    assert_eq!(bench.step(&empty().on(DELETE, 200, DELETED)).await, Ok(Step::DELETED));
}

/// Record deletes of a moment ago, or one that somebody made since the list was read.
#[tokio::test]
async fn a_zone_that_is_not_empty_yet_waits() {
    let script = || empty().query_error(DELETE, "HostedZoneNotEmpty", "not empty").on(DNSSEC, 200, dnssec("NOT_SIGNING"));
    assert_passes(bench(), script, 5, 120).await;
    let unknown = || empty().query_error(DELETE, "HostedZoneNotEmpty", "no").query_error(DNSSEC, "AccessDenied", "no");
    assert_passes(bench(), unknown, 5, 120).await;
}

/// The same code, but no record is to blame and no waiting helps.
#[tokio::test]
async fn signing_is_told_apart_from_records_that_are_left() {
    let script = empty().query_error(DELETE, "HostedZoneNotEmpty", "not empty").on(DNSSEC, 200, dnssec("SIGNING"));
    let error = bench().step(&script).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Terminal);
    assert!(error.message.starts_with("DNSSEC signing"), "{}", error.message);
    script.assert_done();
}

/// The zone would stay, without its records.
#[tokio::test]
async fn a_signed_zone_is_refused_before_its_records_go() {
    let script =
        Script::new().on(GET, 200, recovery("ENABLED")).on(LIST, 200, page(&foreign(), None)).on(DNSSEC, 200, dnssec("SIGNING"));
    let error = emptying().next(script).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::DataGuard.name()));
    assert!(error.message.starts_with("DNSSEC signing"), "{}", error.message);
}

fn text_record(name: &str, values: usize, length: usize) -> String {
    let value = format!("<ResourceRecord><Value>{}</Value></ResourceRecord>", "é".repeat(length));
    set(name, "TXT", &format!("<TTL>300</TTL><ResourceRecords>{}</ResourceRecords>", value.repeat(values)))
}

/// A request takes 1,000 resource records and 32,000 characters of values (API reference, ChangeResourceRecordSets).
#[tokio::test]
async fn records_go_in_batches_that_one_request_takes() {
    let named = |n: usize| format!("r{n}.example.com.");
    for (values, length, sets, expected) in [
        (400, 1, 5, vec![2, 2, 1]),
        (500, 1, 2, vec![2]),
        (501, 1, 2, vec![1, 1]),
        (1, 16_000, 3, vec![2, 1]),
        (1, 16_001, 2, vec![1, 1]),
        (1, 32_001, 2, vec![1, 1]),
    ] {
        let sets: Vec<String> = (0..sets).map(|n| text_record(&named(n), values, length)).collect();
        let script = expected.iter().fold(holding(&sets, None), |script, _| script.on(CHANGE, 200, CHANGED));
        let script = script.on(LIST, 200, page(&apex(), None)).on(LOGS, 200, configs(&[])).on(DELETE, 200, DELETED);
        assert_eq!(emptying().step(&script).await, Ok(Step::DELETED));
        script.assert_done();
        let seen = script.seen();
        let sent: Vec<usize> = seen.iter().map(|call| call.matches("<Change>").count()).filter(|n| *n > 0).collect();
        assert_eq!(sent, expected, "{values} x {length}");
    }
}

#[tokio::test]
async fn between_two_batches_time_and_fence_are_asked() {
    let sets = [text_record("a.example.com.", 1000, 1), text_record("b.example.com.", 1, 1)];
    let one = || holding(&sets, None).on(CHANGE, 200, CHANGED);
    let mut late = emptying();
    late.soft_budget = 0;
    pending_for(late.next(one()).await, 0);
    let mut fenced = emptying();
    fenced.shut_after(1);
    assert_eq!(fenced.next(one()).await.unwrap_err().class, ErrorClass::FenceShut);
}

#[tokio::test]
async fn a_zone_of_cloud_map_is_left_to_it() {
    let linked = "<LinkedService><ServicePrincipal>servicediscovery.amazonaws.com</ServicePrincipal></LinkedService>";
    let script = Script::new().on(GET, 200, zone(linked));
    let error = emptying().step(&script).await.unwrap_err();
    assert_eq!(error.code, Code::DataGuard.name());
    assert!(error.message.contains("managed by servicediscovery.amazonaws.com"), "{}", error.message);
    script.assert_done();
}

#[tokio::test]
async fn accelerated_recovery_is_switched_off_and_waited_for() {
    let at = |status: &str| Script::new().on(GET, 200, recovery(status)).on(LIST, 200, page(&apex(), None));
    let mut bench = bench();
    pending_for(bench.step(&at("ENABLING")).await, 15);
    let off = at("ENABLED").on(FEATURES, 200, "<UpdateHostedZoneFeaturesResponse/>");
    pending_for(bench.step(&off).await, 15);
    off.assert_done();
    for status in ["DISABLING", "DISABLING_HOSTED_ZONE_LOCKED", "ENABLING_HOSTED_ZONE_LOCKED"] {
        pending_for(bench.step(&at(status)).await, 15);
    }
    let script = at("DISABLED").on(LOGS, 200, configs(&[])).on(DELETE, 200, DELETED);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn accelerated_recovery_that_does_not_end_or_failed_needs_a_person() {
    let at = |status: &str| Script::new().on(GET, 200, recovery(status)).on(LIST, 200, page(&apex(), None));
    assert_passes(bench(), || at("DISABLING"), 15, 600).await;
    for status in ["ENABLE_FAILED", "DISABLE_FAILED"] {
        let error = bench().step(&at(status)).await.unwrap_err();
        assert!(error.class == ErrorClass::Terminal && error.message.contains(status), "{error}");
    }
}

/// Those of this zone; that they cannot be listed or stopped keeps nothing.
#[tokio::test]
async fn query_logs_stop_before_the_zone_goes() {
    let script = Script::new()
        .on(GET, 200, zone(""))
        .on(LIST, 200, page(&apex(), None))
        .on(LOGS, 200, configs(&[("q1", "Z1"), ("q2", "Z2"), ("q3", "/hostedzone/Z1")]))
        .on(&["DELETE ", "/queryloggingconfig/q1 "], 200, "<DeleteQueryLoggingConfigResponse/>")
        .query_error(&["DELETE ", "/queryloggingconfig/q3 "], "ConcurrentModification", "busy")
        .on(DELETE, 200, DELETED);
    assert_eq!(bench().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    let script = Script::new()
        .on(GET, 200, zone(""))
        .on(LIST, 200, page(&apex(), None))
        .query_error(LOGS, "AccessDenied", "no")
        .on(DELETE, 200, DELETED);
    assert_eq!(bench().step(&script).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    for (code, message, wait, give_up) in [
        ("PriorRequestNotComplete", "busy", 3, 120),
        ("Throttling", "Rate exceeded", 2, 120),
        ("InvalidInput", "The hosted zone is marked disabled for mutation", 15, 600),
    ] {
        assert_passes(bench(), || empty().query_error(DELETE, code, message), wait, give_up).await;
        let emptied = || holding(&foreign(), None).query_error(CHANGE, code, message);
        assert_passes(emptying(), emptied, wait, give_up).await;
    }
    let error = bench().step(&empty().query_error(DELETE, "InvalidInput", "bad")).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Terminal);
}

/// Somebody deleted or edited a record since the zone was listed; a record's not-found is not the zone's.
#[tokio::test]
async fn a_batch_that_is_out_of_date_is_read_again() {
    for message in ["but it was not found", "but the values provided do not match the current values"] {
        let usual = || holding(&foreign(), None).query_error(CHANGE, "InvalidChangeBatch", message);
        assert_passes(emptying(), usual, 1, 60).await;
        assert_passes(emptying(), || odd_refusal(holding(&foreign(), None), message), 1, 60).await;
    }
    let apex = "A HostedZone must contain exactly one SOA record.";
    let script = holding(&foreign(), None).query_error(CHANGE, "InvalidChangeBatch", apex);
    assert_eq!(emptying().next(script).await.unwrap_err().class, ErrorClass::Terminal);
}

#[tokio::test]
async fn a_shut_fence_or_an_odd_id_changes_nothing() {
    assert_fenced(bench(), empty()).await;
    assert_fenced(emptying(), holding(&foreign(), None)).await;
    let enabled = Script::new().on(GET, 200, recovery("ENABLED")).on(LIST, 200, page(&apex(), None));
    assert_fenced(bench(), enabled).await;
    for (id, code) in [("", Code::MalformedPhysicalId), ("/hostedzone/", Code::MalformedPhysicalId), ("***", Code::MaskedAddress)]
    {
        assert_not_addressed(Bench::new("AWS::Route53::HostedZone", id, json!({})), code).await;
    }
}
