//! Secrets in texts of AWS: a service may repeat a value that it was once given. Values recorded under a name that speaks
//! of a secret never get into a result.

use ebb_core::{Resource, text};
use serde_json::Value;

const MASK: &str = "***";
/// Shorter values would mask parts of words.
const SHORTEST: usize = 4;
const SECRET_NAMES: &[&str] = &["password", "passphrase", "secret", "token", "credential", "apikey", "privatekey", "authkey"];
/// Names of this kind that hold addresses.
const ADDRESSES: &[&str] = &["servicetoken", "secretid", "secretarn"];

/// `message`, display-safe and without what the properties record as a secret.
pub(crate) fn redact(message: &str, resource: &Resource) -> String {
    let mut secrets = Vec::new();
    for (name, value) in &resource.properties {
        collect(name, value, false, &mut secrets);
    }
    // A secret may contain another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let masked = secrets.iter().fold(message.to_owned(), |text, secret| text.replace(*secret, MASK));
    text::display(&masked)
}

fn collect<'v>(name: &str, value: &'v Value, inside: bool, secrets: &mut Vec<&'v str>) {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let speaks = SECRET_NAMES.iter().any(|part| name.contains(part)) && !ADDRESSES.contains(&name.as_str());
    let secret = inside || speaks;
    match value {
        Value::String(text) if secret && text.len() >= SHORTEST && text != MASK => secrets.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect("", value, secret, secrets)),
        Value::Object(values) => values.iter().for_each(|(name, value)| collect(name, value, secret, secrets)),
        _ => {}
    }
}
