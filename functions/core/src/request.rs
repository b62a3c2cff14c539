//! What a person, a schedule or another account asks: the input of the teardown machine. Read strictly, because a word
//! that is misspelt and passed over can cost a database; every refusal names the field and what to write instead.
//!
//! One field beside the request's own is let through: `AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID`, which AWS tells
//! state machines to add when they start another one, so that the console links the two.

pub(crate) mod fields;

use std::fmt;

use serde_json::value::RawValue;

use crate::state::Members;
use crate::{Millis, Options, Refusal, Target};
pub(crate) use fields::invalid;
use fields::{Fields, known, members_of};

/// The smallest request that deletes something.
pub const EXAMPLE: &str = r#"{"stack": "OrdersApi", "region": "us-west-2", "confirm": "OrdersApi"}"#;
/// The longest `lockWait`, in seconds: a day.
pub const MAX_LOCK_WAIT: u64 = 86_400;
/// The largest `expectedLastModified`: JavaScript writes no larger whole number exactly (`Number.MAX_SAFE_INTEGER`).
pub const MAX_LAST_MODIFIED: Millis = (1 << 53) - 1;

const FIELDS: &[&str] = &[
    "stack",
    "region",
    "confirm",
    "dryRun",
    "bucket",
    "prefix",
    "target",
    "removeProtection",
    "deleteData",
    "skipGuarded",
    "skipFinalSnapshot",
    "allowNestedChild",
    "purgeEvents",
    "lockWait",
    "expectedLastModified",
];
const TARGET_FIELDS: &[&str] = &["roleArn", "externalId"];
/// What the rule for `Ebb Teardown Requested` events makes of one: who asks, by EventBridge's word, and what for.
const ENVELOPE_FIELDS: &[&str] = &["requestedBy", "request"];
/// What AWS tells state machines to add when they start another one.
pub(crate) const STARTED_BY: &str = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID";

/// A request that can be read as a teardown.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The stack.
    pub stack: String,
    /// Its region; `None` when it is to be found in the bucket.
    pub region: Option<String>,
    /// Look, answer the plan, change nothing.
    pub dry_run: bool,
    /// The state bucket; `None` for the app's.
    pub bucket: Option<String>,
    /// The state prefix; `None` for the app's. May be empty.
    pub prefix: Option<String>,
    /// The role to work through.
    pub target: Option<Target>,
    /// What is allowed beyond a plain teardown.
    pub options: Options,
    /// The state's `lastModified` that the request is about, in milliseconds, 0 for none; `None` for whatever is there.
    pub expected_last_modified: Option<Millis>,
    /// The account that an event came from; `None` when the execution was not started by one.
    pub requested_by: Option<String>,
}

impl fmt::Debug for Request {
    /// Without the external id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} in {:?}, dryRun {})", self.stack, self.region, self.dry_run)
    }
}

impl Request {
    /// Reads an execution's input: a request, or an event's `{requestedBy, request}`.
    pub fn parse(input: &str) -> Result<Self, Refusal> {
        let members = members_of(input, EXAMPLE)?;
        match members.get("request") {
            None => Self::read(&members),
            Some(request) => {
                known(&members, ENVELOPE_FIELDS, "")?;
                let account = Fields { members: &members, of: "" }.string("requestedBy")?;
                let account = account.filter(|account| is_account(account));
                let account =
                    account.ok_or_else(|| invalid("`requestedBy` must be the id of the account that the event came from"))?;
                let request = Self::read(&members_of(request.get(), EXAMPLE)?)?;
                Ok(Request { requested_by: Some(account), ..request })
            }
        }
    }

    fn read(members: &Members<'_>) -> Result<Self, Refusal> {
        let ours: Vec<_> = members.entries.keys().filter(|name| !matches!(name.as_str(), STARTED_BY | "Comment")).collect();
        if ours.is_empty() {
            return Err(invalid(format!("the input names no stack. The smallest request is {EXAMPLE}")));
        }
        known(members, FIELDS, "")?;

        let fields = Fields { members, of: "" };
        let stack =
            fields.string("stack")?.ok_or_else(|| invalid(format!("`stack` is missing. The smallest request is {EXAMPLE}")))?;
        if !is_stack_name(&stack) {
            return Err(invalid(
                "`stack` is not a stack's name: a letter, then letters, digits and hyphens, 512 characters at most; nested stacks are joined by ~",
            ));
        }
        let region = fields.string("region")?;
        if region.as_deref().is_some_and(|r| !is_region(r)) {
            return Err(invalid("`region` is not a region's name such as us-west-2"));
        }
        let (bucket, prefix) = place(&fields)?;
        let dry_run = fields.flag("dryRun")?;
        match fields.string("confirm")? {
            _ if dry_run => {}
            Some(confirm) if confirm == stack => {}
            Some(_) => return Err(invalid(format!("`confirm` is not the stack's name: write {stack} there to delete it"))),
            None => {
                return Err(invalid(format!("`confirm` is missing: write {stack} there to delete it, or set `dryRun` to true")));
            }
        }
        Ok(Request {
            region,
            dry_run,
            bucket,
            prefix,
            target: members.get("target").map(target).transpose()?,
            options: options(&fields)?,
            expected_last_modified: fields.whole("expectedLastModified", "milliseconds since 1970", 0, MAX_LAST_MODIFIED)?,
            requested_by: None,
            stack,
        })
    }
}

/// `bucket` and `prefix`: where the state lies.
pub(crate) fn place(fields: &Fields<'_>) -> Result<(Option<String>, Option<String>), Refusal> {
    let bucket = fields.string("bucket")?;
    if bucket.as_deref().is_some_and(|b| !is_bucket_name(b)) {
        return Err(fields.invalid("bucket", "is not a bucket's name; leave it out for the app's default"));
    }
    let prefix = fields.string("prefix")?;
    if let Some(prefix) = &prefix {
        check_prefix(prefix).map_err(|what| fields.invalid("prefix", what))?;
    }
    Ok((bucket, prefix))
}

/// What a request allows beyond a plain teardown.
pub(crate) fn options(fields: &Fields<'_>) -> Result<Options, Refusal> {
    Ok(Options {
        remove_protection: fields.flag("removeProtection")?,
        delete_data: fields.flag("deleteData")?,
        skip_guarded: fields.flag("skipGuarded")?,
        skip_final_snapshot: fields.flag("skipFinalSnapshot")?,
        allow_nested_child: fields.flag("allowNestedChild")?,
        purge_events: fields.flag("purgeEvents")?,
        lock_wait: fields.lock_wait()?,
    })
}

/// An AWS account's id.
pub fn is_account(id: &str) -> bool {
    id.len() == 12 && id.chars().all(|c| c.is_ascii_digit())
}

/// The account of a role's ARN.
pub fn account_of_role(arn: &str) -> &str {
    arn.split(':').nth(4).unwrap_or_default()
}

/// cdkd's and CDK's stack names, nested ones joined by `~`.
pub fn is_stack_name(name: &str) -> bool {
    let mut levels = name.split('~');
    let root = levels.next().unwrap_or_default();
    name.len() <= 512
        && root.starts_with(|c: char| c.is_ascii_alphabetic())
        && root.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && levels.all(|level| !level.is_empty() && level.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// `us-west-2`, `us-gov-east-1`: tested before it becomes part of an endpoint or a key.
pub fn is_region(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let words = |parts: &[&str]| parts.iter().all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_lowercase()));
    match parts.as_slice() {
        [first, middle @ .., last] => {
            first.len() == 2
                && words(&[first])
                && !middle.is_empty()
                && words(middle)
                && last.len() == 1
                && last.chars().all(|c| c.is_ascii_digit())
                && name.len() <= 32
        }
        _ => false,
    }
}

/// S3's general rule for names.
pub fn is_bucket_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-';
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (3..=63).contains(&name.len()) && name.chars().all(inner) && name.starts_with(edge) && name.ends_with(edge)
}

/// A prefix is joined verbatim, so it may be empty or hold slashes; only Ebb's own corner of the bucket is closed to it.
pub fn check_prefix(prefix: &str) -> Result<(), &'static str> {
    match prefix {
        p if p.chars().any(char::is_control) => Err("holds control characters"),
        p if p.len() > 256 => Err("is longer than 256 bytes"),
        p if p == "ebb" || p.starts_with("ebb/") => {
            Err("is Ebb's own place in the bucket: cdkd would list the run records as stacks")
        }
        _ => Ok(()),
    }
}

/// The ARN of an IAM role.
pub fn is_role_arn(arn: &str) -> bool {
    let name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_+=,.@-/".contains(c));
    match arn.split(':').collect::<Vec<_>>()[..] {
        ["arn", partition, "iam", "", account, role] => {
            (partition == "aws" || partition.starts_with("aws-"))
                && partition.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                && is_account(account)
                && role.strip_prefix("role/").is_some_and(|r| name(r) && !r.ends_with('/') && !r.starts_with('/'))
                && arn.len() <= 640
        }
        _ => false,
    }
}

pub(crate) fn target(raw: &RawValue) -> Result<Target, Refusal> {
    let members = Members::parse(raw.get())
        .map_err(|_| invalid(r#"`target` must be an object: {"roleArn": "arn:aws:iam::123456789012:role/ebb-target"}"#))?;
    known(&members, TARGET_FIELDS, "target.")?;
    role(&Fields { members: &members, of: "target." })
}

/// `roleArn` and `externalId`.
pub(crate) fn role(fields: &Fields<'_>) -> Result<Target, Refusal> {
    let role_arn = fields.string("roleArn")?.ok_or_else(|| fields.invalid("roleArn", "is missing"))?;
    if !is_role_arn(&role_arn) {
        return Err(fields.invalid("roleArn", "is not a role's ARN such as arn:aws:iam::123456789012:role/ebb-target"));
    }
    let external_id = fields.string("externalId")?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@:/-".contains(c);
    if external_id.as_deref().is_some_and(|id| !(2..=1224).contains(&id.len()) || !id.chars().all(allowed)) {
        return Err(fields.invalid("externalId", "must be 2 to 1224 of the characters A-Z a-z 0-9 _ + = , . @ : / -"));
    }
    Ok(Target { role_arn, external_id })
}

#[cfg(test)]
mod tests;
