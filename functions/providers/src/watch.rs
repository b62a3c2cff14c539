//! A delete that AWS accepts first and carries out later: asked for once, then looked at. What travels in the memo is
//! when it was asked for, and what is to be told once the resource is gone.

use std::borrow::Cow;
use std::time::Duration;

use ebb_core::{Millis, Resource, Step, catalogue};
use serde_json::{Value, json};

use crate::{Cx, memo};

const SINCE: &str = "deleting";
const TELL: &str = "tell";

/// What a look says of a resource that is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is not there, or is a record of what was.
    Gone,
    /// AWS is at it.
    Going,
    /// Nothing says that it is going: asked again, it may.
    There,
}

/// Since when a delete is under way.
pub(crate) struct Watch {
    since: Option<Millis>,
    tell: Option<String>,
}

impl Watch {
    /// As the memo remembers it.
    pub(crate) fn of(cx: &Cx<'_>) -> Self {
        Watch { since: memo::get(cx, SINCE).and_then(Value::as_u64), tell: memo::text(cx, TELL).map(str::to_owned) }
    }

    /// The same, with something to tell of the resource once it is gone.
    pub(crate) fn telling(self, what: impl Into<String>) -> Self {
        Watch { tell: Some(what.into()), ..self }
    }

    /// Whether an earlier step asked for the delete, or saw it under way.
    pub(crate) fn asked(&self) -> bool {
        self.since.is_some()
    }

    /// Whether there is something to tell.
    pub(crate) fn tells(&self) -> bool {
        self.tell.is_some()
    }

    /// How long ago it was asked for.
    pub(crate) fn waited(&self, cx: &Cx<'_>) -> Duration {
        Duration::from_millis(self.since.map_or(0, |since| cx.clock.now().saturating_sub(since)))
    }

    /// It is gone; `found` says whether the delete of this very step met it.
    pub(crate) fn gone(self, found: bool) -> Step {
        match self.tell {
            Some(what) => Step::gone_with(what),
            None => Step::Gone { already: self.since.is_none() && !found },
        }
    }

    /// Not yet: look first when half of its kind are done, then every ten seconds.
    pub(crate) fn pending(&self, r: &Resource, cx: &Cx<'_>, note: &'static str) -> Step {
        let look_again = match self.since {
            Some(_) => Duration::from_secs(10),
            None => catalogue::lookup(&r.resource_type, false).typical(),
        };
        self.pending_for(look_again, cx, note)
    }

    /// Not yet: look again after `look_again`.
    pub(crate) fn pending_for(&self, look_again: Duration, cx: &Cx<'_>, note: impl Into<Cow<'static, str>>) -> Step {
        let since = (SINCE, json!(self.since.unwrap_or_else(|| cx.clock.now())));
        let memo = match &self.tell {
            Some(what) => memo::with(cx, [since, (TELL, json!(what))]),
            None => memo::with(cx, [since]),
        };
        Step::pending_with(look_again, note, memo)
    }
}
