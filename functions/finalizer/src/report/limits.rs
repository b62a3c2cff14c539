//! What a run of any size and with texts of any length leaves for people: reports and events that can be opened.

use ebb_core::Status;
use ebb_core::record::{ResourceRecord, RunRecord};
use ebb_store::event_log::write_stream;

use super::{Report, html, json};
use crate::events::run_events;
use crate::testing::{Bed, partial, record, resource};

const ODD: [&str; 9] =
    ["a|b", "a/b", "with space", "%2F", "quo\"te'", "<script>&amp;", "ünïcode-日本語", "\u{202e}\u{1b}[2Jx", "new\nline"];

/// What of the stream is in the bucket.
async fn stream(record: &RunRecord) -> String {
    let bed = Bed::new();
    let key = record.run.key();
    let run = run_events(record);
    write_stream(&*bed.bucket, &key, &run.run_id, &run.events).await.unwrap();
    bed.body(&key.events(&run.run_id)).unwrap()
}

/// Reports and events of a run whose error text is of 100 kB are no larger than for one of 1 KiB; an error's message is at
/// most 4 KiB.
#[tokio::test(start_paused = true)]
async fn an_error_of_a_hundred_kilobytes_is_cut() {
    for piece in ["why ", "<", "\"", "日本語", "\u{0}"] {
        let long = piece.repeat(100_000 / piece.len());
        let mut record = partial();
        for row in record.resources.values_mut() {
            row.reason = Some(long.clone());
            row.code = Some(long.clone());
        }
        record.warnings = vec![long.clone()];
        if let Some(ended) = &mut record.ended {
            ended.message = Some(long.clone());
        }
        let report = Report::of(&record, None);
        let (page, text) = (html::page(&report), json::text(&report));
        assert!(page.len() < 300_000 && text.len() < 120_000, "{piece:?}: {} {}", page.len(), text.len());
        let stream = stream(&record).await;
        for line in stream.lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(line.len() <= 8 * 1024, "{piece:?}: {}", line.len());
            assert!(event["error"]["message"].as_str().unwrap_or_default().len() <= 4 * 1024);
        }
    }
}

/// Names with every odd character: escaped in the page, whole in the JSON, and each event stays on its line.
#[tokio::test(start_paused = true)]
async fn odd_names_can_be_read() {
    let mut record = record();
    for odd in ODD {
        let row = ResourceRecord { physical_id: odd.into(), ..resource("AWS::SQS::Queue", Status::Failed) };
        record.resources.insert(format!("S/{odd}"), row.clone());
        record.resources.insert(format!("S~{odd}/Nested"), row);
    }
    let report = Report::of(&record, None);
    let page = html::page(&report);
    for needle in ["<script", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(needle), "{needle}");
    }
    assert!(page.contains("&lt;script&gt;&amp;amp;") && page.contains("S/%2F") && page.contains("quo&quot;te&#39;"));
    let text: serde_json::Value = serde_json::from_slice(&json::text(&report)).unwrap();
    let ids: Vec<&str> = text["resources"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    for odd in ["a|b", "a/b", "%2F", "quo\"te'", "ünïcode-日本語"] {
        assert!(ids.contains(&format!("S/{odd}").as_str()) && ids.contains(&format!("S~{odd}/Nested").as_str()), "{odd}");
    }
    let stream = stream(&record).await;
    // The run's start and end, and two for each row of the stack itself.
    assert_eq!(stream.lines().count(), 2 + 2 * ODD.len());
    assert!(stream.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

/// A run of ten thousand resources has a report that a browser opens.
#[test]
fn ten_thousand_rows() {
    let mut record = record();
    for n in 0..10_000 {
        let row = ResourceRecord { physical_id: format!("q-{n}"), wave: n / 100, ..resource("AWS::SQS::Queue", Status::Deleted) };
        record.resources.insert(format!("S/Queue{n:05}"), row);
    }
    let report = Report::of(&record, None);
    assert_eq!(report.resources.len(), 10_000);
    let (page, text) = (html::page(&report), json::text(&report));
    assert!(page.len() < 8_000_000 && text.len() < 8_000_000, "{} {}", page.len(), text.len());
}
