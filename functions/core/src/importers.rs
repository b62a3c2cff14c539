//! What is said when nobody knows whether a stack is imported from: one that may be is not torn down.

use crate::{Ending, Refusal};

/// The refusal for `who` (such as "others import from Network"), when a state that would tell was not given out or is not
/// understood; `why` names its key.
pub fn not_known(who: &str, why: &Refusal) -> Refusal {
    let mend = match why.ending {
        Ending::AccessDenied => "grant s3:GetObject on it and, for SSE-KMS, kms:Decrypt",
        Ending::MalformedState => "repair it",
        _ => "try again, or mend what is said of it",
    };
    let message = format!("whether {who} is not known, for a state could not be read ({mend}): {}", why.message);
    Refusal::new(why.ending, message)
}
