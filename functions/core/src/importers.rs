//! What is said when nobody knows whether a stack is imported from: one that may be is not torn down.

use crate::{Ending, Refusal};

/// The refusal for `who` (such as "others import from Network"), when the bucket did not give out a state that would tell;
/// `why` is the bucket's, and names the key.
pub fn not_known(who: &str, why: &Refusal) -> Refusal {
    let mend = match why.ending {
        Ending::AccessDenied => "grant s3:GetObject on it and, for SSE-KMS, kms:Decrypt",
        _ => "try again",
    };
    let message = format!("whether {who} is not known, for a state could not be read ({mend}): {}", why.message);
    Refusal::new(why.ending, message)
}
