//! Types of the catalogue that go this way, of rows that cdkd made itself: named as the registry names them.

use ebb_core::Step;
use serde_json::json;

use super::{STATUS, event, failed};
use crate::testing::{Bench, Script};

#[tokio::test]
async fn catalogued_types_are_named_as_the_registry_names_them() {
    let image = "arn:aws:lambda:us-east-1:123456789012:microvm-image/builder";
    for (name, id, identifier) in [
        ("AWS::CloudTrail::Trail", "arn:aws:cloudtrail:us-east-1:123456789012:trail/audit", "audit"),
        ("AWS::Lambda::MicrovmImage", image, image),
    ] {
        let (name_sent, identifier_sent) = (format!("\"TypeName\":\"{name}\""), format!("\"Identifier\":\"{identifier}\""));
        let delete: &[&str] = &["CloudApiService.DeleteResource ", &name_sent, &identifier_sent];
        let accepted = || Script::new().json(delete, 200, event("IN_PROGRESS"));
        for (ended, expected) in [(event("SUCCESS"), Step::DELETED), (failed("NotFound", "no such thing"), Step::ALREADY_GONE)] {
            let mut bench = Bench::new(name, id, json!({}));
            assert!(matches!(bench.step(&accepted()).await, Ok(Step::Pending { .. })), "{name}");
            assert_eq!(bench.step(&Script::new().json(STATUS, 200, ended)).await, Ok(expected), "{name}");
        }
        let absent = Script::new().json_error(delete, "ResourceNotFoundException", "no such thing");
        assert_eq!(Bench::new(name, id, json!({})).step(&absent).await, Ok(Step::ALREADY_GONE), "{name}");
    }
}
