//! `force-unlock`: removes a stack's lock whoever holds it. Only ever an operator's word, invoked directly; no run and
//! no state machine calls it. A live holder finds its lock gone at its next renewal and stops.

use ebb_core::lock::Reading;
use ebb_core::payload::ForceUnlockRequest;
use ebb_core::request::{Request, check_prefix, is_bucket_name, is_region, is_role_arn, is_stack_name};
use ebb_core::{Ending, Options, Refusal, Run, StackKey, text};
use ebb_store::lambda::Failure;
use ebb_store::versions::purge;
use ebb_store::{Bucket, When, regions_of};
use serde::{Deserialize, Serialize};

use crate::Deps;

/// Names the session of an operator's call.
const SESSION: &str = "force-unlock";
/// Where a stack without state is looked for when the function does not know its own region.
const LAST_RESORT: &str = "us-east-1";

/// One lock that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unlocked {
    /// The lock's key.
    pub key: String,
    /// Whose it was; display-safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What it was held for; display-safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Why it could not be removed, or what stayed behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Answer of `force-unlock`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForceUnlockAnswer {
    /// Locks that are gone now.
    pub removed: Vec<Unlocked>,
    /// Where no lock was.
    pub absent: Vec<Unlocked>,
    /// Locks that could not be removed.
    pub failed: Vec<Unlocked>,
    /// 1 when one could not be removed.
    pub exit_class: u8,
}

/// Removes the locks that `request` names.
pub(crate) async fn force_unlock(request: &ForceUnlockRequest, deps: &Deps) -> Result<ForceUnlockAnswer, Failure> {
    let place = place(request, deps).await?;
    let bucket = deps.world.accounts.bucket(&place).await?;
    let mut answer = ForceUnlockAnswer::default();
    for key in keys(request, &place, bucket.as_ref(), deps).await? {
        remove(bucket.as_ref(), key, &mut answer).await;
    }
    answer.exit_class = u8::from(!answer.failed.is_empty());
    Ok(answer)
}

/// GET (only to say whose it was) → unconditional DELETE → purge of the old versions.
async fn remove(bucket: &dyn Bucket, key: String, answer: &mut ForceUnlockAnswer) {
    let mut lock = Unlocked { key, owner: None, operation: None, message: None };
    let found = bucket.get(&lock.key).await;
    if let Ok(Some(object)) = &found
        && let Reading::Lock(seen) = Reading::of(&object.body)
    {
        lock.owner = Some(seen.owner).filter(|owner| !owner.is_empty());
        lock.operation = Some(seen.operation).filter(|operation| !operation.is_empty());
    }
    if let Err(error) = bucket.delete(&lock.key, When::Always).await {
        tracing::warn!(key = %lock.key, cause = %error, "lock not removed");
        lock.message = Some(text::display(&error.to_string()));
        answer.failed.push(lock);
        return;
    }
    lock.message = purge(bucket, &lock.key).await;
    let absent = matches!(found, Ok(None));
    tracing::warn!(key = %lock.key, owner = ?lock.owner, operation = ?lock.operation, absent, warning = ?lock.message, "forced open");
    if absent { answer.absent.push(lock) } else { answer.removed.push(lock) }
}

/// The locks: of the given region; else of every region that has state of that name; else where it would be.
async fn keys(request: &ForceUnlockRequest, place: &Run, bucket: &dyn Bucket, deps: &Deps) -> Result<Vec<String>, Failure> {
    let at = |region: &str| StackKey::new(&place.prefix, &place.stack, region);
    if let Some(region) = &request.region {
        return Ok(vec![at(region).lock()]);
    }
    let listed = regions_of(bucket, &place.prefix, &place.stack).await.map_err(|error| {
        Failure::new(
            Ending::Error.name(),
            &format!("the regions of {} could not be listed, nothing was removed: {error}", place.stack),
        )
    })?;
    for region in listed.iter().filter_map(|stack| stack.region.as_deref()) {
        deps.rails.admits_region(region)?;
    }
    let mut keys = Vec::new();
    // Only a stack that lives in the old layout alone is locked there too.
    if !listed.is_empty() && listed.iter().all(|stack| stack.legacy) {
        keys.push(at("").legacy_lock());
    }
    keys.extend(listed.iter().filter_map(|stack| stack.region.as_deref()).map(|region| at(region).lock()));
    if keys.is_empty() {
        keys.push(at(deps.home_region.as_deref().unwrap_or(LAST_RESORT)).lock());
    }
    Ok(keys)
}

/// Checks the request and finds its bucket. The place is worded as a run, because that is how buckets are reached; it
/// holds no lock and has no execution.
async fn place(request: &ForceUnlockRequest, deps: &Deps) -> Result<Run, Refusal> {
    let invalid = |what: &str| Err(Refusal::new(Ending::InvalidRequest, what));
    if !is_stack_name(&request.stack) {
        return invalid("`stack` is not the name of a stack, such as OrdersApi");
    }
    if request.region.as_deref().is_some_and(|region| !is_region(region)) {
        return invalid("`region` is not the name of a region, such as us-west-2");
    }
    if request.bucket.as_deref().is_some_and(|bucket| !is_bucket_name(bucket)) {
        return invalid("`bucket` is not the name of a bucket");
    }
    let prefix = request.prefix.clone().unwrap_or_else(|| deps.rails.default_prefix.clone());
    if let Err(what) = check_prefix(&prefix) {
        return invalid(&format!("`prefix` {what}"));
    }
    if request.target.as_ref().is_some_and(|target| !is_role_arn(&target.role_arn)) {
        return invalid("`target.roleArn` is not the ARN of a role");
    }
    // Which stacks and which roles is the app's owner's word here too; a pause is not: a dead lock may be cleared in one.
    let mut rails = deps.rails.clone();
    rails.paused = false;
    let asked = Request {
        stack: request.stack.clone(),
        region: request.region.clone(),
        dry_run: false,
        bucket: request.bucket.clone(),
        prefix: request.prefix.clone(),
        target: request.target.clone(),
        options: Options::default(),
        expected_last_modified: None,
        requested_by: None,
    };
    // Nobody's event, so it does not matter which account is the app's own.
    rails.admits_request(&asked, "")?;
    let target = request.target.as_ref();
    let accounts = &deps.world.accounts;
    let account = accounts.account(target, SESSION).await?;
    let name = deps.rails.bucket(request.bucket.as_deref(), target);
    let found = accounts.find_bucket(target, SESSION, &account, name, request.region.as_deref()).await?;
    Ok(Run {
        run_id: SESSION.to_owned(),
        execution: String::new(),
        owner: String::new(),
        timestamp: 0,
        account,
        bucket: found.name,
        bucket_region: found.region,
        prefix,
        stack: request.stack.clone(),
        region: request.region.clone().unwrap_or_default(),
        target: request.target.clone(),
        dry_run: true,
        expected_last_modified: None,
        options: Options::default(),
    })
}

#[cfg(test)]
mod tests {
    use ebb_core::Target;

    use super::*;
    use crate::testing::{Bed, T, foreign};

    fn request(stack: &str) -> ForceUnlockRequest {
        ForceUnlockRequest { stack: stack.into(), region: None, bucket: None, prefix: None, target: None }
    }

    fn keys(locks: &[Unlocked]) -> Vec<&str> {
        locks.iter().map(|lock| lock.key.as_str()).collect()
    }

    async fn unlock(bed: &Bed, request: &ForceUnlockRequest) -> ForceUnlockAnswer {
        force_unlock(request, &bed.deps).await.unwrap()
    }

    /// GET (only to log whose lock it was, sanitised) → unconditional DELETE → purge versions.
    #[tokio::test(start_paused = true)]
    async fn a_lock_is_removed_whoever_holds_it() {
        let bed = Bed::new();
        bed.put_state("S");
        bed.put_lock("S", &foreign(T + 1).replace("jo@", "jo\\u001b@"));
        let answer = unlock(&bed, &request("S")).await;
        assert_eq!(keys(&answer.removed), ["cdkd/S/us-west-2/lock.json"]);
        assert_eq!(answer.removed[0].owner.as_deref(), Some("jo @host:1"));
        assert_eq!((bed.lock("S"), answer.exit_class), (None, 0));
        let versions = bed.bucket.versions("cdkd/S/us-west-2/lock.json").await.unwrap();
        assert!(versions.iter().all(|version| version.latest), "{versions:?}");
    }

    /// Also one that nobody can read: only force-unlock can clear it.
    #[tokio::test(start_paused = true)]
    async fn a_lock_that_is_not_json_is_cleared() {
        let bed = Bed::new();
        bed.put_state("S");
        bed.put_lock("S", "{");
        assert_eq!(keys(&unlock(&bed, &request("S")).await.removed), ["cdkd/S/us-west-2/lock.json"]);
        assert_eq!(bed.lock("S"), None);
    }

    /// Absent lock: success.
    #[tokio::test(start_paused = true)]
    async fn an_absent_lock_is_fine() {
        let bed = Bed::new();
        bed.put_state("S");
        let answer = unlock(&bed, &request("S")).await;
        assert_eq!((keys(&answer.absent), answer.exit_class), (vec!["cdkd/S/us-west-2/lock.json"], 0));
    }

    /// Given region; else every region that has state for that name; a legacy-only stack → its own lock; no state at
    /// all → ambient region, else us-east-1.
    #[tokio::test(start_paused = true)]
    async fn the_regions_of_a_stack() {
        let bed = Bed::new();
        bed.put("cdkd/S/us-west-2/state.json", "{}");
        bed.put("cdkd/S/eu-west-1/state.json", "{}");
        bed.put("cdkd/S~A/eu-west-1/state.json", "{}");
        bed.put("cdkd/Old/state.json", r#"{"region":"eu-west-1"}"#);
        let looked = async |request: &ForceUnlockRequest| -> Vec<String> {
            unlock(&bed, request).await.absent.into_iter().map(|lock| lock.key).collect()
        };
        assert_eq!(looked(&request("S")).await, ["cdkd/S/eu-west-1/lock.json", "cdkd/S/us-west-2/lock.json"]);
        let given = ForceUnlockRequest { region: Some("us-west-2".into()), ..request("S") };
        assert_eq!(looked(&given).await, ["cdkd/S/us-west-2/lock.json"]);
        assert_eq!(looked(&request("Old")).await, ["cdkd/Old/lock.json", "cdkd/Old/eu-west-1/lock.json"]);
        assert_eq!(looked(&request("None")).await, ["cdkd/None/eu-central-1/lock.json"]);
        let prefixed = ForceUnlockRequest { prefix: Some(String::new()), ..given };
        assert_eq!(looked(&prefixed).await, ["/S/us-west-2/lock.json"]);
    }

    /// A region that the app may not work in holds all of them, named or found.
    #[tokio::test(start_paused = true)]
    async fn locks_of_a_region_that_is_not_allowed_stay() {
        let mut bed = Bed::new();
        let vars = |name: &str| match name {
            "EBB_APP" => Some("ebb".to_owned()),
            "EBB_ALLOWED_REGIONS" => Some("eu-west-1".to_owned()),
            _ => None,
        };
        bed.deps.rails = ebb_core::rails::Rails::from_vars(vars).unwrap();
        bed.put("cdkd/S/us-west-2/state.json", "{}");
        bed.put("cdkd/S/eu-west-1/state.json", "{}");
        bed.put_lock("S", &foreign(T));
        for region in [None, Some("us-west-2".to_owned())] {
            let refused = force_unlock(&ForceUnlockRequest { region, ..request("S") }, &bed.deps).await.unwrap_err();
            assert!(refused.message.contains("AllowedRegions"), "{}", refused.message);
        }
        assert!(bed.lock("S").is_some());
    }

    /// Delete failure on one key: continue with the others; exit class 1 at the end.
    #[tokio::test(start_paused = true)]
    async fn one_that_cannot_be_removed_does_not_keep_the_others() {
        let bed = Bed::new();
        bed.put("cdkd/S/us-west-2/state.json", "{}");
        bed.put("cdkd/S/eu-west-1/state.json", "{}");
        bed.put("cdkd/S/eu-west-1/lock.json", &foreign(T));
        bed.put_lock("S", &foreign(T));
        bed.bucket.hook.deny_delete("cdkd/S/eu-west-1/lock.json");
        let answer = unlock(&bed, &request("S")).await;
        assert_eq!(
            (keys(&answer.failed), keys(&answer.removed)),
            (vec!["cdkd/S/eu-west-1/lock.json"], vec!["cdkd/S/us-west-2/lock.json"])
        );
        assert_eq!(answer.exit_class, 1);
        assert!(answer.failed[0].message.as_deref().unwrap().contains("Denied"));
    }

    #[tokio::test(start_paused = true)]
    async fn names_and_roles_are_checked() {
        let bed = Bed::new();
        let target = |arn: &str| Some(Target { role_arn: arn.into(), external_id: None });
        for (bad, name, field) in [
            (request("../x"), "InvalidRequest", "`stack`"),
            (ForceUnlockRequest { region: Some("a/b".into()), ..request("S") }, "InvalidRequest", "`region`"),
            (ForceUnlockRequest { bucket: Some("X".into()), ..request("S") }, "InvalidRequest", "`bucket`"),
            (ForceUnlockRequest { prefix: Some("ebb/runs".into()), ..request("S") }, "InvalidRequest", "`prefix`"),
            (ForceUnlockRequest { target: target("x"), ..request("S") }, "InvalidRequest", "roleArn"),
            (
                ForceUnlockRequest { target: target("arn:aws:iam::123456789012:role/any"), ..request("S") },
                "Refused",
                "AllowedTargetRoles",
            ),
        ] {
            let failure = force_unlock(&bad, &bed.deps).await.unwrap_err();
            assert!(failure.name == name && failure.message.contains(field), "{failure:?}");
        }
    }
}
