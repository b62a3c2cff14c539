//! What the app's owner sets and no request can override: which stacks and roles, how large, and whether at all. Read
//! from the functions' environment; every refusal says which rail it is and which parameter of the template changes it.

use std::fmt;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::own::Own;
use crate::request::{Request, account_of_role, check_prefix, is_account, is_bucket_name, is_region};
use crate::state::StateDoc;
use crate::sweep::request::MOST_STACKS;
use crate::{Ending, Refusal, Target, text};

/// The largest stack when the variable is not set.
const DEFAULT_MAX_RESOURCES: usize = 1000;
/// The most stacks of a sweep when the variable is not set.
const DEFAULT_MAX_STACKS: usize = 50;
/// The protecting tag when the variable is not set; the rail itself cannot be switched off.
const DEFAULT_PROTECT_TAG: &str = "ebb:protect";
/// cdkd's default.
const DEFAULT_PREFIX: &str = "cdkd";

/// The app's guard rails and defaults.
#[derive(Clone)]
pub struct Rails {
    /// The app's name: its functions, roles and machines are `{app}-…`.
    pub app: String,
    /// The app's state bucket; `None` for cdkd's default of the account.
    pub default_bucket: Option<String>,
    /// The app's state prefix.
    pub default_prefix: String,
    /// Nothing starts, and what runs waits.
    pub paused: bool,
    /// The largest stack, nested ones included.
    pub max_resources: usize,
    /// The tag that protects a stack.
    pub protect_tag: String,
    /// The most stacks of a sweep.
    pub max_stacks: usize,
    allow: GlobSet,
    deny: GlobSet,
    deny_types: GlobSet,
    /// Empty allows every region.
    regions: Vec<String>,
    target_roles: GlobSet,
    /// Accounts whose events may target other accounts than their own.
    trusted: Vec<String>,
}

impl fmt::Debug for Rails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rails({}, paused {}, at most {})", self.app, self.paused, self.max_resources)
    }
}

impl Rails {
    /// Reads the environment through `var`. An unset `EBB_ALLOW_STACKS` allows every stack, an empty one none.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, Refusal> {
        let text = |name: &str| var(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        let app =
            text("EBB_APP").ok_or_else(|| bad("EBB_APP", "is not set: it is the name of the app's CloudFormation stack"))?;
        let default_bucket = text("EBB_STATE_BUCKET");
        if default_bucket.as_deref().is_some_and(|b| !is_bucket_name(b)) {
            return Err(bad("EBB_STATE_BUCKET", "is not a bucket's name (parameter StateBucket)"));
        }
        // Verbatim: the empty prefix is one.
        let default_prefix = var("EBB_PREFIX").unwrap_or_else(|| DEFAULT_PREFIX.to_owned());
        check_prefix(&default_prefix).map_err(|what| bad("EBB_PREFIX", format!("{what} (parameter Prefix)")))?;
        let paused = match text("EBB_PAUSED").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(bad("EBB_PAUSED", "must be true or false (parameter Paused)")),
        };
        let most = |name: &str, parameter: &str, default: usize| match text(name).map(|n| n.parse::<usize>()) {
            None => Ok(default),
            Some(Ok(n @ 1..)) => Ok(n),
            Some(_) => Err(bad(name, format!("must be a whole number from 1 (parameter {parameter})"))),
        };
        Ok(Rails {
            app,
            default_bucket,
            default_prefix,
            paused,
            max_resources: most("EBB_MAX_RESOURCES", "MaxResources", DEFAULT_MAX_RESOURCES)?,
            max_stacks: most("EBB_MAX_STACKS", "MaxStacks", DEFAULT_MAX_STACKS)?.min(MOST_STACKS),
            protect_tag: text("EBB_PROTECT_TAG").unwrap_or_else(|| DEFAULT_PROTECT_TAG.to_owned()),
            allow: globs("EBB_ALLOW_STACKS", "AllowStacks", &var("EBB_ALLOW_STACKS").unwrap_or_else(|| "*".to_owned()))?,
            deny: globs("EBB_DENY_STACKS", "DenyStacks", &var("EBB_DENY_STACKS").unwrap_or_default())?,
            deny_types: globs("EBB_DENY_TYPES", "DenyTypes", &var("EBB_DENY_TYPES").unwrap_or_default())?,
            regions: list("EBB_ALLOWED_REGIONS", "AllowedRegions", is_region, text("EBB_ALLOWED_REGIONS"))?,
            trusted: list("EBB_TRUSTED_REQUESTERS", "TrustedRequesters", is_account, text("EBB_TRUSTED_REQUESTERS"))?,
            target_roles: globs(
                "EBB_ALLOWED_TARGET_ROLES",
                "AllowedTargetRoles",
                &var("EBB_ALLOWED_TARGET_ROLES").unwrap_or_default(),
            )?,
        })
    }

    /// Whether the request may be followed at all: paused, its stack, region, role and requester. Holds for dry runs too.
    /// `home` is the app's own account.
    pub fn admits_request(&self, request: &Request, home: &str) -> Result<(), Refusal> {
        self.admits_start()?;
        self.admits_stack(&request.stack)?;
        request.region.as_deref().map_or(Ok(()), |region| self.admits_region(region))?;
        self.admits_target(request.target.as_ref())?;
        let account = request.target.as_ref().map_or(home, |target| account_of_role(&target.role_arn));
        self.admits_requester(request.requested_by.as_deref(), account)
    }

    /// Whether anything may start now.
    pub fn admits_start(&self) -> Result<(), Refusal> {
        match self.paused {
            true => Err(refused("Paused: teardowns are paused. The app's owner changes this with the parameter Paused")),
            false => Ok(()),
        }
    }

    /// Whether stacks of that region may be torn down.
    pub fn admits_region(&self, region: &str) -> Result<(), Refusal> {
        match self.regions.is_empty() || self.regions.iter().any(|allowed| allowed == region) {
            true => Ok(()),
            false => Err(refused(format!(
                "AllowedRegions: {} is not among the regions whose stacks may be torn down. The app's owner changes this with \
                 the parameter AllowedRegions",
                text::cut(&text::display(region), 64)
            ))),
        }
    }

    /// Whether the app may work through a role.
    pub fn admits_target(&self, target: Option<&Target>) -> Result<(), Refusal> {
        match target {
            Some(target) if !self.target_roles.is_match(&target.role_arn) => Err(refused(format!(
                "AllowedTargetRoles: this app may not work through `roleArn` {}. The app's owner changes this with the \
                 parameter AllowedTargetRoles",
                text::cut(&text::display(&target.role_arn), 200)
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the account that an event came from may ask for a teardown in `account`: its own, or any when it is trusted.
    pub fn admits_requester(&self, requester: Option<&str>, account: &str) -> Result<(), Refusal> {
        match requester {
            Some(requester) if requester != account && !self.trusted.iter().any(|trusted| trusted == requester) => {
                Err(refused(format!(
                    "TrustedRequesters: an event from account {} may tear down stacks of that account only. The app's owner \
                     changes this with the parameter TrustedRequesters",
                    text::cut(&text::display(requester), 64)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether so many stacks may be torn down by one sweep.
    pub fn admits_sweep(&self, stacks: usize) -> Result<(), Refusal> {
        match stacks > self.max_stacks {
            false => Ok(()),
            true => Err(refused(format!(
                "MaxStacks: {stacks} stacks were chosen, at most {} are allowed in one sweep; set `limit` or choose fewer. The \
                 app's owner changes this with the parameter MaxStacks",
                self.max_stacks
            ))),
        }
    }

    /// Whether a stack of that name may be torn down. A nested stack is denied with any stack that it is part of, and
    /// allowed with any.
    pub fn admits_stack(&self, stack: &str) -> Result<(), Refusal> {
        let lineage = || stack.match_indices('~').map(|(at, _)| &stack[..at]).chain([stack]);
        if lineage().any(|name| self.deny.is_match(name)) {
            return Err(refused(format!(
                "DenyStacks: {} is never torn down. The app's owner changes this with the parameter DenyStacks",
                text::cut(&text::display(stack), 255)
            )));
        }
        if !lineage().any(|name| self.allow.is_match(name)) {
            return Err(refused(format!(
                "AllowStacks: {} is not among the stacks that may be torn down. The app's owner changes this with the \
                 parameter AllowStacks",
                text::cut(&text::display(stack), 255)
            )));
        }
        Ok(())
    }

    /// Whether what the states of a tree record may be torn down: how many resources, of which types, and the protecting tag.
    pub fn admits_state(&self, states: &[&StateDoc]) -> Result<(), Refusal> {
        let resources: usize = states.iter().map(|state| state.resource_count()).sum();
        if resources > self.max_resources {
            return Err(refused(format!(
                "MaxResources: the stack has {resources} resources, at most {} are allowed. The app's owner changes this \
                 with the parameter MaxResources",
                self.max_resources
            )));
        }
        if let Some(row) = states.iter().flat_map(|state| state.rows()).find(|row| self.deny_types.is_match(&row.resource_type)) {
            return Err(refused(format!(
                "DenyTypes: {} is of the type {}, and stacks with that type are never torn down. The app's owner changes this \
                 with the parameter DenyTypes",
                text::cut(&text::display(&row.logical_id), 255),
                text::cut(&text::display(&row.resource_type), 255)
            )));
        }
        match states.iter().find_map(|state| state.protected_by(&self.protect_tag)) {
            Some(id) => Err(refused(format!(
                "ProtectTag: {} carries the tag {}, which protects the stack. Deploy the stack without the tag to tear it \
                 down; the app's owner names the tag with the parameter ProtectTag",
                text::cut(&text::display(&id), 255),
                text::cut(&text::display(&self.protect_tag), 128),
            ))),
            None => Ok(()),
        }
    }

    /// The bucket that a request means: the one it names, else the app's own, which is no bucket of a target account.
    pub fn bucket<'a>(&'a self, named: Option<&'a str>, target: Option<&Target>) -> Option<&'a str> {
        named.or(self.default_bucket.as_deref().filter(|_| target.is_none()))
    }

    /// What the app runs on, for a run that works on `bucket` and through `target_role`.
    pub fn own<'a>(&'a self, bucket: &'a str, target_role: Option<&'a str>) -> Own<'a> {
        Own { app: &self.app, bucket, target_role }
    }
}

/// Comma-separated globs. `*` does not cross a `/`, so that `role/ebb-*` admits no role under a path of that name.
fn globs(variable: &str, parameter: &str, list: &str) -> Result<GlobSet, Refusal> {
    let wrong = |_| bad(variable, format!("holds a pattern that is no glob (parameter {parameter})"));
    let mut set = GlobSetBuilder::new();
    for pattern in list.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let glob: Glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(wrong)?;
        set.add(glob);
    }
    set.build().map_err(wrong)
}

/// Comma-separated values that `is_one` knows.
fn list(variable: &str, parameter: &str, is_one: fn(&str) -> bool, list: Option<String>) -> Result<Vec<String>, Refusal> {
    let values: Vec<String> =
        list.iter().flat_map(|list| list.split(',')).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty()).collect();
    match values.iter().all(|value| is_one(value)) {
        true => Ok(values),
        false => Err(bad(variable, format!("holds a value of another form (parameter {parameter})"))),
    }
}

fn refused(what: impl AsRef<str>) -> Refusal {
    Refusal::new(Ending::Refused, what)
}

fn bad(variable: &str, what: impl fmt::Display) -> Refusal {
    Refusal::new(Ending::Error, format!("the variable {variable} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Layout, samples};
    use serde_json::json;

    fn rails(vars: &[(&str, &str)]) -> Result<Rails, Refusal> {
        let value = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Rails::from_vars(|name| if name == "EBB_APP" { value(name).or(Some("ebb".into())) } else { value(name) })
    }

    const HOME: &str = "123456789012";

    fn request(stack: &str, role: Option<&str>) -> Request {
        let mut request = json!({"stack": stack, "confirm": stack});
        if let Some(role) = role {
            request["target"] = json!({"roleArn": role});
        }
        Request::parse(&request.to_string()).unwrap()
    }

    #[track_caller]
    fn names_its_parameter(result: Result<(), Refusal>, parameter: &str) {
        let refusal = result.expect_err(parameter);
        assert_eq!(refusal.ending, Ending::Refused);
        assert!(refusal.message.starts_with(&format!("{parameter}: ")), "{}", refusal.message);
        assert!(refusal.message.ends_with(&format!("parameter {parameter}")), "{}", refusal.message);
    }

    #[test]
    fn without_variables_every_stack_is_allowed_and_no_target() {
        let rails = rails(&[]).unwrap();
        assert_eq!((rails.default_bucket.as_deref(), rails.default_prefix.as_str()), (None, "cdkd"));
        assert_eq!((rails.paused, rails.max_resources, rails.protect_tag.as_str()), (false, 1000, "ebb:protect"));
        rails.admits_request(&request("Any", None), HOME).unwrap();
        names_its_parameter(
            rails.admits_request(&request("Any", Some("arn:aws:iam::123456789012:role/ebb-target")), HOME),
            "AllowedTargetRoles",
        );
    }

    #[test]
    fn a_bad_value_names_its_variable() {
        for (variable, value) in [
            ("EBB_APP", ""),
            ("EBB_STATE_BUCKET", "Not A Bucket"),
            ("EBB_PREFIX", "ebb/x"),
            ("EBB_PAUSED", "yes"),
            ("EBB_MAX_RESOURCES", "0"),
            ("EBB_MAX_RESOURCES", "-1"),
            ("EBB_MAX_RESOURCES", "many"),
            ("EBB_ALLOW_STACKS", "a,{b"),
            ("EBB_DENY_STACKS", "[z-a]"),
            ("EBB_ALLOWED_TARGET_ROLES", "arn:["),
            ("EBB_MAX_STACKS", "0"),
            ("EBB_DENY_TYPES", "AWS::RDS::{"),
            ("EBB_ALLOWED_REGIONS", "us-west-2,Oregon"),
            ("EBB_TRUSTED_REQUESTERS", "12345"),
        ] {
            let refusal = rails(&[(variable, value)]).expect_err(variable);
            assert_eq!(refusal.ending, Ending::Error);
            assert!(refusal.message.contains(variable), "{}", refusal.message);
        }
        assert_eq!(rails(&[("EBB_PREFIX", "")]).unwrap().default_prefix, "", "an empty prefix is one");
    }

    #[test]
    fn stacks_are_allowed_and_denied_by_glob_and_deny_wins() {
        let rails = rails(&[("EBB_ALLOW_STACKS", "Dev*, Preview-?"), ("EBB_DENY_STACKS", "*Prod*,DevShared")]).unwrap();
        for allowed in ["Dev", "DevOrders", "Preview-7", "DevOrders~Search1"] {
            rails.admits_stack(allowed).expect(allowed);
        }
        for absent in ["Orders", "dev", "Preview-77", "Preview-"] {
            names_its_parameter(rails.admits_request(&request(absent, None), HOME), "AllowStacks");
        }
        // A nested stack does not slip past a rule for its parent.
        for denied in ["DevProd", "DevShared", "DevShared~Search1", "DevShared~A~B", "DevX~Prod1"] {
            names_its_parameter(rails.admits_request(&request(denied, None), HOME), "DenyStacks");
        }
    }

    #[test]
    fn an_empty_list_of_allowed_stacks_allows_none() {
        names_its_parameter(rails(&[("EBB_ALLOW_STACKS", "")]).unwrap().admits_stack("Dev"), "AllowStacks");
    }

    #[test]
    fn a_paused_app_refuses_even_a_look() {
        let rails = rails(&[("EBB_PAUSED", "true")]).unwrap();
        names_its_parameter(rails.admits_request(&Request::parse(r#"{"stack":"A","dryRun":true}"#).unwrap(), HOME), "Paused");
    }

    #[test]
    fn a_role_must_match_the_allowed_ones() {
        let rails =
            rails(&[("EBB_ALLOWED_TARGET_ROLES", "arn:aws:iam::*:role/ebb-target, arn:aws:iam::210987654321:role/t-*")]).unwrap();
        for role in ["arn:aws:iam::123456789012:role/ebb-target", "arn:aws:iam::210987654321:role/t-x"] {
            rails.admits_request(&request("A", Some(role)), HOME).expect(role);
        }
        for role in [
            "arn:aws:iam::123456789012:role/ebb-target2",
            "arn:aws:iam::123456789012:role/t-x",
            "arn:aws:iam::210987654321:role/t-x/admin",
            "arn:aws:iam::210987654321:role/x/ebb-target",
        ] {
            names_its_parameter(rails.admits_request(&request("A", Some(role)), HOME), "AllowedTargetRoles");
        }
    }

    #[test]
    fn the_largest_stack_counts_the_whole_tree() {
        let parent = samples::doc(samples::NESTED_PARENT, Layout::Regional);
        let child = samples::doc(samples::NESTED_CHILD, Layout::Regional);
        rails(&[("EBB_MAX_RESOURCES", "8")]).unwrap().admits_state(&[&parent, &child]).unwrap();
        let seven = rails(&[("EBB_MAX_RESOURCES", "7")]).unwrap();
        seven.admits_state(&[&parent]).unwrap();
        names_its_parameter(seven.admits_state(&[&parent, &child]), "MaxResources");
    }

    #[test]
    fn stacks_stay_in_regions_that_are_not_allowed() {
        let rails = rails(&[("EBB_ALLOWED_REGIONS", "us-west-2, eu-west-1")]).unwrap();
        rails.admits_region("eu-west-1").unwrap();
        names_its_parameter(rails.admits_region("us-east-1"), "AllowedRegions");
        let request = Request::parse(r#"{"stack": "A", "region": "us-east-1", "confirm": "A"}"#).unwrap();
        names_its_parameter(rails.admits_request(&request, HOME), "AllowedRegions");
        super::tests::rails(&[]).unwrap().admits_region("anywhere").unwrap();
    }

    #[test]
    fn a_stack_with_a_denied_type_stays_wherever_in_the_tree_it_is() {
        let rails = rails(&[("EBB_DENY_TYPES", "AWS::RDS::*,AWS::SQS::Queue")]).unwrap();
        let child = samples::doc(samples::NESTED_CHILD, Layout::Regional);
        let with = |resource_type: &str| {
            samples::changed(samples::EXPORTER, |state| state["resources"]["Bus0A"]["resourceType"] = json!(resource_type))
        };
        rails.admits_state(&[&with("AWS::RDSX::Thing")]).unwrap();
        names_its_parameter(rails.admits_state(&[&with("AWS::RDS::DBCluster")]), "DenyTypes");
        names_its_parameter(rails.admits_state(&[&child, &with("AWS::SQS::Queue")]), "DenyTypes");
    }

    /// EventBridge says which account an event came from; it may ask for its own stacks and, unless trusted, no others.
    #[test]
    fn an_event_targets_the_account_it_came_from() {
        const OTHER: &str = "210987654321";
        let role = |account: &str| format!("arn:aws:iam::{account}:role/ebb-target");
        let asks = |requester: &str, target: Option<&str>| {
            let role = target.map(role);
            Request { requested_by: Some(requester.into()), ..request("A", role.as_deref()) }
        };
        let vars = [("EBB_ALLOWED_TARGET_ROLES", "arn:aws:iam::*:role/ebb-target")];
        let rails = rails(&vars).unwrap();
        rails.admits_request(&asks(OTHER, Some(OTHER)), HOME).unwrap();
        rails.admits_request(&asks(HOME, None), HOME).unwrap();
        for (requester, target) in [(OTHER, None), (OTHER, Some(HOME)), (HOME, Some(OTHER))] {
            names_its_parameter(rails.admits_request(&asks(requester, target), HOME), "TrustedRequesters");
        }
        let trusting = super::tests::rails(&[vars[0], ("EBB_TRUSTED_REQUESTERS", OTHER)]).unwrap();
        trusting.admits_request(&asks(OTHER, None), HOME).unwrap();
        names_its_parameter(trusting.admits_request(&asks(HOME, Some(OTHER)), HOME), "TrustedRequesters");
    }

    #[test]
    fn a_sweep_takes_so_many_stacks_and_no_request_can_raise_it() {
        let rails = rails(&[("EBB_MAX_STACKS", "3")]).unwrap();
        rails.admits_sweep(3).unwrap();
        names_its_parameter(rails.admits_sweep(4), "MaxStacks");
        assert_eq!(super::tests::rails(&[("EBB_MAX_STACKS", "9999")]).unwrap().max_stacks, MOST_STACKS);
    }

    /// The app's own bucket holds the states of its own account: another account's lie in a bucket of that account.
    #[test]
    fn the_apps_bucket_is_no_bucket_of_a_target() {
        let rails = rails(&[("EBB_STATE_BUCKET", "states-of-home")]).unwrap();
        let target = request("A", Some("arn:aws:iam::210987654321:role/t")).target;
        assert_eq!(rails.bucket(None, None), Some("states-of-home"));
        assert_eq!(rails.bucket(None, target.as_ref()), None);
        assert_eq!(rails.bucket(Some("named"), target.as_ref()), Some("named"));
    }

    #[test]
    fn the_protecting_tag_holds_on_any_row_and_in_any_form() {
        let rails = rails(&[]).unwrap();
        let with = |property: &str, tags: serde_json::Value| {
            samples::changed(samples::EXPORTER, |state| state["resources"]["Bus0A"]["properties"][property] = tags)
        };
        for (property, tags) in [
            ("Tags", json!([{"Key": "a", "Value": "b"}, {"Key": "ebb:protect", "Value": "true"}])),
            ("Tags", json!({"ebb:protect": "true"})),
            ("Tags", json!([{"Key": "ebb:protect", "Value": true, "PropagateAtLaunch": false}])),
            ("tags", json!([{"key": "ebb:protect", "value": "yes"}])),
            ("UserPoolTags", json!({"ebb:protect": "***"})),
            ("HostedZoneTags", json!([{"Key": "ebb:protect"}])),
        ] {
            let state = with(property, tags);
            let refusal = rails.admits_state(&[&state]).expect_err(property);
            assert!(refusal.message.starts_with("ProtectTag: Bus0A carries the tag ebb:protect"), "{}", refusal.message);
        }
        for (property, tags) in [
            ("Tags", json!([{"Key": "ebb:protect", "Value": "false"}])),
            ("Tags", json!({"ebb:protect": false})),
            ("Tags", json!([{"Key": "other", "Value": "ebb:protect"}, "ebb:protect", 7])),
            ("Name", json!({"ebb:protect": "true"})),
        ] {
            rails.admits_state(&[&with(property, tags)]).unwrap();
        }
    }
}
