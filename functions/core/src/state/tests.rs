mod region;
mod spans;
mod trim;

use serde_json::{Value, json};

use super::samples::{self, ALL, changed, doc, edit};
use super::*;
use crate::StackKey;
use crate::provider::ProvisionedBy;

const SECRET: &str = "hunter2";

fn refusal(body: &str) -> Refusal {
    StateDoc::parse(body.as_bytes(), Layout::Regional).expect_err(body)
}

#[track_caller]
fn malformed(body: &str, names: &str) {
    let refusal = refusal(body);
    assert_eq!(refusal.ending, Ending::MalformedState, "{refusal}");
    assert!(refusal.message.contains(names), "{refusal}");
    assert!(!refusal.message.contains(SECRET), "a message shows no value: {refusal}");
}

fn remove(state: &mut Value, pointer: &str, field: &str) {
    state.pointer_mut(pointer).and_then(Value::as_object_mut).expect(pointer).shift_remove(field);
}

#[test]
fn every_sample_passes_the_gate() {
    let found: Vec<_> = ALL.iter().map(|(text, layout)| doc(text, *layout)).map(|d| (d.version(), d.resource_count())).collect();
    let expected = [(1, 6), (2, 10), (5, 11), (8, 26), (11, 15), (10, 4), (10, 4), (9, 3), (9, 2)];
    assert_eq!(found, expected.map(|(version, rows)| (Some(version), rows)));
    for (text, layout) in ALL {
        assert_eq!(doc(text, layout).rows().count(), doc(text, layout).resource_count());
    }
}

/// Absent: accept as oldest layout. Integer 1 … 11: accept. Above, or 0, negative, fraction, string, `null`: refuse.
#[test]
fn the_version_gate() {
    for version in 1..=11 {
        assert_eq!(changed(samples::NETWORK, |s| s["version"] = json!(version)).version(), Some(version));
    }
    assert_eq!(changed(samples::NETWORK, |s| remove(s, "", "version")).version(), None);
    for (version, shown) in [
        (json!(12), "12"),
        (json!(0), "0"),
        (json!(-1), "-1"),
        (json!(8.5), "8.5"),
        (json!(8.0), "8.0"),
        (json!("8"), "\"8\""),
        (json!("8\u{1b}[2J"), "\"8\\u001b[2J\""),
        (json!(null), "null"),
        (json!(true), "a boolean"),
        (json!([SECRET]), "an array"),
        (json!({"a": SECRET}), "an object"),
    ] {
        let refusal = refusal(&edit(samples::NETWORK, |s| s["version"] = version));
        assert_eq!(refusal.ending, Ending::UnsupportedVersion);
        let start = format!("Unsupported state schema version: {shown}. Known are the whole numbers 1 to 11; upgrade");
        assert!(refusal.message.starts_with(&start), "{refusal}");
    }
}

/// Body is not JSON, root is not an object, a byte order mark: refuse.
#[test]
fn a_body_that_is_no_state_is_refused() {
    for (body, names) in [
        ("", "not JSON: line"),
        ("  \n", "not JSON: line"),
        ("hunter2", "not JSON: line 1"),
        ("{\"resources\": {}, \"a\": \"hunter2", "not JSON: line 1, column"),
        ("{\"resources\": {}} {}", "not JSON"),
        ("[]", "the state is an array, not an object"),
        ("null", "the state is null, not an object"),
        ("\"hunter2\"", "the state is a string, not an object"),
        ("7", "the state is a number, not an object"),
        ("\u{feff}{\"resources\": {}}", "byte order mark"),
    ] {
        malformed(body, names);
    }
    let refusal = StateDoc::parse(b"{\"resources\": {}, \"a\": \"\xff\"}", Layout::Regional).unwrap_err();
    assert!(refusal.message.contains("not UTF-8: byte 24"), "{refusal}");
}

/// `resources` absent, `null`, array (even `[]`), number, string, bool: refuse. `{}`: fine.
#[test]
fn resources_must_be_an_object() {
    for wrong in [json!(null), json!([]), json!([{}]), json!(7), json!(SECRET), json!(true)] {
        malformed(&edit(samples::NETWORK, |s| s["resources"] = wrong), "STATE_RESOURCES_MALFORMED: `resources` is ");
    }
    malformed(&edit(samples::NETWORK, |s| remove(s, "", "resources")), "STATE_RESOURCES_MALFORMED: `resources` is missing");
    assert!(changed(samples::NETWORK, |s| s["resources"] = json!({})).is_empty());
}

/// A row that is not an object, or whose `resourceType` or `properties` is missing or of another kind, also on retained
/// rows: refuse, naming the logical id.
#[test]
fn a_broken_row_is_named() {
    for row in [json!(null), json!([]), json!(SECRET), json!(7)] {
        malformed(&edit(samples::NETWORK, |s| s["resources"]["Tick23"] = row), "STATE_RESOURCES_MALFORMED: `Tick23`: is ");
    }
    for field in ["resourceType", "properties"] {
        let text = edit(samples::NETWORK, |s| remove(s, "/resources/Tick23", field));
        malformed(&text, &format!("`Tick23`: `{field}` is missing"));
        for wrong in [json!(null), json!(7), json!([SECRET])] {
            let text = edit(samples::NETWORK, |s| s["resources"]["Tick23"][field] = wrong);
            malformed(&text, &format!("`Tick23`: `{field}` is not "));
        }
    }
    malformed(&edit(samples::POLICIES, |s| remove(s, "/resources/ArchiveBucket0A", "properties")), "`ArchiveBucket0A`");
    for wrong in [json!(null), json!("Vpc01"), json!({}), json!(["Vpc01", 7])] {
        let text = edit(samples::NETWORK, |s| s["resources"]["Tick23"]["dependencies"] = wrong);
        malformed(&text, "`Tick23`: `dependencies` is not an array of logical ids");
    }
}

#[test]
fn many_broken_rows_are_counted_and_hostile_names_are_shown_safely() {
    let text = edit(samples::NETWORK, |s| {
        for row in s["resources"].as_object_mut().unwrap().values_mut() {
            remove(row, "", "properties");
        }
        s["resources"]["\u{1b}[2J\u{202e}"] = json!(SECRET);
    });
    malformed(&text, "; and 21 more");
    malformed(r#"{"resources": {"\u001b[2J\u202e\n": "hunter2"}}"#, "`[2J`: is a string");
    let long = format!(r#"{{"resources": {{"{}": 1}}}}"#, "x".repeat(100_000));
    assert!(refusal(&long).message.len() < 300);
}

/// A row without `physicalId`, or non-string: only that row fails.
#[test]
fn a_row_without_physical_id_fails_alone() {
    let key = StackKey::new("cdkd", "EdgeNetwork", "us-east-1");
    for wrong in [None, Some(json!(null)), Some(json!(7)), Some(json!(""))] {
        let doc = changed(samples::NETWORK, |s| match wrong {
            None => remove(s, "/resources/Tick23", "physicalId"),
            Some(value) => s["resources"]["Tick23"]["physicalId"] = value,
        });
        let error = doc.row("Tick23").unwrap().to_resource(&key, false).unwrap_err();
        assert_eq!((error.outcome(), error.code()), (crate::Outcome::Failed, crate::Code::MalformedPhysicalId));
        assert_eq!(doc.rows().filter(|row| row.to_resource(&key, false).is_err()).count(), 1);
    }
    // Also in part: what is not found under such an address may be anywhere.
    for id in ["***", "/app/***", "arn:aws:sns:us-east-1:1:***", "****", "{{resolve:secretsmanager:Db:SecretString:name}}"] {
        let masked = changed(samples::NETWORK, |s| s["resources"]["Tick23"]["physicalId"] = json!(id));
        let error = masked.row("Tick23").unwrap().to_resource(&key, false).unwrap_err();
        assert_eq!((error.outcome(), error.code()), (crate::Outcome::Skipped, crate::Code::MaskedAddress), "{id}");
    }
    let chosen = changed(samples::NETWORK, |s| {
        s["resources"]["Tick23"]["resourceType"] = json!("Custom::Seed");
        s["resources"]["Tick23"]["physicalId"] = json!("rated-***");
    });
    assert_eq!(chosen.row("Tick23").unwrap().to_resource(&key, false).unwrap().physical_id, "rated-***");
}

/// `outputs` present and not an object: refuse (absent is fine). `orphans`: an array of entries with string `logicalId`
/// and a `state` with a non-empty `physicalId`, no id twice.
#[test]
fn outputs_and_orphans_are_judged_by_the_same_gate() {
    for wrong in [json!(null), json!([]), json!(SECRET)] {
        malformed(&edit(samples::LATEST, |s| s["outputs"] = wrong), "`outputs` is ");
    }
    assert!(changed(samples::LATEST, |s| remove(s, "", "outputs")).output_names().is_empty());
    for wrong in [json!(null), json!({}), json!(SECRET)] {
        malformed(&edit(samples::LATEST, |s| s["orphans"] = wrong), "`orphans` is ");
    }
    for wrong in [json!(SECRET), json!({}), json!({"logicalId": 7, "state": {"physicalId": SECRET}})] {
        malformed(&edit(samples::LATEST, |s| s["orphans"][0] = wrong), "`orphans`, entry 0: has no `logicalId`");
    }
    for wrong in [json!(null), json!([]), json!({}), json!({"physicalId": ""}), json!({"physicalId": 7})] {
        malformed(&edit(samples::LATEST, |s| s["orphans"][0]["state"] = wrong), "`orphans`, `OldBucketF9`: has no `state`");
    }
    let twice = edit(samples::LATEST, |s| {
        let orphan = s["orphans"][0].clone();
        s["orphans"].as_array_mut().unwrap().push(orphan);
    });
    malformed(&twice, "`orphans`, `OldBucketF9`: is listed twice");
}

/// Two equal names would leave one of the two unremembered.
#[test]
fn a_name_that_comes_twice_is_refused() {
    let row = r#"{"resourceType": "AWS::SQS::Queue", "properties": {}, "physicalId": "hunter2"}"#;
    malformed(&format!(r#"{{"resources": {{"A": {row}, "B": {row}, "A": {row}}}}}"#), "`A`: is recorded twice");
    malformed(&format!(r#"{{"resources": {{}}, "resources": {{"A": {row}}}}}"#), "names its field `resources` twice");
    let row = r#"{"resourceType": "T", "properties": {}, "deletionPolicy": "Retain", "deletionPolicy": "Delete"}"#;
    malformed(&format!(r#"{{"resources": {{"A": {row}}}}}"#), "`A`: has its field `deletionPolicy` twice");
}

#[test]
fn what_is_too_deep_or_too_large_is_refused_without_being_laid_out() {
    let bomb = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    malformed(&format!(r#"{{"resources": {{}}, "x": {}}}"#, bomb(500_000)), "nested 500001 deep");
    malformed(&format!(r#"{{"resources": {}}}"#, bomb(100_000)), "deep");
    malformed(&"[".repeat(1_000_000), "the state is an array");
    let row = format!(r#"{{"resourceType": "T", "properties": {{"a": {}}}}}"#, bomb(MAX_DEPTH - 4));
    let fits = format!(r#"{{"resources": {{"A": {row}}}}}"#);
    assert_eq!(StateDoc::parse(fits.as_bytes(), Layout::Regional).unwrap().rows().count(), 1);
    let blown_up = format!(r#"{{"resources": {{}}, "x": {}{}{}}}"#, "[".repeat(100), "1,".repeat(700_000) + "1", "]".repeat(100));
    malformed(&blown_up, "bytes when indented");
}

#[test]
fn a_row_is_read_with_its_types() {
    let doc = doc(samples::LATEST, Layout::Regional);
    let row = doc.row("NightlySchedulA4").unwrap();
    assert_eq!(
        (row.resource_type.as_str(), row.physical_id.as_deref()),
        ("AWS::Scheduler::Schedule", Some("tenantportal-nightly"))
    );
    assert_eq!((row.dependencies, row.provisioned_by), (vec!["CleanerFn4E".to_owned()], ProvisionedBy::CloudControl));
    let key = StackKey::new("cdkd", "TenantPortal", "eu-west-1");
    let resource = doc.row("AssetsBucket0A").unwrap().to_resource(&key, false).unwrap();
    assert_eq!(
        (resource.stack.as_str(), resource.region.as_str(), resource.logical_id.as_str()),
        ("TenantPortal", "eu-west-1", "AssetsBucket0A")
    );
    assert_eq!(resource.attributes["Arn"], "arn:aws:s3:::tenantportal-assets-7781");
    assert_eq!((resource.provisioned_by, resource.snapshot), (ProvisionedBy::Sdk, false));
    assert!(doc.row("Nobody").is_none() && !doc.contains("Nobody") && doc.contains("AssetsBucket0A"));
    let legacy = samples::doc(samples::LEGACY, Layout::Legacy);
    assert!(legacy.row("SenderParam2B60").unwrap().dependencies.is_empty());
    let odd = changed(samples::NETWORK, |s| s["resources"]["Tick23"]["attributes"] = json!("x"));
    assert!(odd.row("Tick23").unwrap().attributes.is_empty());
}

/// Retain and RetainExceptOnCreate are kept; absent is Snapshot for RDS clusters and instances of none, else Delete; a
/// policy that is not known fails the row.
#[test]
fn the_effective_policy_of_every_row() {
    let doc = doc(samples::POLICIES, Layout::Regional);
    let policy = |id: &str| doc.row(id).unwrap().policy();
    for (id, expected) in [
        ("ArchiveBucket0A", Policy::Retain),
        ("DataKey1B", Policy::Retain),
        ("DbSubnets2C", Policy::Delete),
        ("LedgerDb3D", Policy::Snapshot),
        ("ReportCluster4E", Policy::Snapshot),
        ("ReportWriter5F", Policy::Snapshot),
        ("ScratchVolume60", Policy::Snapshot),
        ("SessionTable71", Policy::Delete),
    ] {
        assert_eq!(policy(id), expected, "{id}");
    }
    let without = |id: &str| {
        let doc = changed(samples::POLICIES, |s| remove(s, &format!("/resources/{id}"), "deletionPolicy"));
        doc.row(id).unwrap().policy()
    };
    assert_eq!((without("LedgerDb3D"), without("ReportWriter5F")), (Policy::Snapshot, Policy::Delete));
    let with = |id: &str, policy: Value| {
        changed(samples::POLICIES, |s| s["resources"][id]["deletionPolicy"] = policy).row(id).unwrap().policy()
    };
    assert_eq!(with("SessionTable71", json!("delete")), Policy::Unknown("delete".into()));
    assert_eq!(with("SessionTable71", json!(null)), Policy::Unknown("null".into()));
    assert_eq!(with("SessionTable71", json!({"a": SECRET})), Policy::Unknown("an object".into()));
    assert_eq!(with("ReportCluster4E", json!("Delete")), Policy::Delete);

    let key = StackKey::new("cdkd", "LedgerData", "eu-central-1");
    let snapshot = |skip: bool| doc.row("LedgerDb3D").unwrap().to_resource(&key, skip).unwrap().snapshot;
    assert_eq!((snapshot(false), snapshot(true)), (true, false));
}

#[test]
fn what_other_stacks_and_parents_need_to_know() {
    let exporter = doc(samples::EXPORTER, Layout::Regional);
    assert_eq!(exporter.output_names(), ["shared-bus-arn", "AuditLogName"]);
    assert_eq!(exporter.export_names(), Some(vec!["shared-bus-arn".into()]));
    assert_eq!(doc(samples::REST_API, Layout::Regional).export_names(), None, "absent is unknown");
    assert_eq!(changed(samples::EXPORTER, |s| s["exportNames"] = json!("x")).export_names(), Some(vec![]));

    let importer = doc(samples::IMPORTER, Layout::Regional);
    let [import] = &importer.imports()[..] else { panic!("one import") };
    assert!(import.reads("SharedBus", "us-east-1") && import.reads("SharedBus", " US-East-1"), "regions are normalised");
    assert!(!import.reads("sharedbus", "us-east-1") && !import.reads("SharedBus", "us-east-2"));
    assert_eq!((import.name.as_str(), importer.output_reads()[0].name.as_str()), ("shared-bus-arn", "AuditLogName"));
    let odd = changed(samples::IMPORTER, |s| {
        s["imports"] = json!([7, {"sourceStack": "A"}, {"sourceStack": "A", "sourceRegion": "r", "exportName": ["***"]}]);
        s["outputReads"] = json!({"sourceStack": "A"});
    });
    assert_eq!(odd.imports(), [Import { source_stack: "A".into(), source_region: "r".into(), name: String::new() }]);
    assert!(odd.output_reads().is_empty());
    // A broken row hides no reference.
    let broken = edit(samples::IMPORTER, |s| s["resources"] = json!(null));
    assert_eq!(imports_of(broken.as_bytes()).unwrap(), importer.imports());
    assert_eq!(imports_of(br#"{"version": 12}"#).unwrap_err().ending, Ending::UnsupportedVersion);

    assert_eq!(doc(samples::LATEST, Layout::Regional).orphans(), ["OldBucketF9"]);
    let orphans_only = changed(samples::LATEST, |s| s["resources"] = json!({}));
    assert!(!orphans_only.is_empty() && orphans_only.resource_count() == 0, "orphans have to be told");
}

/// `parentStack` set: a nested child is not destroyed directly.
#[test]
fn a_nested_stack_names_its_parent() {
    let child = doc(samples::NESTED_CHILD, Layout::Regional);
    let parent = child.parent().unwrap();
    assert_eq!(
        (parent.stack.as_str(), parent.logical_id.as_str(), parent.region.as_str()),
        ("Storefront", "SearchNested1B", "us-east-1")
    );
    let refusal = child.refuse_nested(false).unwrap_err();
    assert_eq!(refusal.ending, Ending::NestedChild);
    assert!(
        refusal.message.starts_with("NESTED_STACK_CHILD_DIRECT_DESTROY: this is the nested stack SearchNested1B of Storefront")
    );
    child.refuse_nested(true).unwrap();
    doc(samples::NESTED_PARENT, Layout::Regional).refuse_nested(false).unwrap();
    for none in [json!(null), json!("")] {
        assert_eq!(changed(samples::NESTED_CHILD, |s| s["parentStack"] = none).parent(), None);
    }
    assert_eq!(changed(samples::NESTED_CHILD, |s| s["parentStack"] = json!(7)).parent().unwrap().stack, "a number");
}

#[test]
fn debug_prints_no_contents() {
    let doc = doc(samples::LATEST, Layout::Regional);
    let row = doc.row("AssetsBucket0A").unwrap();
    let shown = format!("{doc:?} {row:?}");
    assert_eq!(shown, "StateDoc(Regional, version Some(11), 15 resources) AssetsBucket0A (AWS::S3::Bucket)");
}
