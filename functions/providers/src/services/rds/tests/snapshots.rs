//! The final snapshot that a delete takes.

use ebb_core::{Code, ErrorClass, Step};

use super::*;
use crate::testing::pending;

/// The benches' time at their first step.
const NAME: &str = "orders-final-20251206-054640";

fn saving() -> impl Iterator<Item = Bench> {
    CLUSTERS.into_iter().chain([INSTANCES[0]]).map(|new| {
        let mut bench = new();
        bench.resource.snapshot = true;
        bench
    })
}

/// Up to a name that is remembered.
async fn named(bench: &mut Bench) {
    let script = look(Script::new(), bench, Some("available"), "");
    assert_eq!(pending(bench.next(script).await), (0, format!("its delete will take the final snapshot {NAME}")));
}

fn saved(name: &str) -> [String; 2] {
    ["SkipFinalSnapshot=false".to_owned(), format!("FinalDBSnapshotIdentifier={name}")]
}

/// Contract 5.4: the name is made once, remembered before it is used, and told of at the end.
#[tokio::test]
async fn the_delete_takes_a_final_snapshot_and_the_report_names_it() {
    for mut bench in saving() {
        named(&mut bench).await;
        bench.pass(3);
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &wants(&saved(NAME)));
        let (look_again, note) = pending(bench.next(script).await);
        assert_eq!((look_again, note), (30, format!("the database is being deleted; its final snapshot is {NAME}")));
        bench.pass(300);
        let script = look(Script::new(), &bench, Some("deleting"), "");
        pending(bench.next(script).await);
        let script = look(Script::new(), &bench, None, "");
        assert_eq!(bench.next(script).await, Ok(Step::gone_with(format!("final snapshot: {NAME}"))));
    }
}

#[tokio::test]
async fn every_try_uses_the_same_name() {
    for mut bench in saving() {
        named(&mut bench).await;
        for _ in 0..2 {
            bench.pass(20);
            let script = look(Script::new(), &bench, Some("backing-up"), "");
            let script =
                script.query_error(&wants(&call(&bench, "Delete", &wants(&saved(NAME)))), words(&bench).busy, "backing up");
            pending(bench.next(script).await);
        }
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &wants(&saved(NAME)));
        pending(bench.next(script).await);
    }
}

/// What a protection and a snapshot remember does not push out the other.
#[tokio::test]
async fn a_failed_snapshot_keeps_the_database_and_its_protection() {
    for mut bench in saving() {
        bench.run.options.remove_protection = true;
        let script = look(Script::new(), &bench, Some("available"), PROTECTED);
        pending(bench.next(script).await);
        let script = switch(look(Script::new(), &bench, Some("available"), PROTECTED), &bench, false);
        pending(bench.next(script).await);
        named(&mut bench).await;
        let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, "SnapshotQuotaExceeded", "not found");
        let error = bench.next(switch(script, &bench, true)).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "SnapshotQuotaExceeded"));
        assert!(error.message.ends_with("(deletion protection is on again)"));
    }
}

/// A cluster's delete gets another name, unless the cluster is going; an instance's fails.
#[tokio::test]
async fn a_name_that_is_taken() {
    for new in CLUSTERS {
        let mut bench = new();
        bench.resource.snapshot = true;
        named(&mut bench).await;
        bench.pass(7);
        let script = look(Script::new(), &bench, Some("available"), "");
        let script = refuse(script, &bench, "DBClusterSnapshotAlreadyExistsFault", "already exists");
        let other = "orders-final-20251206-054647";
        assert!(pending(bench.next(script).await).1.ends_with(other));
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &wants(&saved(other)));
        pending(bench.next(script).await);
        let script = look(Script::new(), &bench, None, "");
        assert_eq!(bench.next(script).await, Ok(Step::gone_with(format!("final snapshot: {other}"))));
    }
    let mut bench = INSTANCES[0]();
    bench.resource.snapshot = true;
    named(&mut bench).await;
    let taken = |bench: &Bench| {
        refuse(look(Script::new(), bench, Some("available"), ""), bench, "DBSnapshotAlreadyExists", "already exists")
    };
    let script = taken(&bench);
    assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
    // An accepted delete took it and failed afterwards: what was written since is not in it.
    let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
    pending(bench.next(script).await);
    bench.pass(60);
    let script = taken(&bench);
    assert!(pending(bench.next(script).await).1.ends_with("orders-final-20251206-054740"));
}

/// Its data is the cluster's, and AWS rejects the parameter, whether the state knows of the cluster or only AWS.
#[tokio::test]
async fn a_member_of_a_cluster_gets_none() {
    let member = "<DBClusterIdentifier>shop</DBClusterIdentifier>";
    for recorded in [json!({ "DBClusterIdentifier": "shop" }), json!({})] {
        let mut bench = Bench::new("AWS::RDS::DBInstance", ID, recorded);
        bench.resource.snapshot = true;
        let script = delete(look(Script::new(), &bench, Some("available"), member), &bench, &["SkipFinalSnapshot=true"]);
        pending(bench.next(script).await);
        let script = look(Script::new(), &bench, None, "");
        assert_eq!(bench.next(script).await, Ok(Step::DELETED));
    }
}

/// Its data is its own by now.
#[tokio::test]
async fn one_that_is_no_member_any_more_is_saved() {
    let mut bench = Bench::new("AWS::RDS::DBInstance", ID, json!({ "DBClusterIdentifier": "shop" }));
    bench.resource.snapshot = true;
    named(&mut bench).await;
}

/// AWS rejects it, also under the default policy; the report says that there is none.
#[tokio::test]
async fn a_read_replica_gets_none() {
    for source in ["ReadReplicaSourceDBInstanceIdentifier", "ReadReplicaSourceDBClusterIdentifier"] {
        let mut bench = INSTANCES[0]();
        bench.resource.snapshot = true;
        let live = format!("<{source}>prod</{source}>");
        let script = delete(look(Script::new(), &bench, Some("available"), &live), &bench, &["SkipFinalSnapshot=true"]);
        pending(bench.next(script).await);
        let script = look(Script::new(), &bench, None, "");
        let gone = bench.next(script).await;
        assert!(matches!(&gone, Ok(Step::GoneWith { note }) if note.contains("no final snapshot")), "{gone:?}");
    }
}

/// Of one that was gone before there is nothing to tell; of one that went unseen after its name was made there is.
#[tokio::test]
async fn a_snapshot_that_nobody_saw_taken_is_not_promised() {
    for mut bench in saving() {
        let script = look(Script::new(), &bench, None, "");
        assert_eq!(bench.next(script).await, Ok(Step::ALREADY_GONE));
        named(&mut bench).await;
        // The delete was sent and the step killed, or somebody else was first.
        let script = look(Script::new(), &bench, Some("deleting"), "");
        pending(bench.next(script).await);
        let script = look(Script::new(), &bench, None, "");
        let gone = bench.next(script).await;
        assert!(matches!(&gone, Ok(Step::GoneWith { note }) if note.contains("look whether") && note.contains(NAME)), "{gone:?}");
    }
    for mut bench in saving() {
        named(&mut bench).await;
        let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, words(&bench).not_found, "no");
        let gone = bench.next(script).await;
        assert!(matches!(&gone, Ok(Step::GoneWith { note }) if note.contains("look whether")), "{gone:?}");
    }
}

/// Contract 5.9: "not found" of whatever kind never lets a database that is there pass for gone.
#[tokio::test]
async fn a_failed_snapshot_is_never_gone() {
    for mut bench in saving() {
        named(&mut bench).await;
        for code in ["InvalidDBClusterSnapshotStateFault", "KMSKeyNotAccessibleFault", "DBSnapshotNotFound"] {
            let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, code, "snapshot not found");
            assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "{code}");
        }
        bench.fence(false);
        let script = look(Script::new(), &bench, Some("available"), "");
        assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    }
}

/// The snapshots of DocumentDB and Neptune are their clusters'.
#[tokio::test]
async fn instances_of_documentdb_and_neptune_take_none() {
    for new in [INSTANCES[1], INSTANCES[2]] {
        let mut bench = new();
        bench.resource.snapshot = true;
        let error = bench.next(Script::new()).await.unwrap_err();
        assert_eq!(error.code, Code::FinalSnapshotUnsupported.name());
    }
}
