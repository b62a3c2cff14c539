//! Whose mark it is: one of another invocation, whole and well-formed, means that the handler was asked.

use std::collections::BTreeMap;

use ebb_core::Step;
use ebb_store::Put;
use serde_json::json;

use super::bench::{pending, ready, with_function};

/// 412 ⇒ poll only, unless the placeholder's metadata names this very invocation.
#[tokio::test]
async fn a_mark_that_names_another_invocation_is_polled() {
    let mut custom = with_function();
    let metadata = [("ebb-invocation", "0123456789abcdef-1765000000000"), ("ebb-delivered", "1765000000000")];
    let metadata: BTreeMap<String, String> = metadata.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    *custom.bucket.hook.put_first.lock().unwrap() = Some(Put { metadata, ..Put::json("") });
    let script = ready();
    assert_eq!(pending(custom.step(&script).await).as_secs(), 2);
    script.assert_done();
    assert_eq!(script.seen().len(), 1, "one look at the function, no invocation: {:?}", script.seen());
    assert_eq!(custom.bench.memo.as_ref().unwrap()["step"]["delivered"], json!(1_765_000_000_000_u64));
    custom.answer(0, &json!({ "Status": "SUCCESS" }));
    assert_eq!(custom.poll().await, Ok(Step::DELETED));
}
