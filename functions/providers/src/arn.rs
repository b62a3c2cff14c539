//! Parts of an ARN, and the check that a recorded one belongs to the region that is called: several deletes succeed for
//! what they do not know, so a call to the wrong region would drop the record of something that lives on.

use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Code, DeleteError, Resource};

use crate::Cx;
use crate::call::StepError;

/// `arn:partition:service:region:account:resource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arn<'a> {
    /// Region; empty for global services.
    pub region: &'a str,
    /// Account; empty for buckets.
    pub account: &'a str,
    /// Everything after the account.
    pub resource: &'a str,
}

impl<'a> Arn<'a> {
    /// The parts, if `text` is an ARN.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        let is_arn = parts.next() == Some("arn");
        let (_partition, _service) = (parts.next()?, parts.next()?);
        let (region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
        (is_arn && !resource.is_empty()).then_some(Arn { region, account, resource })
    }
}

/// Refuses an id whose ARN names another region than the one that is called. Ids that are no ARN pass.
pub fn same_region(id: &str, cx: &Cx<'_>) -> Result<(), StepError> {
    match Arn::parse(id) {
        Some(arn) if !arn.region.is_empty() && arn.region != cx.aws.region() => Err(DeleteError::refused(
            Code::WrongRegion,
            format!("the recorded ARN is of {}, the record of {}: no delete issued", arn.region, cx.aws.region()),
        )
        .into()),
        _ => Ok(()),
    }
}

/// The name in a recorded id that is a name, or an ARN of this region that ends with `kind` and the name (`project/` of
/// CodeBuild). Empty and masked ids, dot segments and ARNs of another kind are not addressed.
pub fn name_of<'r>(r: &'r Resource, kind: &str, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    let id = r.physical_id.as_str();
    if is_masked(id) {
        return Err(Masked { property: "physicalId".into() }.into());
    }
    same_region(id, cx)?;
    let name = match Arn::parse(id) {
        Some(arn) => named(arn.resource, kind),
        None if id.starts_with("arn:") => None,
        None => Some(id),
    };
    // A dot segment in the path of a call would address what is above.
    name.filter(|name| !matches!(*name, "" | "." | ".."))
        .ok_or_else(|| StepError::malformed_id(&format!("a name, or an ARN with {kind}")))
}

/// What follows `kind`, where it stands at the start of an ARN's resource or behind a colon.
fn named<'a>(resource: &'a str, kind: &str) -> Option<&'a str> {
    resource.split_once(kind).filter(|(before, _)| before.is_empty() || before.ends_with(':')).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_is_read_to_its_last_part() {
        let arn = Arn { region: "us-east-1", account: "123456789012", resource: "log-group:/aws/x:*" };
        assert_eq!(Arn::parse("arn:aws:logs:us-east-1:123456789012:log-group:/aws/x:*"), Some(arn));
        assert_eq!(Arn::parse("arn:aws:s3:::assets").map(|a| a.resource), Some("assets"));
        for no_arn in ["orders", "a:b:c:d:e:f", "arn:aws:sns:us-east-1:123456789012", "arn:aws:sns:us-east-1:123456789012:"] {
            assert_eq!(Arn::parse(no_arn), None, "{no_arn}");
        }
    }

    #[test]
    fn a_name_follows_its_kind() {
        assert_eq!(named("repository/team/repository/web", "repository/"), Some("team/repository/web"));
        assert_eq!(named("autoScalingGroup:6a1f:autoScalingGroupName/web", "autoScalingGroupName/"), Some("web"));
        assert_eq!(named("fleet-project/web", "project/"), None);
        assert_eq!(named("project", "project/"), None);
    }
}
