//! JSONPath and intrinsic functions, as far as `infra/` uses them.

use serde_json::{Map, Value};

use super::asl::ResultPath;

/// What AWS calls `States.Runtime`: a definition that does not fit its data. No state can catch it.
pub type Broken = String;

/// `$`, `$.a.b`, `$$`, `$$.a.b`.
pub fn get<'v>(path: &str, input: &'v Value, context: &'v Value) -> Result<&'v Value, Broken> {
    find(path, input, context)?.ok_or_else(|| format!("the path {path} leads nowhere"))
}

/// As [`get`], `None` when the path leads nowhere.
pub fn find<'v>(path: &str, input: &'v Value, context: &'v Value) -> Result<Option<&'v Value>, Broken> {
    let (root, rest) = match path.strip_prefix("$$") {
        Some(rest) => (context, rest),
        None => (input, path.strip_prefix('$').ok_or_else(|| format!("{path} is no path"))?),
    };
    if rest.is_empty() {
        return Ok(Some(root));
    }
    let names = rest.strip_prefix('.').ok_or_else(|| format!("{path} is no path known here"))?;
    if names.contains(['[', '*', '?', '@']) {
        return Err(format!("{path} is no path known here"));
    }
    Ok(names.split('.').try_fold(root, |value, name| value.get(name)))
}

/// `Parameters`, `ItemSelector`, `ResultSelector`: names that end in `.$` hold paths or intrinsic functions.
pub fn fill(template: &Value, input: &Value, context: &Value) -> Result<Value, Broken> {
    match template {
        Value::Object(members) => {
            let mut filled = Map::new();
            for (name, value) in members {
                match (name.strip_suffix(".$"), value) {
                    (Some(name), Value::String(expression)) => {
                        filled.insert(name.to_owned(), evaluate(expression, input, context)?);
                    }
                    (Some(_), _) => return Err(format!("{name} holds no text")),
                    (None, value) => {
                        filled.insert(name.clone(), fill(value, input, context)?);
                    }
                }
            }
            Ok(Value::Object(filled))
        }
        Value::Array(items) => items.iter().map(|item| fill(item, input, context)).collect(),
        other => Ok(other.clone()),
    }
}

/// Puts a result where `ResultPath` says.
pub fn place(path: &ResultPath, input: Value, result: Value) -> Result<Value, Broken> {
    match (path, input) {
        (ResultPath::Root, _) => Ok(result),
        (ResultPath::Discard, input) => Ok(input),
        (ResultPath::Field(name), Value::Object(mut members)) => {
            members.insert(name.clone(), result);
            Ok(Value::Object(members))
        }
        (ResultPath::Field(name), _) => Err(format!("the result has no place at $.{name}")),
    }
}

fn evaluate(expression: &str, input: &Value, context: &Value) -> Result<Value, Broken> {
    if expression.starts_with('$') {
        return get(expression, input, context).cloned();
    }
    let broken = || format!("{expression} cannot be read");
    let (function, rest) = expression.split_once('(').ok_or_else(broken)?;
    let arguments = rest.trim_end().strip_suffix(')').ok_or_else(broken)?;
    let mut values = Vec::new();
    for argument in split(arguments) {
        values.push(match argument {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text if text.starts_with('\'') && text.ends_with('\'') && text.len() > 1 => text[1..text.len() - 1].into(),
            number if number.parse::<i64>().is_ok() => number.parse::<i64>().map_err(|_| broken())?.into(),
            other => evaluate(other, input, context)?,
        });
    }
    match (function, values.as_slice()) {
        ("States.Format", [Value::String(form), rest @ ..]) => {
            let mut parts = form.split("{}");
            let mut text = parts.next().unwrap_or_default().to_owned();
            let mut rest = rest.iter();
            for part in parts {
                match rest.next() {
                    Some(Value::String(value)) => text.push_str(value),
                    Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => text.push_str(&value.to_string()),
                    _ => return Err(broken()),
                }
                text.push_str(part);
            }
            if rest.next().is_some() { Err(broken()) } else { Ok(text.into()) }
        }
        ("States.MathAdd", [a, b]) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Ok((a + b).into()),
            _ => Err(broken()),
        },
        ("States.JsonMerge", [Value::Object(a), Value::Object(b), Value::Bool(false)]) => {
            let mut merged = a.clone();
            merged.extend(b.clone());
            Ok(Value::Object(merged))
        }
        ("States.JsonToString", [value]) => Ok(value.to_string().into()),
        _ => Err(format!("{expression}: not a function known here, or not its arguments")),
    }
}

/// Arguments at the top level: commas in quotes and parentheses divide nothing.
fn split(arguments: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut quoted, mut start) = (Vec::new(), 0, false, 0);
    for (at, c) in arguments.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(arguments[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates_are_filled_with_paths_and_functions() {
        let input = json!({"run": {"runId": "r-1"}, "drive": 2, "answer": {"next": "again"}, "defaults": {"error": null}});
        let context = json!({"Execution": {"Id": "arn"}});
        let template = json!({
            "a.$": "$$.Execution.Id", "b": {"c.$": "States.Format('{}-{}', $.run.runId, $.drive)"}, "d": [1],
            "e.$": "States.MathAdd($.drive, 1)", "f.$": "States.JsonMerge($.defaults, $.answer, false)",
            "g.$": "States.JsonToString($.answer)",
        });
        assert_eq!(
            fill(&template, &input, &context).unwrap(),
            json!({
                "a": "arn", "b": {"c": "r-1-2"}, "d": [1], "e": 3, "f": {"error": null, "next": "again"},
                "g": r#"{"next":"again"}"#,
            })
        );
        for broken in ["$.nowhere", "States.Nothing($.run)", "States.Format('{}')", "$.a[0]", "x"] {
            assert!(fill(&json!({"x.$": broken}), &input, &context).is_err(), "{broken}");
        }
    }
}
