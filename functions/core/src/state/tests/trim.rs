use std::collections::BTreeSet;

use super::*;

const AT: crate::Millis = 1_770_000_000_123;

fn trimmed(doc: &StateDoc, deleted: &[&str], key: &StackKey) -> String {
    String::from_utf8(doc.trim(&deleted.iter().copied().collect::<BTreeSet<_>>(), AT, key)).unwrap()
}

/// `outputs` is `{}`; `imports` and `outputReads` absent; `exportNames` is `[]`; everything else unchanged.
#[test]
fn the_trimmed_snapshot_of_the_latest_schema() {
    let key = StackKey::new("cdkd", "TenantPortal", "eu-west-1");
    let doc = doc(samples::LATEST, Layout::Regional);
    let deleted: Vec<&str> = doc.ids().filter(|id| *id != "OrdersResolver93").collect();
    let text = trimmed(&doc, &deleted, &key);
    let (before, after): (Value, Value) = (serde_json::from_str(samples::LATEST).unwrap(), serde_json::from_str(&text).unwrap());
    assert_eq!((&after["outputs"], &after["exportNames"]), (&json!({}), &json!([])));
    assert!(after.get("imports").is_none() && after.get("outputReads").is_none());
    assert_eq!((&after["version"], &after["lastModified"]), (&json!(11), &json!(AT)));
    assert_eq!((&after["stackName"], &after["region"]), (&json!("TenantPortal"), &json!("eu-west-1")));
    for kept in ["unknownStackField", "conditionVerdicts", "skippedOutputs", "orphans"] {
        assert_eq!(before[kept], after[kept], "{kept}");
    }
    assert_eq!(after["resources"].as_object().unwrap().keys().collect::<Vec<_>>(), ["OrdersResolver93"]);
    let future = "      \"fieldFromTheFuture\": {\n        \"kept\": [\n          1,\n          2.50,\n          98765432109876543210\n        ]\n      }";
    assert!(text.contains(future), "number text is kept");
}

/// What does not change keeps its bytes: cdkd's own layout comes back as it was.
#[test]
fn a_kept_row_keeps_its_bytes() {
    for (sample, layout) in ALL {
        let name = serde_json::from_str::<Value>(sample).unwrap();
        let key = StackKey::new("cdkd", name["stackName"].as_str().unwrap(), name["region"].as_str().unwrap());
        let text = trimmed(&doc(sample, layout), &[], &key);
        let rows = |text: &str| {
            let start = text.find("\n  \"resources\": {").unwrap();
            text[start..start + text[start..].find("\n  }").unwrap()].to_owned()
        };
        assert_eq!(rows(&text), rows(sample));
        let minified = serde_json::to_string(&name).unwrap();
        if sample != samples::LATEST {
            assert_eq!(trimmed(&doc(&minified, layout), &[], &key), text, "white space of the body does not matter");
        }
    }
}

#[test]
fn the_first_write_of_a_legacy_record_is_a_regional_one() {
    let key = StackKey::new("cdkd", "LegacyMailer", "ap-northeast-1");
    let regionless = edit(samples::LEGACY, |s| {
        remove(s, "", "region");
        remove(s, "", "version");
    });
    let text = trimmed(&doc(&regionless, Layout::Legacy), &["BounceQueue55D0"], &key);
    assert!(text.starts_with("{\n  \"version\": 2,\n  \"stackName\": \"LegacyMailer\","), "{text}");
    let again = doc(&text, Layout::Regional);
    assert_eq!(
        (again.version(), again.check_region("ap-northeast-1"), again.resource_count()),
        (Some(2), Ok(RegionNote::Same), 5)
    );
    // Features of a later schema are not hidden behind an older number.
    let later = edit(samples::LEGACY, |s| s["version"] = json!(5));
    assert_eq!(doc(&trimmed(&doc(&later, Layout::Legacy), &[], &key), Layout::Regional).version(), Some(5));
}

/// The version that was read is written: no version where there was none.
#[test]
fn the_version_stays_as_it_was_read() {
    let key = StackKey::new("cdkd", "EdgeNetwork", "us-east-1");
    let oldest = changed(samples::NETWORK, |s| remove(s, "", "version"));
    assert_eq!(doc(&trimmed(&oldest, &[], &key), Layout::Regional).version(), None);
    for version in 1..=11 {
        let doc_of = changed(samples::NETWORK, |s| s["version"] = json!(version));
        assert_eq!(doc(&trimmed(&doc_of, &["Tick23"], &key), Layout::Regional).version(), Some(version));
    }
}

#[test]
fn a_repeated_trim_writes_the_same_bytes() {
    let key = StackKey::new("cdkd", "EdgeNetwork", "us-east-1");
    let deleted = ["Tick23", "Nat14"];
    let once = trimmed(&doc(samples::NETWORK, Layout::Regional), &deleted, &key);
    assert_eq!(trimmed(&doc(&once, Layout::Regional), &deleted, &key), once);
    let all: Vec<String> = doc(samples::NETWORK, Layout::Regional).ids().map(str::to_owned).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(trimmed(&doc(&once, Layout::Regional), &all, &key).contains("\n  \"resources\": {},\n"));
}

#[test]
fn a_large_state_is_trimmed_in_one_pass() {
    let row =
        r#"{"physicalId":"q","resourceType":"AWS::SQS::Queue","properties":{"a":[1,2.50,{"b":"cdefghijklmnopqrstuvwxyz"}]}}"#;
    let rows: Vec<String> = (0..20_000).map(|n| format!("\"R{n}\":{row}")).collect();
    let body = format!(r#"{{"version":11,"region":"us-east-1","resources":{{{}}}}}"#, rows.join(","));
    let doc = doc(&body, Layout::Regional);
    let gone: Vec<String> = (0..20_000).filter(|n| n % 2 == 0).map(|n| format!("R{n}")).collect();
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    let text = trimmed(&doc, &gone, &StackKey::new("cdkd", "Big", "us-east-1"));
    assert_eq!(text.matches("2.50").count(), 10_000);
}
