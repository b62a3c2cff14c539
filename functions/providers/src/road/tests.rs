//! Roads of odd rows; what each type of the catalogue takes is held in `supported.rs`.

use ebb_core::catalogue;
use ebb_core::final_snapshot::{BY_THE_DELETE, TAKES};
use serde_json::json;

use super::*;
use crate::testing::{Bench, Script};

fn row(name: &str, provisioned_by: ProvisionedBy) -> Resource {
    Resource { provisioned_by, ..Bench::new(name, "id", json!({})).resource }
}

/// The road of a plain row, in a word.
fn word(name: &str, provisioned_by: ProvisionedBy, extra_policy: bool) -> String {
    match road(&row(name, provisioned_by), &Options::default(), extra_policy) {
        Ok(Road::Native(def)) if def.name == name => "native".into(),
        Ok(Road::Native(def)) => format!("native as {}", def.name),
        Ok(Road::CloudControl) => "Cloud Control".into(),
        Ok(Road::NoCall) => "no call".into(),
        Ok(Road::CustomResource) => "handler".into(),
        Err(error) => error.code,
    }
}

/// A record of Cloud Control stays on its road, unless Cloud Control cannot delete the type or deletes something else.
#[test]
fn a_row_of_cloud_control_stays_there_where_that_works() {
    for name in ["AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::Glue::Job"] {
        assert_eq!(word(name, ProvisionedBy::CloudControl, false), "Cloud Control", "{name}");
    }
    for name in STICKY_EXEMPT.iter().copied().chain(["AWS::EC2::NetworkAclEntry", "AWS::Glue::Table", "AWS::Budgets::Budget"]) {
        assert_eq!(word(name, ProvisionedBy::CloudControl, true), word(name, ProvisionedBy::Sdk, true), "{name}");
    }
}

/// A protected group is deleted natively: Cloud Control does not force it.
#[test]
fn a_protected_group_goes_natively_whoever_made_it() {
    let name = "AWS::AutoScaling::AutoScalingGroup";
    let options = Options { remove_protection: true, ..Options::default() };
    assert_eq!(word(name, ProvisionedBy::CloudControl, false), "Cloud Control");
    assert!(matches!(road(&row(name, ProvisionedBy::CloudControl), &options, false), Ok(Road::Native(_))));
}

/// What the plan knows by name can be deleted, but for what AWS gives no way to delete.
#[test]
fn every_type_of_the_catalogue_has_a_road() {
    let none = |name: &&str| word(name, ProvisionedBy::Sdk, false) == "NoProvider";
    let names = catalogue::entries().iter().map(|entry| entry.resource_type).filter(|name| !name.ends_with("_vpc"));
    let without: Vec<&str> = names.filter(none).collect();
    assert_eq!(without, ["AWS::CloudFormation::Stack", "AWS::QLDB::Ledger"]);
}

/// Its policies know nothing of the type: the delete would only be denied. Told before the first delete, with the fix.
#[tokio::test]
async fn a_type_without_rights_is_refused_unless_the_worker_has_more() {
    let mut bench = Bench::new("AWS::New::Thing", "id", json!({}));
    let script = Script::new();
    for error in [bench.step(&script).await.unwrap_err(), bench.look(&script).await.unwrap_err()] {
        assert_eq!(error.code, Code::NoProvider.name());
        assert!(error.message.contains("ExtraDeletePolicyArn"), "{}", error.message);
    }
    assert!(script.seen().is_empty());
    bench.extra_delete_policy = true;
    let done = json!({ "ProgressEvent": { "RequestToken": "t", "OperationStatus": "SUCCESS" } });
    let script = script.json(&["DeleteResource ", "AWS::New::Thing"], 200, done);
    assert_eq!(bench.step(&script).await, Ok(ebb_core::Step::DELETED));
}

/// No policy helps with what Cloud Control cannot delete.
#[test]
fn more_rights_do_not_make_a_type_deletable() {
    for name in ["AWS::DMS::ReplicationInstance", "AWS::WAF::WebACL", "AWS::CloudFormation::Macro", "AWS::QLDB::Ledger"] {
        assert_eq!(word(name, ProvisionedBy::CloudControl, true), "NoProvider", "{name}");
    }
}

/// Any other type with `Snapshot` is refused, its record kept and no call made.
#[tokio::test]
async fn a_type_that_takes_no_snapshot_is_refused_under_that_policy() {
    for name in ["AWS::SQS::Queue", "AWS::DynamoDB::Table", "Custom::Seed", "AWS::CDK::Metadata", "AWS::New::Thing"] {
        let mut bench = Bench::new(name, "id", json!({}));
        bench.resource.snapshot = true;
        let script = Script::new();
        assert_eq!(bench.step(&script).await.map_err(|e| e.code), Err(Code::FinalSnapshotUnsupported.name()), "{name}");
        assert!(script.seen().is_empty());
    }
}

/// Cloud Control's delete has no parameter for a snapshot, even of a type whose native step takes one.
#[test]
fn no_snapshot_is_lost_on_the_road_of_cloud_control() {
    for name in TAKES {
        let row = Resource { snapshot: true, ..row(name, ProvisionedBy::CloudControl) };
        assert!(!matches!(road(&row, &Options::default(), true), Ok(Road::CloudControl)), "{name}");
    }
}

/// The way of a row: its native step, Cloud Control, or the code of a refusal.
fn way(name: &str, properties: serde_json::Value, made: ProvisionedBy, snapshot: bool) -> String {
    let mut bench = Bench::new(name, "id", properties);
    bench.resource.provisioned_by = made;
    bench.resource.snapshot = snapshot;
    match road(&bench.resource, &Options::default(), false) {
        Ok(Road::Native(def)) => def.name.to_owned(),
        Ok(Road::CloudControl) => "Cloud Control".to_owned(),
        Ok(_) => "another road".to_owned(),
        Err(error) => error.code,
    }
}

const BY_CLOUD_CONTROL: ProvisionedBy = ProvisionedBy::CloudControl;

/// Contract 5.4: Cloud Control's delete takes no snapshot.
#[test]
fn a_row_of_cloud_control_whose_delete_takes_the_snapshot_is_refused() {
    for name in BY_THE_DELETE {
        assert_eq!(way(name, json!({}), BY_CLOUD_CONTROL, true), Code::FinalSnapshotUnsupported.name());
        assert_eq!(way(name, json!({}), ProvisionedBy::Sdk, true), **name);
    }
    for name in TAKES.iter().filter(|name| !BY_THE_DELETE.contains(name)) {
        for made in [BY_CLOUD_CONTROL, ProvisionedBy::Sdk] {
            assert_eq!(way(name, json!({}), made, true), **name);
        }
    }
    // A member gets none, whoever made it.
    let member = json!({ "DBClusterIdentifier": "shop" });
    assert_eq!(way("AWS::RDS::DBInstance", member, BY_CLOUD_CONTROL, true), "AWS::RDS::DBInstance");
}

/// Its handler would take a snapshot of its own; members of global clusters are left to it as cdkd leaves them.
#[test]
fn a_database_of_cloud_control_goes_the_native_way_without_a_snapshot() {
    let global = |value: serde_json::Value| json!({ "GlobalClusterIdentifier": value });
    for kind in ["DBCluster", "DBInstance"] {
        let rds = format!("AWS::RDS::{kind}");
        for properties in [json!({}), global(json!(null)), global(json!("world"))] {
            assert_eq!(way(&rds, properties, BY_CLOUD_CONTROL, false), rds);
        }
        for properties in [global(json!({ "Ref": "World" })), global(json!("***")), global(json!("{{resolve:ssm:x}}"))] {
            assert_eq!(way(&rds, properties, BY_CLOUD_CONTROL, false), "Cloud Control");
        }
        let neptune = format!("AWS::Neptune::{kind}");
        assert_eq!(way(&neptune, json!({}), BY_CLOUD_CONTROL, false), neptune);
        assert_eq!(way(&neptune, global(json!("world")), BY_CLOUD_CONTROL, false), "Cloud Control");
        // Nothing says how Cloud Control would address these.
        let docdb = format!("AWS::DocDB::{kind}");
        assert_eq!(way(&docdb, json!({}), BY_CLOUD_CONTROL, false), docdb);
        for name in [rds, neptune, docdb] {
            assert_eq!(way(&name, global(json!({ "Ref": "World" })), ProvisionedBy::Sdk, false), name);
        }
    }
    let cache = "AWS::ElastiCache::CacheCluster";
    assert_eq!(way(cache, json!({}), BY_CLOUD_CONTROL, false), "Cloud Control");
}
