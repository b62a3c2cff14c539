//! What holds a resource, in words: a look that fails says so among the names instead of failing the step.

use crate::call::StepError;

/// The names, or that they could not be learnt.
pub fn named(what: &str, answer: Result<Vec<String>, StepError>) -> Vec<String> {
    answer.unwrap_or_else(|error| {
        let code = error.aws_code().filter(|code| !code.is_empty()).unwrap_or("no answer");
        vec![format!("{what} could not be listed ({code})")]
    })
}
