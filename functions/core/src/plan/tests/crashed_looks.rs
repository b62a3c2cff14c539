use serde_json::json;

use super::{Bench, QUEUE, TABLE, crashed};
use crate::Status;

// A look that crashes again and again fails its row; nothing was begun, and the record says so.
#[test]
fn a_look_that_crashes_four_times_has_begun_nothing() {
    let mut bench = Bench::new(json!([["Table", TABLE, null, {}, ["Base"]], ["Base", QUEUE]]));
    bench.plan(&[]);
    let (mut looks, mut plans) = (0, 0);
    while bench.status("Table") != Status::Failed {
        plans += 1;
        assert!(plans < 20, "it ends");
        let crash = bench.items().first().map(|item| {
            assert!(item.look && item.id == "S/Table");
            crashed(&bench, "Table")
        });
        looks += usize::from(crash.is_some());
        bench.now += bench.seconds() * 1000;
        bench.plan(crash.as_slice());
    }
    let row = bench.row("Table");
    assert_eq!((looks, row.code.as_deref(), row.started_at, row.wave), (4, Some("WorkerCrashed"), 0, 0));
    assert_eq!(bench.status("Base"), Status::Blocked);
}
