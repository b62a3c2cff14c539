//! A large state is read in part: the row where the planner saw it, as long as the state is the one that the planner judged.

use std::sync::atomic::Ordering;

use ebb_core::{Code, Outcome, Resource, Span, Step};
use ebb_store::{BucketErrorKind, state_file};
use serde_json::{Value, json};

use super::bench::{Bench, bench, row};

const LARGE: usize = 300_000;

/// The queue in a large state beside another one, and an item that knows where it lies there.
async fn large() -> Bench {
    let mut bench = bench();
    written(&bench, json!({ "Queue": queue("https://q/orders"), "Other": queue("https://q/others") }));
    bench.request.item.span = Some(span(&bench, "Queue").await);
    bench
}

fn queue(id: &str) -> Value {
    row("AWS::SQS::Queue", id, json!({ "QueueName": "orders", "Note": "ü \" {}" }))
}

/// Writes the state with these rows between two large ones.
fn written(bench: &Bench, rows: Value) {
    let note = |id: &str| row("AWS::SSM::Parameter", id, json!({ "Value": "x".repeat(LARGE) }));
    let mut all = json!({ "Before": note("before") });
    let members = all.as_object_mut().unwrap();
    members.extend(rows.as_object().unwrap().clone());
    members.insert("Behind".into(), note("behind"));
    bench.state("Orders", all);
}

async fn span(bench: &Bench, logical_id: &str) -> Span {
    let file = state_file::read(&bench.store.memory, &bench.request.run.key()).await.unwrap().unwrap();
    file.span(logical_id).unwrap()
}

/// What the provider is given, and how many bytes of states were read for it.
async fn given(bench: &Bench) -> (Resource, u64) {
    bench.answers(Ok(Step::DELETED));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.already, result.code), (Outcome::Deleted, false, None));
    (bench.provider.seen.lock().unwrap().pop().unwrap().0, bench.store.hook.state_bytes.swap(0, Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn a_span_gives_the_row_of_the_whole_state() {
    let mut bench = large().await;
    let (in_place, read) = given(&bench).await;
    let span = bench.request.item.span.take().unwrap();
    assert_eq!(read, span.last - span.first + 1);
    let (of_the_whole, read) = given(&bench).await;
    assert!(read > 2 * LARGE as u64, "{read}");
    assert_eq!(in_place, of_the_whole);
    assert_eq!(in_place.properties["QueueName"], json!("orders"));
}

/// Somebody wrote the state since: it is read as it is now, whatever lies at the span.
#[tokio::test(start_paused = true)]
async fn another_state_is_read_whole() {
    let bench = large().await;
    // Just as long, so that the span fits the row that must not be taken.
    written(&bench, json!({ "Queue": queue("https://q/others"), "Other": queue("https://q/orders") }));
    let (resource, read) = given(&bench).await;
    assert_eq!(resource.physical_id, "https://q/others");
    assert!(read > 2 * LARGE as u64);

    let mut kept = queue("https://q/orders");
    kept["deletionPolicy"] = json!("Retain");
    written(&bench, json!({ "Queue": kept }));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Failed, Some("Retain")));

    written(&bench, json!({}));
    let result = bench.step().await;
    assert_eq!((result.outcome, result.already, result.code), (Outcome::Deleted, true, Some(Code::RecordGone.name())));

    bench.store.memory.raw_delete(&bench.request.run.key().state());
    let result = bench.step().await;
    assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Pending, Some("StateNotFound")));
}

/// A span that does not hold exactly the item's row is passed over.
#[tokio::test(start_paused = true)]
async fn what_is_not_the_row_is_never_acted_on() {
    let mut bench = large().await;
    let (right, other, behind) =
        (bench.request.item.span.clone().unwrap(), span(&bench, "Other").await, span(&bench, "Behind").await);
    let moved = |first: i64, last: i64| Span {
        first: right.first.checked_add_signed(first).unwrap(),
        last: right.last.checked_add_signed(last).unwrap(),
        ..right.clone()
    };
    let far = Span { first: 10_000_000, last: 10_000_050, ..right.clone() };
    let backwards = Span { first: right.last, last: right.first, ..right.clone() };
    for wrong in [moved(1, 0), moved(0, -1), moved(-1, 0), moved(0, 1), moved(1, 1), other, behind, far, backwards] {
        bench.request.item.span = Some(wrong.clone());
        let (resource, read) = given(&bench).await;
        assert_eq!((resource.logical_id.as_str(), resource.physical_id.as_str()), ("Queue", "https://q/orders"), "{wrong:?}");
        assert!(read > 2 * LARGE as u64, "{wrong:?}");
    }
    // The right row of another type than the item's: the whole state says what it is.
    bench.request.item.span = Some(right);
    bench.request.item.resource_type = "AWS::SNS::Topic".into();
    let (resource, read) = given(&bench).await;
    assert_eq!(resource.resource_type, "AWS::SQS::Queue");
    assert!(read > 2 * LARGE as u64);
}

/// A bucket that does not answer is not asked twice for one row.
#[tokio::test(start_paused = true)]
async fn a_span_that_cannot_be_read_is_no_reason_to_call_a_row_deleted() {
    for (kind, code) in [(BucketErrorKind::Denied, "AccessDenied"), (BucketErrorKind::Unavailable, "Error")] {
        let bench = large().await;
        *bench.store.hook.fails.lock().unwrap() = Some(("/state.json", kind));
        let result = bench.step().await;
        assert_eq!((result.outcome, result.code.as_deref()), (Outcome::Pending, Some(code)));
        assert_eq!((bench.asked(), bench.store.hook.of_state.load(Ordering::SeqCst)), (0, 1));
    }
}
