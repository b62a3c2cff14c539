//! Recorded ids as a call may carry them: neither masked nor empty, and composite ones taken apart at their `|`.

use ebb_core::Resource;
use ebb_core::provider::{Masked, is_masked};

use crate::call::StepError;

/// The recorded id, when a call may carry it.
pub fn physical_id<'r>(r: &'r Resource, expected: &str) -> Result<&'r str, StepError> {
    if is_masked(&r.physical_id) {
        return Err(Masked { property: "physicalId".into() }.into());
    }
    if fits_path(&r.physical_id) { Ok(&r.physical_id) } else { Err(StepError::malformed_id(expected)) }
}

/// Whether a call can address by it. A part of a path that is a dot segment would address what is above.
pub fn fits_path(part: &str) -> bool {
    !matches!(part, "" | "." | "..")
}

/// The parts of an id that has exactly `N` of them.
pub fn parts<const N: usize>(id: &str) -> Option<[&str; N]> {
    let parts: Vec<&str> = id.split('|').collect();
    let parts: [&str; N] = parts.try_into().ok()?;
    parts.iter().all(|part| fits_path(part)).then_some(parts)
}

/// Which part of `a|b` names the parent when no recorded property tells.
#[derive(Clone, Copy, PartialEq)]
pub enum Parent {
    First,
    Last,
    /// It cannot be told.
    Unknown,
}

/// Parent and child of a row whose id is the child's alone, with the parent recorded as `property`, or both joined by `|`:
/// there, the part that equals the recorded parent is the parent.
pub fn child<'r>(r: &'r Resource, property: &str, parent: Parent) -> Result<(&'r str, &'r str), StepError> {
    let malformed = || StepError::malformed_id(&format!("the id, or {property} and the id joined by a bar"));
    let id = physical_id(r, &format!("an id beside {property}"))?;
    let recorded = r.address(property);
    let Some([first, last]) = parts::<2>(id) else {
        if id.contains('|') {
            return Err(malformed());
        }
        let parent = recorded?.ok_or_else(|| StepError::missing(property))?;
        return if fits_path(parent) { Ok((parent, id)) } else { Err(malformed()) };
    };
    let first_is_parent = match (recorded, parent) {
        (Ok(Some(of)), Parent::First | Parent::Unknown) if of == first => true,
        (Ok(Some(of)), _) if of == last => false,
        (Ok(Some(of)), _) if of == first => true,
        (Ok(Some(_)), _) => return Err(malformed()),
        (Err(masked), Parent::Unknown) => return Err(masked.into()),
        (Ok(None), Parent::Unknown) => return Err(StepError::missing(property)),
        (_, parent) => parent == Parent::First,
    };
    Ok(if first_is_parent { (first, last) } else { (last, first) })
}

#[cfg(test)]
mod tests {
    use ebb_core::Code;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Bench;

    fn of(id: &str, api: Value, parent: Parent) -> Result<(String, String), Code> {
        let properties = if api.is_null() { json!({}) } else { json!({ "ApiId": api }) };
        match child(&Bench::new("AWS::ApiGatewayV2::Stage", id, properties).resource, "ApiId", parent) {
            Ok((parent, child)) => Ok((parent.to_owned(), child.to_owned())),
            Err(StepError::Skip { code, .. }) => Err(code),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn parent_and_child_are_told_apart() {
        let found = Ok(("api".to_owned(), "x".to_owned()));
        for (id, api, parent) in [
            ("x", json!("api"), Parent::Unknown),
            ("api|x", json!("api"), Parent::Unknown),
            ("x|api", json!("api"), Parent::Unknown),
            ("x|api", json!("api"), Parent::First),
            ("api|x", json!("api"), Parent::Last),
            ("api|x", Value::Null, Parent::First),
            ("x|api", Value::Null, Parent::Last),
            ("x|api", json!("***"), Parent::Last),
        ] {
            assert_eq!(of(id, api, parent), found, "{id}");
        }
        assert_eq!(of("a|a", json!("a"), Parent::Last), Ok(("a".into(), "a".into())));
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_addressed() {
        for (id, api, code) in [
            ("x", Value::Null, Code::MissingAddress),
            ("x", json!({ "Ref": "Api" }), Code::MissingAddress),
            ("x", json!("{{resolve:ssm:api}}"), Code::MaskedAddress),
            ("api|x", Value::Null, Code::MissingAddress),
            ("api|x", json!("***"), Code::MaskedAddress),
            ("api|x", json!("other"), Code::MalformedPhysicalId),
            ("***", json!("api"), Code::MaskedAddress),
            ("", json!("api"), Code::MalformedPhysicalId),
            ("|x", json!("api"), Code::MalformedPhysicalId),
            ("api|", json!("api"), Code::MalformedPhysicalId),
            ("a|b|c", json!("api"), Code::MalformedPhysicalId),
        ] {
            assert_eq!(of(id, api, Parent::Unknown), Err(code), "{id}");
        }
    }

    /// `DELETE /restapis/api/stages/..` would be a delete of what is above.
    #[test]
    fn a_dot_segment_is_no_id() {
        for id in ["..", ".", "api|..", "../x|."] {
            assert_eq!(of(id, json!("api"), Parent::First), Err(Code::MalformedPhysicalId), "{id}");
        }
        assert_eq!(of("x", json!(".."), Parent::First), Err(Code::MalformedPhysicalId));
    }
}
