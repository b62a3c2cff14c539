//! What one step asks the next to be told.

use serde_json::{Value, json};

use crate::Cx;

/// The memo as it is, with one thing more.
pub(crate) fn with(cx: &Cx<'_>, key: &str, value: impl serde::Serialize) -> Value {
    let mut memo = cx.memo.and_then(Value::as_object).cloned().unwrap_or_default();
    memo.insert(key.to_owned(), json!(value));
    Value::Object(memo)
}
