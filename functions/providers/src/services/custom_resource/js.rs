//! Values as JavaScript writes them: handlers were created with texts that JavaScript made, and compare them.

use serde_json::{Map, Number, Value};

/// Booleans and numbers become texts, through objects; arrays are left as they are.
pub(super) fn texts_in(properties: &Map<String, Value>) -> Map<String, Value> {
    properties.iter().map(|(name, value)| (name.clone(), text_in(value))).collect()
}

fn text_in(value: &Value) -> Value {
    match value {
        Value::Bool(value) => Value::String(value.to_string()),
        Value::Number(number) => Value::String(number_text(number)),
        Value::Object(object) => Value::Object(texts_in(object)),
        other => other.clone(),
    }
}

/// JavaScript knows doubles only: their shortest digits, with an exponent from 1e21 and below 1e-6.
fn number_text(number: &Number) -> String {
    let Some(value) = number.as_f64().filter(|n| n.is_finite()) else { return number.to_string() };
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", value.abs());
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return number.to_string() };
    let Ok(exponent) = exponent.parse::<i32>() else { return number.to_string() };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let sign = if value < 0.0 { "-" } else { "" };
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let text = match point {
        _ if (length..=21).contains(&point) => format!("{digits}{}", zeros(point - length)),
        1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
            format!("{whole}.{fraction}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let plus = if exponent < 0 { "" } else { "+" };
            format!("{first}{dot}{rest}e{plus}{exponent}")
        }
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_in_javascript() {
        for (json, text) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("7", "7"),
            ("-7", "-7"),
            ("2.50", "2.5"),
            ("100", "100"),
            ("0.1", "0.1"),
            ("1e3", "1000"),
            ("9007199254740991", "9007199254740991"),
            ("12345678901234567890", "12345678901234567000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("1.5e300", "1.5e+300"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("-1.25e-9", "-1.25e-9"),
            ("123.456", "123.456"),
        ] {
            assert_eq!(number_text(&serde_json::from_str(json).unwrap()), text, "{json}");
        }
    }

    /// Booleans and numbers turned into strings, recursively through objects; arrays passed through untouched.
    #[test]
    fn booleans_and_numbers_become_texts_through_objects_only() {
        let properties = serde_json::json!({
            "Flag": true, "Count": 3, "Text": "x", "Nothing": null,
            "Nested": { "Off": false, "Deep": { "Half": 0.50 } }, "List": [true, 1, { "Inner": false }]
        });
        let texts = serde_json::json!({
            "Flag": "true", "Count": "3", "Text": "x", "Nothing": null,
            "Nested": { "Off": "false", "Deep": { "Half": "0.5" } }, "List": [true, 1, { "Inner": false }]
        });
        assert_eq!(Value::Object(texts_in(properties.as_object().unwrap())), texts);
    }
}
