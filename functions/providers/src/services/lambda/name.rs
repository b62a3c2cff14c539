//! The ways a function is named in a state.

use ebb_core::{Code, DeleteError};

use crate::call::StepError;

/// A function's name as the API takes it, apart from the version or alias in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FunctionName<'a> {
    /// Name, partial ARN or ARN, without a qualifier.
    pub(super) function: &'a str,
    /// Version or alias.
    pub(super) qualifier: Option<&'a str>,
}

impl<'a> FunctionName<'a> {
    /// Reads `text` for calls in `region`. A name of another region is an error: there the function would not be found,
    /// and that would be taken for gone.
    pub(super) fn parse(text: &'a str, region: &str) -> Result<Self, StepError> {
        let malformed = || StepError::malformed_id("a function's name or ARN");
        let parts: Vec<&str> = text.split(':').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(malformed());
        }
        let qualifier = match parts[..] {
            ["arn", _, "lambda", at, _, "function", _, ref rest @ ..] if rest.len() < 2 => {
                check_region(at, region)?;
                rest.first().copied()
            }
            [_, "function", _, ref rest @ ..] if rest.len() < 2 => rest.first().copied(),
            [name, ref rest @ ..] if name != "arn" && rest.len() < 2 => rest.first().copied(),
            _ => return Err(malformed()),
        };
        let function = match qualifier {
            Some(qualifier) => &text[..text.len() - qualifier.len() - 1],
            None => text,
        };
        Ok(FunctionName { function, qualifier })
    }
}

/// An ARN of another region must not be asked for here.
pub(super) fn check_region(at: &str, region: &str) -> Result<(), StepError> {
    if at == region {
        return Ok(());
    }
    Err(DeleteError::refused(
        Code::WrongRegion,
        format!("the recorded ARN is of {}, the stack of {region}", ebb_core::text::ascii(at)),
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(&str, Option<&str>), StepError> {
        FunctionName::parse(text, "us-east-1").map(|f| (f.function, f.qualifier))
    }

    #[test]
    fn every_spelling_of_a_function_is_read() {
        let arn = "arn:aws:lambda:us-east-1:123456789012:function:orders";
        assert_eq!(parse("orders"), Ok(("orders", None)));
        assert_eq!(parse("orders:live"), Ok(("orders", Some("live"))));
        assert_eq!(parse("123456789012:function:orders"), Ok(("123456789012:function:orders", None)));
        assert_eq!(parse("123456789012:function:orders:3"), Ok(("123456789012:function:orders", Some("3"))));
        assert_eq!(parse(arn), Ok((arn, None)));
        assert_eq!(parse(&format!("{arn}:$LATEST")), Ok((arn, Some("$LATEST"))));
    }

    #[test]
    fn what_is_no_function_or_of_another_region_is_not_addressed() {
        for text in [
            "",
            "orders:",
            ":3",
            "arn:aws:sns:us-east-1:123456789012:orders",
            "arn:aws:lambda:us-east-1:1:function:a:b:c",
            "a:b:c",
        ] {
            assert!(matches!(parse(text), Err(StepError::Skip { code: Code::MalformedPhysicalId, .. })), "{text}");
        }
        let Err(StepError::Ours(error)) = parse("arn:aws:lambda:eu-west-1:123456789012:function:orders") else { panic!() };
        assert_eq!(error.code, Code::WrongRegion.name());
    }
}
