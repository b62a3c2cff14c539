use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use super::{CHANGE, CHANGED, LIST, apex, odd_refusal, page, record, set};
use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const TYPE: &str = "AWS::Route53::RecordSet";
const BATCH: &str = "InvalidChangeBatch";
const NOT_FOUND: &str = "[Tried to delete resource record set [name='api.example.com.', type='A'] but it was not found]";
const DIFFERS: &str = "[Tried to delete resource record set [name='api.example.com.', type='A'] but the values provided do not \
                       match the current values]";

fn properties() -> Value {
    json!({ "HostedZoneId": "Z1", "Name": "api.example.com", "Type": "A", "TTL": "60", "ResourceRecords": ["10.0.0.1"] })
}

fn api() -> Bench {
    Bench::new("AWS::Route53::RecordSet", "Z1|api.example.com.|A", properties())
}

fn live() -> Script {
    Script::new().on(LIST, 200, page(&[record("api.example.com.", "A", "10.9.9.9")], None))
}

/// The values as they are live, not as the template had them: somebody may have edited the record.
#[tokio::test]
async fn the_live_set_is_deleted_and_not_the_recorded_values() {
    let wants =
        [CHANGE, &["<Name>api.example.com.</Name>", "<Type>A</Type>", "<TTL>300</TTL>", "<Value>10.9.9.9</Value>"]].concat();
    let script = live().on(&wants, 200, CHANGED);
    assert_eq!(api().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    assert!(script.seen()[0].contains("name=api.example.com.") && script.seen()[0].contains("type=A"), "{:?}", script.seen());
    assert_eq!(script.seen()[1].matches("<Change>").count(), 1);
}

#[tokio::test]
async fn every_form_of_the_id_names_the_zone() {
    let with = |zone: &str| json!({ "HostedZoneId": zone, "Name": "API.example.com.", "Type": "a" });
    let odd = json!({ "Name": "a|b.example.com", "Type": "A" });
    for (id, properties, name) in [
        ("Z1|api.example.com|A", json!({ "Name": "api.example.com.", "Type": "A" }), "api.example.com."),
        ("/hostedzone/Z1|api.example.com|A", with("Z9"), "api.example.com."),
        ("api.example.com", with("Z1"), "api.example.com."),
        ("api.example.com.", with("/hostedzone/Z1"), "api.example.com."),
        // Says something else than its properties: those stand.
        ("Z7|old.example.com|A", with("Z1"), "api.example.com."),
        ("Z7|api.example.com|AAAA", with("Z1"), "api.example.com."),
        // A name may hold the separator.
        ("Z1|a|b.example.com|A", odd, "a\\174b.example.com."),
    ] {
        let script = Script::new().on(LIST, 200, page(&[record(name, "A", "10.9.9.9")], None)).on(CHANGE, 200, CHANGED);
        assert_eq!(Bench::new(TYPE, id, properties).step(&script).await, Ok(Step::DELETED), "{id}");
        script.assert_done();
    }
}

/// The list writes `*` as `\052`: compared as written, a live wildcard would be taken for gone.
#[tokio::test]
async fn a_wildcard_is_found_behind_its_escapes() {
    let properties = json!({ "HostedZoneId": "Z1", "Name": "*.Example.com", "Type": "A" });
    let wildcard = record("\\052.example.com.", "A", "10.9.9.9");
    let wants = [CHANGE, &["<Name>\\052.example.com.</Name>"]].concat();
    let script = Script::new().on(LIST, 200, page(&[wildcard], None)).on(&wants, 200, CHANGED);
    assert_eq!(Bench::new(TYPE, "Z1|*.Example.com|A", properties).step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    // The list is sorted by what it writes.
    assert!(script.seen()[0].contains("name=%5C052.example.com."), "{:?}", script.seen());
}

#[tokio::test]
async fn a_list_that_moved_on_proves_it_gone_and_neighbours_stay() {
    let neighbours = [
        record("api.example.com.", "AAAA", "::1"),
        record("apis.example.com.", "A", "10.0.0.2"),
        set("api.example.com.", "A", "<SetIdentifier>blue</SetIdentifier><Weight>1</Weight><TTL>1</TTL>"),
    ];
    for next in [None, Some(("b.example.com.", "A"))] {
        let script = Script::new().on(LIST, 200, page(&neighbours, next));
        assert_eq!(api().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
    let script = Script::new().query_error(LIST, "NoSuchHostedZone", "no");
    assert_eq!(api().step(&script).await, Ok(Step::ALREADY_GONE), "with its zone");
}

#[tokio::test]
async fn only_the_set_with_its_identifier_goes_however_many_pages_there_are() {
    let weighted = |id: &str| {
        let more = format!("<SetIdentifier>{id}</SetIdentifier><Weight>10</Weight><TTL>60</TTL>");
        set("api.example.com.", "A", &more)
    };
    let mut properties = properties();
    properties["SetIdentifier"] = json!("green");
    let script = Script::new()
        .on(LIST, 200, page(&[weighted("amber"), weighted("blue")], Some(("api.example.com.", "A"))))
        .on(&[LIST, &["name=api.example.com.", "type=A"]].concat(), 200, page(&[weighted("green"), weighted("red")], None))
        .on(&[CHANGE, &["<SetIdentifier>green</SetIdentifier>", "<Weight>10</Weight>"]].concat(), 200, CHANGED);
    let mut bench = Bench::new(TYPE, "Z1|api.example.com|A", properties.clone());
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    assert!(!script.seen()[2].contains("blue") && !script.seen()[2].contains("red"));

    let script = Script::new().on(LIST, 200, page(&[weighted("amber"), weighted("blue")], None));
    assert_eq!(Bench::new(TYPE, "Z1|api.example.com|A", properties).step(&script).await, Ok(Step::ALREADY_GONE));
}

/// It must not mean the simple set of this name, which is another's.
#[tokio::test]
async fn a_set_identifier_that_cannot_be_read_makes_no_call() {
    let with = |identifier: Value| {
        let mut properties = properties();
        properties["SetIdentifier"] = identifier;
        Bench::new(TYPE, "Z1|api.example.com.|A", properties)
    };
    for odd in [json!(7), json!(true), json!({ "Ref": "Color" }), json!(["green"])] {
        let mut bench = with(odd);
        let error = bench.next(Script::new()).await.unwrap_err();
        assert_eq!(error.code, Code::MalformedPhysicalId.name());
        assert!(error.message.contains("SetIdentifier"), "{}", error.message);
    }
    for absent in [Value::Null, json!("")] {
        assert_eq!(with(absent).next(live().on(CHANGE, 200, CHANGED)).await, Ok(Step::DELETED));
    }
}

/// An endpoint may ignore where the list should start: only a name behind ours says that it is not there.
#[tokio::test]
async fn a_list_that_starts_too_early_is_read_on() {
    let script = Script::new()
        .on(LIST, 200, page(&apex(), Some(("aaa.example.com.", "A"))))
        .on(LIST, 200, page(&[record("aaa.example.com.", "A", "1.1.1.1"), record("api.example.com.", "A", "10.9.9.9")], None))
        .on(CHANGE, 200, CHANGED);
    assert_eq!(api().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

/// One code for "not found" and "values differ"; in the second case the record is alive.
#[tokio::test]
async fn an_invalid_batch_is_gone_only_when_it_says_not_found() {
    let usual = |message: &str| live().query_error(CHANGE, BATCH, message);
    let odd = |message: &str| odd_refusal(live(), message);
    for refused in [&usual as &dyn Fn(&str) -> Script, &odd] {
        assert_eq!(api().step(&refused(NOT_FOUND)).await, Ok(Step::ALREADY_GONE));
        assert_passes(api(), || refused(DIFFERS), 1, 60).await;
        let apex = "[A HostedZone must contain at least one NS record for the zone itself.]";
        let error = api().step(&refused(apex)).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str(), error.message.as_str()), (ErrorClass::Terminal, BATCH, apex));
    }
}

#[tokio::test]
async fn a_record_that_changed_meanwhile_is_read_again() {
    let mut bench = api();
    bench.step(&live().query_error(CHANGE, BATCH, DIFFERS)).await.unwrap();
    let wants = [CHANGE, &["<Value>10.9.9.10</Value>"]].concat();
    let script =
        Script::new().on(LIST, 200, page(&[record("api.example.com.", "A", "10.9.9.10")], None)).on(&wants, 200, CHANGED);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    let switching = "The hosted zone Z1 is marked disabled for mutation";
    for (code, message, wait, give_up) in [
        ("PriorRequestNotComplete", "busy", 3, 120),
        ("Throttling", "Rate exceeded", 2, 120),
        ("InvalidInput", switching, 15, 600),
        ("InvalidChangeBatch", switching, 15, 600),
    ] {
        assert_passes(api(), || live().query_error(CHANGE, code, message), wait, give_up).await;
    }
    let error = api().step(&live().query_error(CHANGE, "InvalidInput", "bad")).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "InvalidInput"));
}

/// A page of zones by name.
fn zones(zones: &[(&str, &str)], next: Option<(&str, &str)>) -> String {
    let zone = |(id, name): &(&str, &str)| {
        format!("<HostedZone><Id>/hostedzone/{id}</Id><Name>{name}</Name><CallerReference>c</CallerReference></HostedZone>")
    };
    let next = next.map_or_else(String::new, |(id, name)| {
        format!("<IsTruncated>true</IsTruncated><NextDNSName>{name}</NextDNSName><NextHostedZoneId>{id}</NextHostedZoneId>")
    });
    let zones: String = zones.iter().map(zone).collect();
    format!("<ListHostedZonesByNameResponse><HostedZones>{zones}</HostedZones>{next}</ListHostedZonesByNameResponse>")
}

const BY_NAME: &[&str] = &["GET ", "/hostedzonesbyname", "dnsname=example.com."];

fn by_zone_name() -> Bench {
    let properties = json!({ "HostedZoneName": "Example.com", "Name": "api.example.com", "Type": "A" });
    Bench::new(TYPE, "api.example.com", properties)
}

#[tokio::test]
async fn a_zone_is_found_by_name_among_later_ones() {
    let found = zones(&[("Z1", "example.com."), ("Z2", "shop.example.com.")], Some(("Z3", "x.org.")));
    let script = Script::new()
        .on(BY_NAME, 200, found)
        .on(LIST, 200, page(&[record("api.example.com.", "A", "10.9.9.9")], None))
        .on(CHANGE, 200, CHANGED);
    assert_eq!(by_zone_name().step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    for none in [zones(&[("Z2", "shop.example.com.")], Some(("Z3", "x.org."))), zones(&[], None)] {
        assert_eq!(by_zone_name().step(&Script::new().on(BY_NAME, 200, none)).await, Ok(Step::ALREADY_GONE));
    }
}

/// The name is where the list starts, not a filter: before a later name shows, or the end, nothing is proven.
#[tokio::test]
async fn a_zone_is_missing_only_once_a_later_name_shows() {
    let script = Script::new()
        .on(BY_NAME, 200, zones(&[("Z0", "a.com.")], Some(("Z1", "example.com."))))
        .on(&["/hostedzonesbyname", "dnsname=example.com.", "hostedzoneid=Z1"], 200, zones(&[("Z1", "example.com.")], None))
        .on(LIST, 200, page(&[record("api.example.com.", "A", "10.9.9.9")], None))
        .on(CHANGE, 200, CHANGED);
    assert_eq!(by_zone_name().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn of_two_zones_with_one_name_none_is_guessed() {
    let first = zones(&[("Z1", "example.com."), ("Z2", "example.com.")], None);
    let script = Script::new().on(BY_NAME, 200, first);
    assert!(by_zone_name().step(&script).await.unwrap_err().message.contains("several hosted zones"));
    let script = Script::new().on(BY_NAME, 200, zones(&[("Z1", "example.com.")], Some(("Z2", "example.com.")))).on(
        &["hostedzoneid=Z2"],
        200,
        zones(&[("Z2", "example.com.")], None),
    );
    assert!(by_zone_name().step(&script).await.is_err());
    script.assert_done();
}

#[tokio::test]
async fn a_shut_fence_or_what_cannot_be_addressed_changes_nothing() {
    assert_fenced(api(), live()).await;
    let with = |name: &str, value: &str| {
        let mut properties = properties();
        properties[name] = json!(value);
        properties
    };
    for (id, properties, code) in [
        ("Z1|api.example.com|A", json!({}), Code::MalformedPhysicalId),
        ("api.example.com", json!({ "Name": "api.example.com", "Type": "A" }), Code::MissingAddress),
        ("|api.example.com|A", json!({ "Name": "api.example.com", "Type": "A" }), Code::MalformedPhysicalId),
        ("..|api.example.com|A", json!({ "Name": "api.example.com", "Type": "A" }), Code::MalformedPhysicalId),
        ("Z1|***|A", properties(), Code::MaskedAddress),
        ("Z1|api.example.com|A", with("Name", "***"), Code::MaskedAddress),
        ("Z1|api.example.com|A", with("SetIdentifier", "{{resolve:ssm:x}}"), Code::MaskedAddress),
        ("api.example.com", with("HostedZoneId", "***"), Code::MaskedAddress),
    ] {
        assert_not_addressed(Bench::new(TYPE, id, properties), code).await;
    }
}
