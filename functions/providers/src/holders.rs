//! The names of what holds a resource, for people. A look that only names changes nothing, and one that fails says so
//! among the names instead of failing the step.

use crate::call::StepError;

/// The names, or that they could not be learnt.
pub(crate) fn named(what: &str, answer: Result<Vec<String>, StepError>) -> Vec<String> {
    answer.unwrap_or_else(|error| {
        let code = error.aws_code().filter(|code| !code.is_empty()).unwrap_or("no answer");
        vec![format!("{what} could not be listed ({code})")]
    })
}
