//! What a step tells the next: one JSON object, to which the step, its protection and its watch each add their keys.

use serde_json::Value;

use crate::Cx;

/// What an earlier step remembered under `key`.
pub(crate) fn get<'a>(cx: &'a Cx<'_>, key: &str) -> Option<&'a Value> {
    cx.memo.and_then(|memo| memo.get(key))
}

/// A text that an earlier step remembered under `key`.
pub(crate) fn text<'a>(cx: &'a Cx<'_>, key: &str) -> Option<&'a str> {
    get(cx, key).and_then(Value::as_str)
}

/// The memo with `more` in it; whatever else is in it stays.
pub(crate) fn with<const N: usize>(cx: &Cx<'_>, more: [(&str, Value); N]) -> Value {
    let mut memo = cx.memo.and_then(Value::as_object).cloned().unwrap_or_default();
    memo.extend(more.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(memo)
}
