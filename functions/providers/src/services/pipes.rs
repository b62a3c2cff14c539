//! EventBridge Pipes. A pipe holds its name while it is DELETING, and a delete can fail or roll back after it was accepted.

use std::time::Duration;

use aws_sdk_pipes::operation::describe_pipe::DescribePipeOutput;
use aws_sdk_pipes::types::PipeState;
use ebb_core::{DeleteError, ErrorClass, Millis, Resource, Step};
use serde::{Deserialize, Serialize};

use crate::Cx;
use crate::arn::name_of;
use crate::call::{CallResult, StepResult};
use crate::classify::{Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["NotFoundException"];

pub(crate) const TYPES: &[TypeDef] = &[TypeDef {
    name: "AWS::Pipes::Pipe",
    step: |r, cx| Box::pin(pipe(r, cx)),
    look: None,
    actions: &["pipes:DeletePipe", "pipes:DescribePipe"],
    rules: Rules {
        gone: GONE,
        retry: &[retry("ConflictException", 5, 300), retry("ThrottlingException", 2, 60), retry("InternalException", 3, 60)],
        ..Rules::NONE
    },
}];

const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A delete that was accepted so long ago counts as done, while the pipe is DELETING.
const PATIENCE: Duration = Duration::from_secs(600);

/// What was seen of an accepted delete.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Memo {
    /// When it was accepted.
    deleting: Millis,
    /// A look has shown DELETING: what was read before may be old.
    seen: bool,
    /// Since when looks have shown a pipe that is not going.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    back: Option<Millis>,
}

async fn pipe(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let name = name_of(r, "pipe/", cx)?;
    let Some(mut memo) = cx.memo.and_then(|memo| Memo::deserialize(memo).ok()) else {
        cx.aws.pipes().delete_pipe().name(name).send().await?;
        return Ok(pending(Memo { deleting: cx.clock.now(), seen: false, back: None }));
    };
    let Some(found) = cx.aws.pipes().describe_pipe().name(name).send().await.ignore(GONE)? else {
        return Ok(Step::DELETED);
    };
    let waited = Duration::from_millis(cx.clock.now().saturating_sub(memo.deleting));
    match found.current_state() {
        Some(PipeState::Deleting) if waited >= PATIENCE => {
            tracing::warn!(resource = r.logical_id, "the pipe is still DELETING: its accepted delete counts as done");
            return Ok(Step::DELETED);
        }
        Some(PipeState::Deleting) => memo = Memo { seen: true, back: None, ..memo },
        Some(PipeState::DeleteFailed | PipeState::DeleteRollbackFailed) => return Err(failed(&found).into()),
        Some(state) if memo.seen && state.as_str().ends_with("_FAILED") => return Err(failed(&found).into()),
        Some(PipeState::Running | PipeState::Stopped) if memo.seen => {
            let now = cx.clock.now();
            let since = *memo.back.get_or_insert(now);
            if now.saturating_sub(since) >= LOOK_AGAIN.as_millis() as Millis {
                return Err(failed(&found).into());
            }
        }
        _ => {}
    }
    if waited >= PATIENCE {
        return Err(failed(&found).into());
    }
    Ok(pending(memo))
}

fn pending(memo: Memo) -> Step {
    Step::pending_with(LOOK_AGAIN, "the pipe is DELETING", serde_json::json!(memo))
}

/// The accepted delete did not end with the pipe gone.
fn failed(found: &DescribePipeOutput) -> DeleteError {
    let state = found.current_state().map_or("unknown", PipeState::as_str);
    let reason = found.state_reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    DeleteError {
        class: ErrorClass::Terminal,
        code: state.to_owned(),
        message: format!("the delete was accepted, but the pipe is {state}{reason}"),
        request_id: None,
    }
}

#[cfg(test)]
mod tests;
