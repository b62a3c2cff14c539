use ebb_core::{Code, DeleteError, ErrorClass, Step};
use serde_json::json;

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const TYPE: &str = "AWS::CloudFront::Distribution";
const CONFIG: &[&str] = &["GET ", "/distribution/E1/config "];
const LOOK: &[&str] = &["GET ", "/distribution/E1 "];
const OFF: &[&str] = &["PUT ", "/distribution/E1/config ", "<Enabled>false</Enabled>"];
const DELETE: &[&str] = &["DELETE ", "/distribution/E1 "];

fn bench() -> Bench {
    Bench::new("AWS::CloudFront::Distribution", "E1", json!({}))
}

fn config(enabled: bool) -> String {
    format!(
        "<DistributionConfig><CallerReference>c1</CallerReference><Origins><Quantity>1</Quantity><Items><Origin><Id>o1</Id>\
         <DomainName>assets.s3.amazonaws.com</DomainName></Origin></Items></Origins><DefaultCacheBehavior>\
         <TargetOriginId>o1</TargetOriginId><ViewerProtocolPolicy>https-only</ViewerProtocolPolicy></DefaultCacheBehavior>\
         <Comment>keep me</Comment><Enabled>{enabled}</Enabled></DistributionConfig>"
    )
}

fn shown(status: &str, enabled: bool) -> String {
    format!("<Distribution><Id>E1</Id><Status>{status}</Status>{}</Distribution>", config(enabled))
}

/// Scripts with the distribution's answers.
trait Distribution {
    fn config(self, enabled: bool, etag: &'static str) -> Self;
    fn look(self, status: &str, enabled: bool) -> Self;
}

impl Distribution for Script {
    fn config(self, enabled: bool, etag: &'static str) -> Self {
        self.with_headers(CONFIG, 200, &config(enabled), &[("etag", etag)])
    }

    fn look(self, status: &str, enabled: bool) -> Self {
        self.on(LOOK, 200, shown(status, enabled))
    }
}

#[track_caller]
fn pending_for(answer: Result<Step, DeleteError>, seconds: u64) {
    assert!(matches!(&answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == seconds), "{answer:?}");
}

#[tokio::test]
async fn a_distribution_is_switched_off_waited_for_and_deleted_with_a_fresh_etag() {
    let script = Script::new()
        .config(true, "e1")
        .on(OFF, 200, shown("InProgress", false))
        .config(false, "e2")
        .look("InProgress", false)
        .config(false, "e3")
        .look("Deployed", false)
        .on(DELETE, 204, "");
    let mut bench = bench();
    pending_for(bench.step(&script).await, 30);
    bench.pass(30);
    pending_for(bench.step(&script).await, 30);
    bench.pass(240);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    assert_eq!(script.if_matches(), ["e1", "e3"]);
}

/// The update takes the whole configuration: what is left out would be reset.
#[tokio::test]
async fn switching_off_sends_everything_else_back() {
    let script = Script::new().config(true, "e1").on(OFF, 200, shown("InProgress", false));
    pending_for(bench().step(&script).await, 30);
    let sent = &script.seen()[1];
    for kept in ["<CallerReference>c1<", "<Comment>keep me<", "<DomainName>assets.s3.amazonaws.com<", ">https-only<"] {
        assert!(sent.contains(kept), "{kept}: {sent}");
    }
}

/// Right after the change the answers may show what was before: on and deployed.
#[tokio::test]
async fn a_stale_answer_after_the_switch_is_not_believed() {
    let script = Script::new().config(true, "e1").on(OFF, 200, shown("InProgress", false));
    let mut bench = bench();
    pending_for(bench.step(&script).await, 30);
    bench.pass(30);
    let stale = Script::new().config(true, "e1");
    pending_for(bench.step(&stale).await, 30);
    stale.assert_done();

    // Its configuration says off, but the look still shows it as it was.
    let stale = Script::new().config(false, "e2").look("Deployed", true);
    pending_for(bench.step(&stale).await, 30);
    stale.assert_done();

    // Somebody switched it on again.
    bench.pass(60);
    let on = Script::new().config(true, "e4").on(OFF, 200, shown("InProgress", false));
    pending_for(bench.step(&on).await, 30);
    on.assert_done();
}

#[tokio::test]
async fn one_that_was_off_may_still_be_on_its_way_to_the_edges() {
    let script = Script::new().config(false, "e1").look("InProgress", false);
    pending_for(bench().step(&script).await, 30);
    let script = Script::new().config(false, "e1").look("Deployed", false).on(DELETE, 204, "");
    let arn = "arn:aws:cloudfront::123456789012:distribution/E1";
    assert_eq!(Bench::new(TYPE, arn, json!({})).step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_distribution_that_is_not_there_is_gone_at_every_call() {
    let gone = |script: Script, wants| script.query_error(wants, "NoSuchDistribution", "no");
    for script in [
        gone(Script::new(), CONFIG),
        gone(Script::new().config(true, "e1"), OFF),
        gone(Script::new().config(false, "e1"), LOOK),
        gone(Script::new().config(false, "e1").look("Deployed", false), DELETE),
    ] {
        assert_eq!(bench().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
}

#[tokio::test]
async fn passing_errors_of_a_distribution_pass_until_their_budget_ends() {
    for (code, wait, give_up) in [
        ("DistributionNotDisabled", 15, 1800),
        ("PreconditionFailed", 1, 60),
        ("InvalidIfMatchVersion", 1, 60),
        ("ResourceInUse", 30, 1800),
    ] {
        let script = || Script::new().config(false, "e1").look("Deployed", false).query_error(DELETE, code, "not now");
        assert_passes(bench(), script, wait, give_up).await;
    }
    for (code, class) in [
        ("IllegalUpdate", ErrorClass::Terminal),
        ("InvalidViewerCertificate", ErrorClass::Terminal),
        ("AccessDenied", ErrorClass::Denied),
    ] {
        let script = Script::new().config(true, "e1").query_error(OFF, code, "no");
        let error = bench().step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (class, code));
    }
}

#[tokio::test]
async fn a_shut_fence_an_odd_answer_or_an_odd_id_changes_nothing() {
    assert_fenced(bench(), Script::new().config(true, "e1")).await;
    assert_fenced(bench(), Script::new().config(false, "e1").look("Deployed", false)).await;
    let script = Script::new().on(CONFIG, 200, config(true));
    assert_eq!(bench().step(&script).await.map_err(|e| e.message), Err("CloudFront answered without an ETag".into()));
    for id in ["", "..", "arn:aws:cloudfront::123456789012:distribution/", "arn:aws:cloudfront::123456789012:function/f"] {
        assert_not_addressed(Bench::new(TYPE, id, json!({})), Code::MalformedPhysicalId).await;
    }
    assert_not_addressed(Bench::new(TYPE, "***", json!({})), Code::MaskedAddress).await;
}

/// A kind of access: its type, its path, and its codes for gone and in use, and an origin that uses `X1`.
struct Access(&'static str, &'static str, &'static str, &'static str, &'static str);

const ACCESS: [Access; 2] = [
    Access(
        "AWS::CloudFront::CloudFrontOriginAccessIdentity",
        "/origin-access-identity/cloudfront/X1 ",
        "NoSuchCloudFrontOriginAccessIdentity",
        "CloudFrontOriginAccessIdentityInUse",
        "<S3OriginConfig><OriginAccessIdentity>origin-access-identity/cloudfront/X1</OriginAccessIdentity></S3OriginConfig>",
    ),
    Access(
        "AWS::CloudFront::OriginAccessControl",
        "/origin-access-control/X1 ",
        "NoSuchOriginAccessControl",
        "OriginAccessControlInUse",
        "<OriginAccessControlId>X1</OriginAccessControlId>",
    ),
];

impl Access {
    fn bench(&self) -> Bench {
        Bench::new(self.0, "X1", json!({}))
    }

    fn read(&self) -> Script {
        let root = if self.0.ends_with("Identity") { "CloudFrontOriginAccessIdentity" } else { "OriginAccessControl" };
        let body = format!("<{root}><Id>X1</Id></{root}>");
        Script::new().with_headers(&["GET ", self.1], 200, &body, &[("etag", "e1")])
    }

    fn refused(&self, code: &str) -> Script {
        self.read().query_error(&["DELETE ", self.1], code, "no")
    }
}

#[tokio::test]
async fn access_goes_with_the_etag_just_read() {
    for access in ACCESS {
        let script = access.read().on(&["DELETE ", access.1], 204, "");
        assert_eq!(access.bench().step(&script).await, Ok(Step::DELETED));
        script.assert_done();
        assert_eq!(script.if_matches(), ["e1"]);
        for script in [Script::new().query_error(&["GET ", access.1], access.2, "no"), access.refused(access.2)] {
            assert_eq!(access.bench().step(&script).await, Ok(Step::ALREADY_GONE), "{}", access.0);
        }
    }
}

/// A plain id inside a distribution is all that tells who uses it.
#[tokio::test]
async fn the_distribution_that_still_uses_it_is_named() {
    for access in ACCESS {
        let summary = |id: &str, origin: &str| {
            let origin = format!("<Origin><Id>o</Id><DomainName>d</DomainName>{origin}</Origin>");
            format!("<DistributionSummary><Id>{id}</Id><Origins><Items>{origin}</Items></Origins></DistributionSummary>")
        };
        let other = access.4.replace("X1", "X12");
        let page = |items: &str, more: &str| {
            let next = format!("<IsTruncated>{}</IsTruncated><NextMarker>{more}</NextMarker>", !more.is_empty());
            format!("<DistributionList>{}<Items>{items}</Items></DistributionList>", if more.is_empty() { "" } else { &next })
        };
        let script = || {
            access.refused(access.3).on(&["GET ", "/distribution"], 200, page(&summary("E1", &other), "m1")).on(
                &["GET ", "Marker=m1"],
                200,
                page(&summary("E2", access.4), ""),
            )
        };
        let Ok(Step::Pending { note, .. }) = access.bench().step(&script()).await else { panic!("{}", access.0) };
        assert_eq!(note, format!("{}: held by E2 (distribution)", access.3));
        assert_passes(access.bench(), script, 15, 900).await;
    }
}

#[tokio::test]
async fn passing_errors_of_access_pass_until_their_budget_ends() {
    for access in ACCESS {
        for code in ["PreconditionFailed", "InvalidIfMatchVersion"] {
            assert_passes(access.bench(), || access.refused(code), 1, 60).await;
        }
        let error = access.bench().step(&access.refused("AccessDenied")).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Denied);
        assert_fenced(access.bench(), access.read()).await;
        assert_not_addressed(Bench::new(access.0, "", json!({})), Code::MalformedPhysicalId).await;
        let script = Script::new().on(&["GET ", access.1], 200, "<OriginAccessControl><Id>X1</Id></OriginAccessControl>");
        assert!(access.bench().step(&script).await.is_err(), "no ETag, no delete");
        script.assert_done();
    }
}
