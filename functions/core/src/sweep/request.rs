//! The input of the sweep machine, read as strictly as a teardown's.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;
use serde_json::value::RawValue;

use super::group::Row;
use super::{Place, Select};
use crate::request::fields::{Fields, invalid, known, members_of};
use crate::request::{account_of_role, is_account, is_region, is_stack_name, options, place, role, target};
use crate::state::Members;
use crate::{Options, Refusal};

/// The smallest sweep that deletes something.
pub const EXAMPLE: &str =
    r#"{"name": "old-previews", "select": {"names": ["Preview-*"], "olderThan": "72h"}, "confirm": "old-previews"}"#;
/// Names, globs, accounts or regions in one list at most.
const MOST: usize = 100;
/// The largest `limit`, and the most stacks of any sweep: an execution's history holds the events of so many.
pub const MOST_STACKS: usize = 500;
/// The largest places in bytes of JSON: the state machine hands them on twice, and a payload holds 256 KiB.
const MOST_BYTES: usize = 64 * 1024;

const FIELDS: &[&str] = &[
    "name",
    "select",
    "confirm",
    "dryRun",
    "accounts",
    "target",
    "bucket",
    "prefix",
    "removeProtection",
    "deleteData",
    "skipGuarded",
    "skipFinalSnapshot",
    "purgeEvents",
    "lockWait",
];
const SELECT_FIELDS: &[&str] = &["stacks", "names", "regions", "olderThan", "dueTag", "exclude", "limit"];
const ACCOUNT_FIELDS: &[&str] = &["account", "roleArn", "externalId", "regions", "select", "bucket", "prefix"];

/// A request that can be read as a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepRequest {
    /// The sweep's own name.
    pub name: String,
    /// Look, answer selection, order and plans, change nothing.
    pub dry_run: bool,
    /// Where stacks are looked for.
    pub places: Vec<Place>,
    /// What is allowed beyond plain teardowns.
    pub options: Options,
}

impl SweepRequest {
    /// Reads an execution's input; `default_prefix` is the app's.
    pub fn parse(input: &str, default_prefix: &str) -> Result<Self, Refusal> {
        let members = members_of(input, EXAMPLE)?;
        if members.entries.keys().all(|name| name == "Comment") {
            return Err(invalid(format!("the input names no sweep. The smallest sweep is {EXAMPLE}")));
        }
        known(&members, FIELDS, "")?;
        let fields = Fields { members: &members, of: "" };
        let name = fields.string("name")?;
        let name = name.ok_or_else(|| invalid(format!("`name` is missing. The smallest sweep is {EXAMPLE}")))?;
        if !is_sweep_name(&name) {
            return Err(invalid(
                "`name` must be 1 to 64 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
            ));
        }
        let dry_run = fields.flag("dryRun")?;
        match fields.string("confirm")? {
            _ if dry_run => {}
            Some(confirm) if confirm == name => {}
            Some(_) => return Err(invalid(format!("`confirm` is not the sweep's name: write {name} there to delete stacks"))),
            None => {
                let message = format!("`confirm` is missing: write {name} there to delete stacks, or set `dryRun` to true");
                return Err(invalid(message));
            }
        }
        let places = places(&members, default_prefix)?;
        let bytes = serde_json::to_string(&places).map_or(usize::MAX, |text| text.len());
        if bytes > MOST_BYTES {
            let message = format!(
                "`select` and `accounts` come to {bytes} bytes, each account with its own `select`; split the sweep below {MOST_BYTES}"
            );
            return Err(invalid(message));
        }
        Ok(SweepRequest { dry_run, places, options: options(&fields)?, name })
    }
}

fn places(members: &Members<'_>, default_prefix: &str) -> Result<Vec<Place>, Refusal> {
    let fields = Fields { members, of: "" };
    let common = members.get("select").map(|raw| select(raw, "select.")).transpose()?;
    let (bucket, prefix) = place(&fields)?;
    let no_select = || invalid(format!("`select` is missing: say which stacks. The smallest sweep is {EXAMPLE}"));
    let Some(accounts) = members.get("accounts") else {
        return Ok(vec![Place {
            target: members.get("target").map(target).transpose()?,
            bucket,
            prefix: prefix.unwrap_or_else(|| default_prefix.to_owned()),
            select: common.ok_or_else(no_select)?,
            found: None,
        }]);
    };
    if let Some(other) = ["target", "bucket"].iter().find(|name| members.get(name).is_some()) {
        return Err(invalid(format!("`{other}` and `accounts` exclude each other: say it in each account")));
    }
    let expected = format!("`accounts` must be a list of 1 to {MOST} objects with `account` and `roleArn`");
    let list: Vec<&RawValue> = serde_json::from_str(accounts.get()).map_err(|_| invalid(&expected))?;
    if list.is_empty() || list.len() > MOST {
        return Err(invalid(&expected));
    }
    let one = |(n, raw): (usize, &RawValue)| {
        let of = format!("accounts[{n}].");
        let members = Members::parse(raw.get()).map_err(|_| invalid(&expected))?;
        account(&members, &of, common.as_ref(), prefix.as_deref().unwrap_or(default_prefix))
    };
    let places = list.into_iter().enumerate().map(one).collect::<Result<Vec<Place>, Refusal>>()?;
    refuse_overlap(&places)?;
    Ok(places)
}

/// Refuses a roster of which two entries could choose the same stack.
pub fn refuse_overlap(places: &[Place]) -> Result<(), Refusal> {
    let pairs = places.iter().enumerate().flat_map(|(n, place)| (0..n).map(move |earlier| (earlier, n, place)));
    match pairs.into_iter().find(|(earlier, _, place)| places[*earlier].overlaps(place)) {
        None => Ok(()),
        Some((earlier, n, _)) => Err(invalid(format!(
            "`accounts[{earlier}]` and `accounts[{n}]` look into one bucket and prefix of one account, in a region that both mean: make one entry of them, or give them different `regions`"
        ))),
    }
}

/// One entry of the roster.
fn account(members: &Members<'_>, of: &str, common: Option<&Select>, default_prefix: &str) -> Result<Place, Refusal> {
    known(members, ACCOUNT_FIELDS, of)?;
    let fields = Fields { members, of };
    let account = fields.string("account")?.ok_or_else(|| fields.invalid("account", "is missing"))?;
    if !is_account(&account) {
        return Err(fields.invalid("account", "is not an account's id of 12 digits, in quotes"));
    }
    let target = role(&fields)?;
    if account_of_role(&target.role_arn) != account {
        return Err(fields.invalid("roleArn", "is a role of another account than `account` says"));
    }
    let own = members.get("select").map(|raw| select(raw, &format!("{of}select."))).transpose()?;
    let select = own.or_else(|| common.cloned());
    let mut select = select.ok_or_else(|| fields.invalid("select", "is missing, and there is no `select` for all accounts"))?;
    let regions = regions(&fields)?;
    if !regions.is_empty() {
        select.regions = regions;
    }
    let (bucket, prefix) = place(&fields)?;
    Ok(Place { target: Some(target), bucket, prefix: prefix.unwrap_or_else(|| default_prefix.to_owned()), select, found: None })
}

fn select(raw: &RawValue, of: &str) -> Result<Select, Refusal> {
    let name = of.trim_end_matches('.');
    let members = Members::parse(raw.get())
        .map_err(|_| invalid(format!(r#"`{name}` must be an object such as {{"names": ["Preview-*"], "olderThan": "72h"}}"#)))?;
    known(&members, SELECT_FIELDS, of)?;
    let fields = Fields { members: &members, of };
    let stacks = fields.strings("stacks", MOST_STACKS)?;
    if !stacks.iter().all(|stack| is_stack_name(stack)) {
        return Err(fields.invalid("stacks", "holds what is no stack's name; globs go into `names`"));
    }
    let select = Select {
        stacks,
        names: globs(&fields, "names")?,
        regions: regions(&fields)?,
        older_than: fields.string("olderThan")?.map(|text| age(&fields, &text)).transpose()?,
        due_tag: due_tag(&fields)?,
        exclude: globs(&fields, "exclude")?,
        limit: fields.whole("limit", "stacks", 1, MOST_STACKS as u64)?.and_then(|n| usize::try_from(n).ok()),
    };
    if select.stacks.is_empty() && select.names.is_empty() && select.older_than.is_none() && select.due_tag.is_none() {
        let message =
            format!(r#"`{name}` chooses every stack: say `stacks`, `names`, `olderThan` or `dueTag` (`"names": ["*"]` for all)"#);
        return Err(invalid(message));
    }
    Ok(select)
}

fn regions(fields: &Fields<'_>) -> Result<Vec<String>, Refusal> {
    let regions = fields.strings("regions", MOST)?;
    match regions.iter().all(|region| is_region(region)) {
        true => Ok(regions),
        false => Err(fields.invalid("regions", "holds what is no region's name such as us-west-2")),
    }
}

fn globs(fields: &Fields<'_>, name: &str) -> Result<Vec<String>, Refusal> {
    let globs = fields.strings(name, MOST)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "*?~-".contains(c);
    match globs.iter().all(|glob| !glob.is_empty() && glob.len() <= 255 && glob.chars().all(plain)) {
        true => Ok(globs),
        false => Err(fields.invalid(name, "holds what is no glob: letters, digits, hyphens and ~, with * and ?")),
    }
}

fn due_tag(fields: &Fields<'_>) -> Result<Option<String>, Refusal> {
    let tag = fields.string("dueTag")?;
    let plain = |c: char| c.is_alphanumeric() || " _.:/=+@-".contains(c);
    match &tag {
        Some(tag) if tag.trim().is_empty() || tag.len() > 128 || !tag.chars().all(plain) => {
            Err(fields.invalid("dueTag", "is not a tag's key such as teardown-after"))
        }
        _ => Ok(tag),
    }
}

/// `90m`, `72h`, `3d`, `2w` in seconds.
fn age(fields: &Fields<'_>, text: &str) -> Result<u64, Refusal> {
    let wrong = || fields.invalid("olderThan", "must be a number with m, h, d or w behind it, such as 72h, and at most 520w");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let digits = text.strip_suffix(unit).filter(|d| !d.is_empty() && d.len() <= 9 && d.chars().all(|c| c.is_ascii_digit()));
    let age = digits.and_then(|d| d.parse::<u64>().ok()).map(|n| n * seconds).filter(|age| (1..=520 * 604_800).contains(age));
    age.ok_or_else(wrong)
}

fn is_sweep_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Globs that passed [`SweepRequest::parse`]; one that is none after all matches nothing.
pub(super) fn glob_set(globs: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// What the teardown machine is started with for a stack of a sweep: it can wait for a lock, whose holder may deploy.
pub(super) fn teardown(sweep: &super::Sweep, place: usize, row: &Row) -> Value {
    let mut request = serde_json::json!({
        "stack": row.stack, "region": row.region, "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": sweep.execution,
    });
    if sweep.dry_run {
        request["dryRun"] = true.into();
    } else {
        request["confirm"] = row.stack.as_str().into();
    }
    if let Some(written) = row.written.get(&row.stack) {
        request["expectedLastModified"] = written.unwrap_or(0).into();
    }
    if let Some(place) = sweep.places.get(place) {
        request["prefix"] = place.prefix.as_str().into();
        if let Some(found) = &place.found {
            request["bucket"] = found.bucket.as_str().into();
        }
        if let Some(target) = &place.target {
            request["target"] = serde_json::to_value(target).unwrap_or_default();
        }
    }
    let options = serde_json::to_value(&sweep.options).unwrap_or_default();
    let said = options.as_object().into_iter().flatten().filter(|(_, value)| **value != Value::Bool(false) && **value != 0);
    for (name, value) in said {
        request[name.as_str()] = value.clone();
    }
    request
}

#[cfg(test)]
mod tests;
