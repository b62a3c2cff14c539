//! Log lines: JSON events with fields, on stdout. Ebb's own events have the level that `EBB_LOG` asks for; the AWS
//! runtime's stay at warnings whatever is asked, because its debug events show requests and answers.

use std::sync::Once;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The environment variable with the level: `error`, `warn`, `info` (default), `debug`, `trace` or `off`.
pub const LEVEL_VARIABLE: &str = "EBB_LOG";

/// Starts logging; the first call decides, later ones change nothing.
pub fn init() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let asked = std::env::var(LEVEL_VARIABLE).ok();
        // Somebody else's subscriber (a test's) is as good as ours.
        let _ = subscriber(level(asked.as_deref()), std::io::stdout).try_init();
    });
}

/// What a level is called; anything unknown is `info`, so that a typo never silences a run.
fn level(asked: Option<&str>) -> LevelFilter {
    asked.and_then(|text| text.trim().parse().ok()).unwrap_or(LevelFilter::INFO)
}

fn subscriber<W>(own: LevelFilter, writer: W) -> impl tracing::Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let json = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(writer);
    let targets = Targets::new().with_default(own.min(LevelFilter::WARN)).with_target("ebb", own);
    Registry::default().with(json).with(targets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(level: LevelFilter, events: impl FnOnce()) -> Vec<serde_json::Value> {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing::subscriber::with_default(subscriber(level, move || writer.clone()), events);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn an_event_is_one_line_of_json_with_its_fields() {
        let lines = logged(LevelFilter::INFO, || tracing::info!(stack = "OrdersApi", wave = 3, "planned"));
        assert_eq!(lines.len(), 1);
        assert_eq!((&lines[0]["stack"], &lines[0]["wave"], &lines[0]["level"]), (&"OrdersApi".into(), &3.into(), &"INFO".into()));
    }

    // Never in logs: custom-resource bodies, presigned URLs, SDK debug dumps.
    #[test]
    fn the_sdks_own_debug_events_never_show() {
        let lines = logged(LevelFilter::TRACE, || {
            tracing::debug!(target: "aws_smithy_runtime::client", "request with everything in it");
            tracing::trace!(target: "lambda_runtime", "raw event");
            tracing::warn!(target: "aws_config", "a warning");
            tracing::trace!(target: "ebb_worker", "ours");
        });
        let targets: Vec<_> = lines.iter().map(|line| line["target"].as_str().unwrap()).collect();
        assert_eq!(targets, ["aws_config", "ebb_worker"]);
    }

    #[test]
    fn a_level_that_is_not_known_is_info() {
        assert_eq!(level(None), LevelFilter::INFO);
        assert_eq!(level(Some("DEBUG")), LevelFilter::DEBUG);
        assert_eq!(level(Some("loud")), LevelFilter::INFO);
        assert_eq!(level(Some("off")), LevelFilter::OFF);
    }
}
