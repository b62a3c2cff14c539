use ebb_core::{Code, Look};

use super::hosted_zones::{GET, bench, emptying, zone};
use super::{LIST, apex, page, record};
use crate::testing::Script;

fn refuses(look: Result<Look, ebb_core::DeleteError>, what: &str) {
    assert!(matches!(&look, Ok(Look::Refuses { code: Code::DataGuard, reason }) if reason.contains(what)), "{look:?}");
}

/// They stay behind when the certificate goes, and no row of a plan deletes them.
#[tokio::test]
async fn validation_records_speak_against_the_zone_and_the_plans_own_do_not() {
    let own = [apex().to_vec(), vec![record("api.example.com.", "A", "10.0.0.1")]].concat();
    let validation = record("_x.example.com.", "CNAME", "_y.zzz.ACM-validations.aws.");
    let script = Script::new().on(GET, 200, zone("")).on(LIST, 200, page(&own, Some(("_x.example.com.", "CNAME")))).on(
        &[LIST, &["name=_x.example.com."]].concat(),
        200,
        page(&[validation], None),
    );
    refuses(bench().look(&script).await, "CNAME _x.example.com.");
    script.assert_done();

    let script = Script::new().on(GET, 200, zone("")).on(LIST, 200, page(&own, None));
    assert_eq!(bench().look(&script).await, Ok(Look::Clear));
    let script = Script::new().on(GET, 200, zone(""));
    assert_eq!(emptying().look(&script).await, Ok(Look::Clear), "with consent");
}

#[tokio::test]
async fn a_zone_of_another_service_is_refused_and_a_missing_one_is_clear() {
    let linked = "<LinkedService><ServicePrincipal>servicediscovery.amazonaws.com</ServicePrincipal></LinkedService>";
    refuses(emptying().look(&Script::new().on(GET, 200, zone(linked))).await, "servicediscovery.amazonaws.com");
    let script = Script::new().query_error(GET, "NoSuchHostedZone", "no");
    assert_eq!(bench().look(&script).await, Ok(Look::Clear));
}
