//! What a step of this road remembers for the next.

use ebb_core::{Millis, Step};
use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::Cx;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Memo {
    /// Requests that failed so far: each new one needs a client token of its own, or the old failure comes back.
    pub generation: u64,
    /// The running delete request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// When the running request was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Millis>,
    /// How often the running request was looked at.
    #[serde(skip_serializing_if = "is_zero")]
    pub looks: u32,
    /// The failure that goes on from request to request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// When the protection was seen on, before this run switched it off; the name that `protection.rs` reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection_on_at: Option<Millis>,
    /// The request that switches the protection off, or on again once `failed` stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// The protection needs no more patch before the delete.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub patched: bool,
    /// How the delete failed for good: told when the protection is on again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
}

/// A passing failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Failing {
    pub code: String,
    pub since: Millis,
    pub times: u32,
}

/// A final failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failed {
    pub code: String,
    pub message: String,
    pub denied: bool,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Memo {
    pub fn of(cx: &Cx<'_>) -> Self {
        cx.memo.and_then(|memo| Memo::deserialize(memo).ok()).unwrap_or_default()
    }

    /// Look again later, with this memo.
    pub fn pending(&self, look_again: Duration, note: impl Into<std::borrow::Cow<'static, str>>) -> Step {
        Step::pending_with(look_again, note, serde_json::json!(self))
    }

    /// The memo with a request that runs.
    pub fn running(self, token: &str, cx: &Cx<'_>) -> Self {
        Memo { token: Some(token.to_owned()), asked_at: Some(cx.clock.now()), looks: 0, ..self }
    }

    /// The memo without a request: the next step makes a new one.
    pub fn anew(self) -> Self {
        Memo { generation: self.generation + 1, token: None, asked_at: None, looks: 0, ..self }
    }
}
