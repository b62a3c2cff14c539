//! What the tables' tests share.

use super::*;
use crate::{Options, Run};

/// A round instant.
pub(crate) const T: Millis = 1_765_000_000_000;

pub(crate) fn me() -> Identity {
    Identity { owner: "ebb@1:r/m/n".into(), timestamp: T }
}

pub(crate) fn run() -> Run {
    Run {
        run_id: "r".into(),
        execution: "arn:aws:states:r:1:execution:m:n".into(),
        owner: me().owner,
        timestamp: T,
        account: "1".into(),
        bucket: "cdkd-state-1".into(),
        bucket_region: "r".into(),
        prefix: "cdkd".into(),
        stack: "OrdersApi".into(),
        region: "us-west-2".into(),
        target: None,
        dry_run: false,
        expected_last_modified: None,
        options: Options::default(),
    }
}

pub(crate) fn seen(json: &str) -> Seen {
    match Reading::of(json.as_bytes()) {
        Reading::Lock(seen) => seen,
        other => panic!("{other:?}"),
    }
}

/// A GET's reply with this body, ETag `"e"` and a `Date` of `date`.
pub(crate) fn found(json: &str, date: Millis) -> Reply {
    Reply::Found { body: json.as_bytes().to_vec(), etag: Some("\"e\"".into()), date: Some(date) }
}

/// Our open lock that ends at `end`.
pub(crate) fn ours(end: Millis) -> Reply {
    found(&LockBody { expires_at: end, ..LockBody::open(&me(), T) }.to_json(), T)
}

/// Our closed lock.
pub(crate) fn ours_closed() -> Reply {
    found(&LockBody::closed(&me(), None, T).to_json(), T)
}

/// Somebody else's lock that ends at `end`, seen at `date`.
pub(crate) fn theirs(end: Millis, date: Millis) -> Reply {
    found(&format!(r#"{{"owner":"jo@host:1","timestamp":5,"expiresAt":{end},"operation":"deploy"}}"#), date)
}

/// Feeds replies at [`T`]; answers the requests that were asked, as words, and the verdict if there is one.
pub(crate) fn play<M: Machine>(mut machine: M, replies: Vec<Reply>) -> (String, Option<M::Verdict>) {
    let mut asked = Vec::new();
    for reply in replies {
        asked.push(word(&machine.ask()));
        match machine.told(reply, T) {
            Progress::Next(next) => machine = next,
            Progress::Done(verdict) => return (asked.join(" "), Some(verdict)),
        }
    }
    asked.push(word(&machine.ask()));
    (asked.join(" "), None)
}

fn word(ask: &Ask) -> &'static str {
    match ask {
        Ask::Get => "get",
        Ask::PutIfAbsent(_) => "create",
        Ask::PutIfMatch { .. } => "put",
        Ask::DeleteIfMatch { .. } => "delete",
        Ask::Pause(_) => "pause",
    }
}
