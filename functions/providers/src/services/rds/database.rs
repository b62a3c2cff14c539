//! How a database goes: protection off, out of its global cluster, deleted with its final snapshot, looked at until it is
//! not there. Each step looks first, so that one that is going already is only watched.

use std::time::Duration;

use ebb_core::{Code, ErrorClass, Look, Resource, Step};

use super::global;
use super::kind::{Kind, Live, SNAPSHOT_EXISTS};
use crate::budget::protected;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{classify, is_blocked};
use crate::final_snapshot::{self, LONGEST};
use crate::watch::Watch;
use crate::{Cx, protection};

const LOOK_AGAIN: Duration = Duration::from_secs(30);
const GOING: &str = "the database is being deleted";

pub(super) async fn step(kind: &'static Kind, r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = kind.id(r, cx)?;
    let watch = Watch::of(cx);
    let Some(live) = kind.find(id, cx).await? else { return Ok(final_snapshot::gone(watch, cx)) };
    if live.going {
        return Ok(watch.pending_for(LOOK_AGAIN, cx, GOING));
    }
    let global = if kind.global { global::recorded(&live, r)? } else { None };
    if live.protected {
        if !cx.run.options.remove_protection {
            return Err(protected(protection::refusal()));
        }
        if let Some(step) = unprotect(kind, id, cx).await? {
            return Ok(step);
        }
    }
    if let Some(global) = global {
        match global::leave(&global, id, cx).await {
            Ok(None) => {}
            Ok(Some(step)) => return Ok(step),
            Err(call) => return Err(failed(kind, id, call, &watch, cx).await),
        }
    }
    // A member's data is its cluster's, and AWS rejects the snapshot of a member and of a replica. What AWS says counts: an
    // instance that is recorded as a member may have been made its own since.
    if !r.snapshot || live.member || live.replica {
        let watch = if r.snapshot && live.replica { watch.telling(NO_SNAPSHOT) } else { watch };
        return delete(kind, id, None, &live, watch, cx).await;
    }
    match final_snapshot::planned(cx) {
        None => Ok(final_snapshot::plan(id, LONGEST, cx)),
        Some(name) => delete(kind, id, Some(name), &live, watch.telling(final_snapshot::told(name)), cx).await,
    }
}

const NO_SNAPSHOT: &str = "it was a read replica: no final snapshot can be taken of one, the data is its source's";

async fn delete(kind: &'static Kind, id: &str, snapshot: Option<&str>, live: &Live, watch: Watch, cx: &Cx<'_>) -> StepResult {
    cx.fence.check().await?;
    match kind.delete(id, snapshot, cx).await {
        Ok(()) => {
            let note = match snapshot {
                Some(name) => format!("{GOING}; its final snapshot is {name}"),
                None => GOING.to_owned(),
            };
            Ok(watch.pending_for(LOOK_AGAIN, cx, note))
        }
        // The name may be that of the snapshot which an earlier delete took before it failed: what came since is not in it.
        Err(call) if call.is(&SNAPSHOT_EXISTS) && (kind.cluster || watch.asked()) => Ok(final_snapshot::plan(id, LONGEST, cx)),
        Err(call) if call.is(kind.rules().gone) => Ok(final_snapshot::gone(Watch::of(cx), cx)),
        Err(call) if is_blocked(&call, kind.rules()) => Err(call.held_by(live.holders.clone()).into()),
        Err(call) => Err(failed(kind, id, call, &watch, cx).await),
    }
}

/// Switches the protection off; `None` when that shows or is AWS's to refuse at the delete.
async fn unprotect(kind: &'static Kind, id: &str, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    if let Some(step) = protection::remember(cx) {
        return Ok(Some(step));
    }
    cx.fence.check().await?;
    let Err(call) = kind.protect(id, false, cx).await else {
        let step = Step::pending(Duration::from_secs(2), "deletion protection is being switched off");
        return Ok(protection::settling(cx).then_some(step));
    };
    match classify(&call, kind.rules()).class {
        ErrorClass::Terminal | ErrorClass::Denied | ErrorClass::Protected => {
            tracing::warn!(code = %call.code, "deletion protection could not be switched off");
            Ok(None)
        }
        _ => Err(call.into()),
    }
}

/// Nothing is put back after a delete that AWS accepted.
async fn failed(kind: &'static Kind, id: &str, call: CallError, watch: &Watch, cx: &Cx<'_>) -> StepError {
    if watch.asked() {
        return call.into();
    }
    protection::failed(call, kind.rules(), cx, kind.protect(id, true, cx)).await
}

pub(super) async fn look(kind: &'static Kind, r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if cx.run.options.remove_protection {
        return Ok(Look::Clear);
    }
    match kind.find(kind.id(r, cx)?, cx).await? {
        Some(Live { going: false, protected: true, .. }) => {
            Ok(Look::Refuses { code: Code::Protected, reason: protection::refusal().into() })
        }
        _ => Ok(Look::Clear),
    }
}
