//! Who is asked: the function or topic that `ServiceToken` names, in its own region.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_lambda::types::{LastUpdateStatus, State};
use ebb_core::provider::Masked;
use ebb_core::service_token::{self, NoToken};
use ebb_core::{DeleteError, ErrorClass, Resource, Step};

use super::{Memo, READINESS, send};
use crate::call::{CallError, StepError};
use crate::{Clients, Cx};

const NOT_FOUND: &[&str] = &["ResourceNotFoundException"];

/// What a handler runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lambda,
    Sns,
}

/// A custom resource's handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handler<'a> {
    pub(super) kind: Kind,
    /// `ServiceToken` as recorded.
    pub(super) token: &'a str,
    /// The region in the token; `None` is the stack's.
    pub(super) region: Option<&'a str>,
}

impl<'a> Handler<'a> {
    /// Reads the row's `ServiceToken`.
    pub(super) fn of(r: &'a Resource) -> Result<Self, StepError> {
        let token = service_token::of(&r.properties).map_err(|none| match none {
            NoToken::NoProperties | NoToken::Missing => {
                StepError::Skip { code: none.code(), reason: format!("{} — Delete handler not invoked", none.reason()) }
            }
            NoToken::NoText(_) | NoToken::NoRegion => DeleteError::refused(none.code(), none.reason()).into(),
            NoToken::Masked => Masked { property: "ServiceToken".into() }.into(),
        })?;
        let kind = match token.split(':').collect::<Vec<_>>()[..] {
            ["arn", partition, "sns", _, ..] if partition.starts_with("aws") => Kind::Sns,
            _ => Kind::Lambda,
        };
        Ok(Handler { kind, token, region: service_token::region(token) })
    }

    /// Clients where the handler is.
    pub(super) fn clients(&self, cx: &Cx<'_>) -> Arc<Clients> {
        cx.aws.in_region(self.region.unwrap_or(cx.aws.region()))
    }

    /// Whether a request of that size can be sent at all.
    pub(super) fn admits(&self, bytes: usize) -> Result<(), StepError> {
        let (limit, name) = match self.kind {
            Kind::Lambda => (6 * 1024 * 1024, "6 MB of an invocation"),
            Kind::Sns => (256 * 1024, "256 KB of a message"),
        };
        if bytes <= limit {
            return Ok(());
        }
        let message = format!("the request to the handler is over the {name}: not sent");
        Err(StepError::Ours(DeleteError {
            class: ErrorClass::Terminal,
            code: "RequestTooLarge".into(),
            message,
            request_id: None,
        }))
    }

    /// A missing function ends the row, one that is being made ready is waited for; `None`: ask it now. What a look
    /// cannot tell, the invocation will.
    pub(super) async fn readiness(&self, cx: &Cx<'_>, memo: Memo) -> Result<Option<Step>, StepError> {
        if self.kind == Kind::Sns {
            return Ok(None);
        }
        let found = match self.clients(cx).lambda().get_function().function_name(self.token).send().await.map_err(CallError::from)
        {
            Ok(found) => found,
            Err(error) if error.is(NOT_FOUND) => {
                tracing::warn!(handler = self.token, "the handler is gone: whatever it managed may still be there");
                return Ok(Some(Step::ALREADY_GONE));
            }
            Err(_) => return Ok(None),
        };
        let configuration = found.configuration();
        let ready = configuration.and_then(|c| c.state()) != Some(&State::Pending)
            && configuration.and_then(|c| c.last_update_status()) != Some(&LastUpdateStatus::InProgress);
        let now = cx.clock.now();
        let since = memo.waiting.unwrap_or(now);
        if ready || now.saturating_sub(since) >= READINESS {
            return Ok(None);
        }
        Memo { waiting: Some(since), ..memo }.pending(Duration::from_secs(3), "the handler's function is being updated").map(Some)
    }

    /// Asks the handler, without any retry.
    pub(super) async fn ask(&self, cx: &Cx<'_>, body: String) -> send::Sent {
        let clients = self.clients(cx);
        match self.kind {
            Kind::Lambda => send::invoke(&clients, self.token, body).await,
            Kind::Sns => send::publish(&clients, self.token, body).await,
        }
    }
}
