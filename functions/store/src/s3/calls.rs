//! What S3 calls need beside the SDK: the instant of an answer, and keys as they were before the listing encoded them.

use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::date_time::Format;
use ebb_core::Millis;

/// Keeps the `Date` of the last answer: the store's clock, which the fence trusts beside the local one.
#[derive(Clone, Debug)]
pub(super) struct DateOfAnswer(pub(super) Arc<Mutex<Option<Millis>>>);

impl Intercept for DateOfAnswer {
    fn name(&self) -> &'static str {
        "DateOfAnswer"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date").and_then(http_date);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = date;
        Ok(())
    }
}

fn http_date(text: &str) -> Option<Millis> {
    DateTime::from_str(text, Format::HttpDate).ok()?.to_millis().ok()?.try_into().ok()
}

/// A key of a listing. Encoded ones escape bytes as `%XX` and spaces as `+`.
pub(super) fn decode_key(key: &str, encoded: bool) -> Option<String> {
    if !encoded {
        return Some(key.to_owned());
    }
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => hex(rest.next()?)? * 16 + hex(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_listing_are_decoded_only_when_they_were_encoded() {
        assert_eq!(decode_key("cdkd/a+b%2Bc/%C3%A9%7E", true).as_deref(), Some("cdkd/a b+c/é~"));
        assert_eq!(decode_key("a+b%2B", false).as_deref(), Some("a+b%2B"));
        for broken in ["%", "%4", "%zz", "%FF"] {
            assert_eq!(decode_key(broken, true), None, "{broken}");
        }
    }

    #[test]
    fn reads_the_date_of_http() {
        assert_eq!(http_date("Sat, 15 Aug 2026 09:30:12 GMT"), Some(1_786_786_212_000));
        assert_eq!(http_date("yesterday"), None);
    }
}
