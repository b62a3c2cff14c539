//! A crash as Step Functions hands it on. Of its Cause only what a function of ours said is shown: any other can hold the
//! input of what failed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text;

/// The error that the state machines give an answer which they do not know; its Cause is their own.
const NOT_UNDERSTOOD: &str = "NotUnderstood";

/// What a `Catch` puts into the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Crash {
    /// The error's name: ours, Lambda's (`Sandbox.Timedout`, `Lambda.Unknown`) or Step Functions' (`States.Timeout`).
    pub error: String,
    /// Its Cause; of a function that failed `{"errorType", "errorMessage"}` as JSON text.
    #[serde(default)]
    pub cause: Option<String>,
}

impl Crash {
    /// The error's name, display-safe.
    pub fn name(&self) -> String {
        text::cut(&text::ascii(&self.error), 64)
    }

    /// What the function said of it, display-safe.
    pub fn said(&self) -> Option<String> {
        let cause = self.cause.as_deref()?;
        let said = match serde_json::from_str::<Value>(cause) {
            Ok(cause) => text::display(cause["errorMessage"].as_str()?),
            Err(_) if self.error == NOT_UNDERSTOOD => text::display(cause),
            Err(_) => return None,
        };
        Some(text::shorten(&said, 300)).filter(|said| !said.is_empty())
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        self.said().map_or(Ok(()), |said| write!(f, ": {said}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(error: &str, cause: Option<&str>) -> String {
        Crash { error: error.into(), cause: cause.map(str::to_owned) }.to_string()
    }

    #[test]
    fn a_function_is_quoted_and_no_input_is() {
        let said = r#"{"errorType": "Sandbox.Timedout", "errorMessage": "RequestId: 7 Error: Task timed out\nafter 80 seconds"}"#;
        assert_eq!(
            shown("Sandbox.Timedout", Some(said)),
            "Sandbox.Timedout: RequestId: 7 Error: Task timed out after 80 seconds"
        );
        assert_eq!(shown("States.Timeout", None), "States.Timeout");
        assert_eq!(shown("States.Timeout", Some("")), "States.Timeout");
        assert_eq!(shown("States.Runtime", Some("no '$.x' in the input '{\"externalId\": \"hunter2\"}'")), "States.Runtime");
        assert_eq!(shown("States.TaskFailed", Some(r#"{"Status": "FAILED", "Input": "hunter2"}"#)), "States.TaskFailed");
        assert_eq!(shown("NotUnderstood", Some("deploy one version")), "NotUnderstood: deploy one version");
    }
}
