//! The way of a database without a snapshot, a protection or a global cluster.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::json;

use super::*;
use crate::testing::pending;

#[tokio::test]
async fn a_database_is_deleted_and_watched_until_it_is_not_there() {
    for mut bench in databases() {
        let name = bench.resource.resource_type.clone();
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
        assert_eq!(pending(bench.next(script).await), (30, "the database is being deleted".to_owned()), "{name}");
        for _ in 0..2 {
            bench.pass(30);
            let script = look(Script::new(), &bench, Some("deleting"), "");
            assert_eq!(pending(bench.next(script).await).0, 30, "{name}");
        }
        let script = look(Script::new(), &bench, None, "");
        assert_eq!(bench.next(script).await, Ok(Step::DELETED), "{name}");
    }
}

/// Not found, or a listing without it.
#[tokio::test]
async fn what_is_not_there_is_gone() {
    for mut bench in databases() {
        let script = look(Script::new(), &bench, None, "");
        assert_eq!(bench.next(script).await, Ok(Step::ALREADY_GONE));
        let about = call(&bench, "Describe", &[]);
        let script = Script::new().query_error(&wants(&about), words(&bench).not_found, "no");
        assert_eq!(bench.next(script).await, Ok(Step::ALREADY_GONE));
        // It went between the look and the delete.
        let script = look(Script::new(), &bench, Some("available"), "");
        let script = refuse(script, &bench, words(&bench).not_found, "no");
        assert_eq!(bench.next(script).await, Ok(Step::ALREADY_GONE));
    }
    for new in INSTANCES {
        let script = Script::new().query_error(&["DescribeDBInstances"], "DBInstanceNotFoundFault", "no");
        assert_eq!(new().next(script).await, Ok(Step::ALREADY_GONE));
    }
}

/// SkipFinalSnapshot is false by default, and a delete without it and without a name is rejected; DocumentDB's delete of an
/// instance knows neither.
#[tokio::test]
async fn the_delete_says_that_it_skips_the_snapshot_where_it_can() {
    for mut bench in databases() {
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
        bench.step(&script).await.unwrap();
        let sent = script.seen().pop().unwrap();
        let says = bench.resource.resource_type != "AWS::DocDB::DBInstance";
        assert_eq!(sent.contains("SkipFinalSnapshot=true"), says, "{sent}");
        assert_eq!(sent.contains("SkipFinalSnapshot"), says, "{sent}");
        assert!(!sent.contains("FinalDBSnapshotIdentifier") && !sent.contains("DeleteAutomatedBackups"), "{sent}");
    }
}

/// A delete of one that is going is answered with a state fault, which must not be taken for a failure.
#[tokio::test]
async fn one_that_is_going_already_is_only_watched() {
    for mut bench in databases() {
        let script = look(Script::new(), &bench, Some("deleting"), PROTECTED);
        assert_eq!(pending(bench.next(script).await).0, 30);
        // It came between the look and the delete.
        let script =
            refuse(look(Script::new(), &bench, Some("available"), ""), &bench, words(&bench).busy, "already being deleted");
        pending(bench.next(script).await);
        let script = look(Script::new(), &bench, None, "");
        assert_eq!(bench.next(script).await, Ok(Step::DELETED));
    }
}

#[tokio::test]
async fn one_that_is_not_going_after_all_is_asked_again() {
    for mut bench in databases() {
        for _ in 0..2 {
            let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
            pending(bench.next(script).await);
        }
    }
}

#[tokio::test]
async fn passing_errors_pass_within_their_budgets() {
    let clusters = [
        (
            "InvalidDBClusterStateFault",
            "Cluster cannot be deleted, it still contains DB instances in non-deleting state.",
            15,
            1800,
        ),
        ("InvalidDBClusterStateFault", "This cluster is a part of a global cluster, please remove it", 30, 1800),
        ("InvalidDBClusterStateFault", "the cluster is backing up", 20, 1800),
        ("InvalidDBInstanceState", "a member is rebooting", 20, 1800),
        ("InvalidGlobalClusterStateFault", "another member is leaving", 30, 1800),
    ];
    let instances = [
        ("InvalidDBInstanceState", "Instance orders is already being deleted.", 10, 3600),
        ("InvalidDBInstanceState", "Instance orders is backing-up.", 30, 3600),
        ("InvalidDBClusterStateFault", "the cluster is changing", 20, 1800),
    ];
    let rows = CLUSTERS.iter().flat_map(|new| clusters.map(|c| (new(), c)));
    for (mut bench, (code, message, wait, budget)) in rows.chain(INSTANCES.iter().flat_map(|new| instances.map(|c| (new(), c)))) {
        let script = |bench: &Bench| refuse(look(Script::new(), bench, Some("available"), ""), bench, code, message);
        let what = format!("{} {code} {message}", bench.resource.resource_type);
        let next = script(&bench);
        assert_eq!(pending(bench.next(next).await), (wait, format!("{code}: {message}")), "{what}");
        bench.pass(budget - 1);
        let next = script(&bench);
        pending(bench.next(next).await);
        bench.pass(1);
        let next = script(&bench);
        let error = bench.next(next).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, code), "{what}");
    }
}

#[tokio::test]
async fn final_errors_are_final() {
    for mut bench in databases() {
        for (code, class) in [
            ("SnapshotQuotaExceeded", ErrorClass::Terminal),
            ("KMSKeyNotAccessibleFault", ErrorClass::Terminal),
            ("InvalidParameterValue", ErrorClass::Terminal),
            ("AccessDenied", ErrorClass::Denied),
        ] {
            let script = refuse(look(Script::new(), &bench, Some("available"), ""), &bench, code, "does not exist, not found");
            assert_eq!(bench.next(script).await.map_err(|e| (e.class, e.code)), Err((class, code.to_owned())));
        }
        // A look that is denied says nothing of the database.
        let about = call(&bench, "Describe", &[]);
        let script = Script::new().query_error(&wants(&about), "AccessDenied", "not found");
        assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::Denied));
    }
}

#[tokio::test]
async fn the_members_that_hold_a_cluster_are_named() {
    let members = "<DBClusterMembers><DBClusterMember><DBInstanceIdentifier>orders-a</DBInstanceIdentifier></DBClusterMember>\
                   <DBClusterMember><DBInstanceIdentifier>orders-b</DBInstanceIdentifier></DBClusterMember></DBClusterMembers>";
    for new in CLUSTERS {
        let mut bench = new();
        let script = look(Script::new(), &bench, Some("available"), members);
        let script = refuse(script, &bench, "InvalidDBClusterStateFault", "it still contains DB instances in non-deleting state");
        let note = "InvalidDBClusterStateFault: held by orders-a (instance), orders-b (instance)";
        assert_eq!(pending(bench.next(script).await), (15, note.to_owned()));
    }
}

/// Read replicas go before their source, or are promoted by somebody.
#[tokio::test]
async fn the_replicas_that_hold_their_source_are_named() {
    let replicas = "<ReadReplicaDBInstanceIdentifiers><ReadReplicaDBInstanceIdentifier>copy-1</ReadReplicaDBInstanceIdentifier>\
                    </ReadReplicaDBInstanceIdentifiers>";
    let mut bench = Bench::new("AWS::RDS::DBInstance", ID, json!({}));
    let script = look(Script::new(), &bench, Some("available"), replicas);
    let script = refuse(script, &bench, "InvalidDBInstanceState", "it has read replicas");
    assert_eq!(pending(bench.next(script).await), (30, "InvalidDBInstanceState: held by copy-1 (read replica)".to_owned()));
}

/// All families share their names: a database of another engine came after ours was gone.
#[tokio::test]
async fn a_database_of_another_engine_is_somebody_elses() {
    for new in [CLUSTERS[1], CLUSTERS[2], INSTANCES[1], INSTANCES[2]] {
        let mut bench = new();
        let w = words(&bench);
        let list = format!("<{0}s>{1}</{0}s>", w.noun, described(&w, ID, "aurora-mysql", "available", ""));
        let script = Script::new().query(&wants(&call(&bench, "Describe", &[])), &format!("Describe{}s", w.noun), &list);
        assert_eq!(bench.next(script).await, Ok(Step::ALREADY_GONE));
    }
}

/// An Aurora cluster without instances is still there, and goes as its own row.
#[tokio::test]
async fn an_instance_leaves_its_cluster_alone() {
    let mut bench = Bench::new("AWS::RDS::DBInstance", ID, json!({ "DBClusterIdentifier": "shop" }));
    let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
    bench.step(&script).await.unwrap();
    assert!(script.seen().iter().all(|call| !call.contains("shop")), "{:?}", script.seen());
}

#[tokio::test]
async fn identifiers_are_read_from_arns_and_in_any_case() {
    for mut bench in databases() {
        let kind = if bench.resource.resource_type.ends_with("DBCluster") { "cluster" } else { "db" };
        bench.resource.physical_id = format!("arn:aws:rds:us-east-1:123456789012:{kind}:orders");
        let script = delete(look(Script::new(), &bench, Some("available"), ""), &bench, &[]);
        pending(bench.next(script).await);
    }
    let mut bench = Bench::new("AWS::RDS::DBCluster", "Orders", json!({}));
    let listed = "<DBClusters><DBCluster><DBClusterIdentifier>orders</DBClusterIdentifier><Status>deleting</Status></DBCluster></DBClusters>";
    pending(bench.next(Script::new().query(&["DBClusterIdentifier=Orders"], "DescribeDBClusters", listed)).await);
}

#[tokio::test]
async fn malformed_ids_and_other_regions_make_no_call() {
    for mut bench in databases() {
        let cluster = bench.resource.resource_type.ends_with("DBCluster");
        let (ours, other) = if cluster { ("cluster", "db") } else { ("db", "cluster") };
        for id in [format!("{other}:orders"), format!("{ours}:"), format!("{ours}:a:b"), "subgrp:orders".into()] {
            bench.resource.physical_id = format!("arn:aws:rds:us-east-1:123456789012:{id}");
            let answer = bench.next(Script::new()).await;
            assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{id}: {answer:?}");
        }
        bench.resource.physical_id = format!("arn:aws:rds:eu-west-1:123456789012:{ours}:orders");
        assert_eq!(bench.next(Script::new()).await.map_err(|e| e.code), Err(Code::WrongRegion.name()));
    }
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_deleted() {
    for mut bench in databases() {
        bench.fence(false);
        let script = look(Script::new(), &bench, Some("available"), "");
        assert_eq!(bench.next(script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    }
}
