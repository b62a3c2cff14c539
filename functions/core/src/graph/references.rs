//! Reading references out of properties: resolved ids, intrinsics that were left unresolved, and values that tell nothing.

use serde_json::{Map, Value};

use crate::provider::is_masked;

/// What a property says about another resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference<'a> {
    /// A resolved id.
    Id(&'a str),
    /// A row of the same stack, by an intrinsic.
    Logical(String),
    /// Something that cannot be read (a mask, a dynamic reference, another intrinsic).
    Unknown,
}

/// The references at a dotted path; a list gives each of its members, an absent property nothing.
pub(super) fn at<'a>(properties: &'a Map<String, Value>, path: &str) -> Vec<Reference<'a>> {
    let mut parts = path.split('.');
    let mut value = parts.next().and_then(|first| properties.get(first));
    for part in parts {
        value = match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(map)) if !is_intrinsic(map) => map.get(part),
            // A mask or an intrinsic hides what would be below it.
            Some(_) => return vec![Reference::Unknown],
        };
    }
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(read).collect(),
        Some(other) => vec![read(other)],
    }
}

/// What a value says.
pub(super) fn read(value: &Value) -> Reference<'_> {
    match value {
        Value::String(text) if !is_masked(text) => Reference::Id(text),
        Value::Object(map) if map.len() == 1 => match target(map) {
            Some(id) => Reference::Logical(id),
            None => Reference::Unknown,
        },
        _ => Reference::Unknown,
    }
}

fn is_intrinsic(map: &Map<String, Value>) -> bool {
    map.keys().any(|name| name.starts_with("Fn::") || name == "Ref")
}

/// The row that a `Ref` or `Fn::GetAtt` names; pseudo parameters are none.
fn target(map: &Map<String, Value>) -> Option<String> {
    let id = match (map.get("Ref"), map.get("Fn::GetAtt")) {
        (Some(Value::String(id)), _) => id.clone(),
        (_, Some(Value::String(dotted))) => dotted.split('.').next()?.to_owned(),
        (_, Some(Value::Array(parts))) => parts.first()?.as_str()?.to_owned(),
        _ => return None,
    };
    (!id.starts_with("AWS::")).then_some(id)
}

/// Logical ids that unresolved intrinsics in `properties` name. Rare: cdkd records resolved values.
pub(super) fn intrinsics(properties: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    properties.values().for_each(|value| collect(value, &mut found));
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => {
            found.extend((map.len() == 1).then(|| target(map)).flatten());
            match map.iter().find(|(name, _)| *name == "Fn::Sub").map(|(_, value)| value) {
                Some(Value::String(template)) => placeholders(template, found),
                Some(Value::Array(parts)) => {
                    if let Some(Value::String(template)) = parts.first() {
                        placeholders(template, found);
                    }
                }
                _ => {}
            }
            map.values().for_each(|inner| collect(inner, found));
        }
        _ => {}
    }
}

/// `${Id}` and `${Id.Attribute}`; `${!Literal}` and `${AWS::…}` are none.
fn placeholders(template: &str, found: &mut Vec<String>) {
    for part in template.split("${").skip(1) {
        if let Some((name, _)) = part.split_once('}') {
            let id = name.split('.').next().unwrap_or(name).trim();
            if !id.starts_with('!') && !id.starts_with("AWS::") && !id.is_empty() {
                found.push(id.to_owned());
            }
        }
    }
}

/// Every value that may be a reference (a string, an intrinsic), with the name of the property it stands under.
pub(super) fn walk<'a>(properties: &'a Map<String, Value>, visit: &mut impl FnMut(&'a str, &'a Value)) {
    for (name, value) in properties {
        under(name, value, visit);
    }
}

fn under<'a>(name: &'a str, value: &'a Value, visit: &mut impl FnMut(&'a str, &'a Value)) {
    match value {
        Value::String(_) => visit(name, value),
        Value::Array(items) => items.iter().for_each(|item| under(name, item, visit)),
        Value::Object(map) if is_intrinsic(map) => visit(name, value),
        Value::Object(map) => walk(map, visit),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn intrinsics_name_rows_and_never_pseudo_parameters() {
        let properties = map(json!({
            "A": {"Ref": "Row1"}, "B": {"Fn::GetAtt": ["Row2", "Arn"]}, "C": [{"Fn::GetAtt": "Row3.Arn"}],
            "D": {"Fn::Sub": "x-${Row4}-${Row5.Arn}-${AWS::Region}-${!Literal}"}, "E": {"Ref": "AWS::StackName"},
            "F": {"Fn::Sub": ["${Row6}", {"x": {"Ref": "Row7"}}]},
        }));
        assert_eq!(intrinsics(&properties), ["Row1", "Row2", "Row3", "Row4", "Row5", "Row6", "Row7"]);
    }

    #[test]
    fn a_mask_and_a_dynamic_value_tell_nothing() {
        let properties = map(json!({"A": "***", "B": "{{resolve:ssm:x}}", "C": {"D": ["subnet-1", {"Ref": "S"}]}, "N": null}));
        assert_eq!(at(&properties, "A"), [Reference::Unknown]);
        assert_eq!(at(&properties, "B"), [Reference::Unknown]);
        assert_eq!(at(&properties, "C.D"), [Reference::Id("subnet-1"), Reference::Logical("S".into())]);
        assert_eq!(at(&properties, "N"), []);
        assert_eq!(at(&properties, "X.Y"), []);
        assert_eq!(at(&properties, "N.Y"), []);
        // What a mask or an intrinsic hides is not absent.
        assert_eq!(at(&properties, "A.Y"), [Reference::Unknown]);
        assert_eq!(at(&map(json!({"C": {"Fn::If": ["x", {"D": "subnet-1"}, {}]}})), "C.D"), [Reference::Unknown]);
    }

    #[test]
    fn a_walk_meets_every_string_and_every_intrinsic() {
        let properties = map(
            json!({"A": {"Role": "r", "B": [{"Fn::GetAtt": ["R", "Arn"]}, "***"]}, "N": 1, "I": {"Fn::If": ["x", "y", "z"]}}),
        );
        let mut met = Vec::new();
        walk(&properties, &mut |name, value| met.push((name, read(value))));
        assert_eq!(
            met,
            [
                ("Role", Reference::Id("r")),
                ("B", Reference::Logical("R".into())),
                ("B", Reference::Unknown),
                ("I", Reference::Unknown)
            ]
        );
    }
}
