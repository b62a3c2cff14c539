//! The objects that handlers of custom resources answered into. They can hold secrets, so none outlives the run, whatever
//! became of it.

use ebb_core::provider::{is_custom_resource, response_keys};
use ebb_core::record::RunRecord;
use ebb_core::text;
use ebb_store::versions::purge;
use ebb_store::{Bucket, When};

/// Deletes the response objects of every custom resource that this run has asked, and their old versions. Answers warnings.
pub(crate) async fn remove_responses(bucket: &dyn Bucket, record: &RunRecord) -> Vec<String> {
    let mut warnings = Vec::new();
    for key in keys(record) {
        let deleted = match bucket.get(&key).await {
            // Not deleted unseen: in a versioned bucket that would leave a marker for every request that was never made.
            Ok(None) => Ok(()),
            Ok(Some(_)) => bucket.delete(&key, When::Always).await,
            Err(error) => Err(error),
        };
        match deleted {
            Ok(()) => warnings.extend(purge(bucket, &key).await),
            Err(error) => warnings.push(text::display(&format!("a custom resource's answer stays at {key}: {error}"))),
        }
    }
    warnings
}

fn keys(record: &RunRecord) -> impl Iterator<Item = String> {
    record.resources.iter().filter(|(_, resource)| is_custom_resource(&resource.resource_type)).flat_map(|(id, resource)| {
        let (stack, logical_id) = id.split_once('/').unwrap_or((id, ""));
        response_keys(&record.run, stack, logical_id, resource.attempt)
    })
}

#[cfg(test)]
mod tests {
    use ebb_core::Status;

    use super::*;
    use crate::testing::{Bed, record, resource};

    /// Always (success, failure, time-out): delete the response object and purge its versions.
    #[tokio::test(start_paused = true)]
    async fn every_answer_goes_and_nothing_else() {
        let bed = Bed::new();
        let mut record = record();
        let row = |status| ebb_core::record::ResourceRecord { attempt: 2, ..resource("Custom::Emptier", status) };
        record.resources.insert("S/Done".into(), row(Status::Deleted));
        record.resources.insert("S~Child/Asked".into(), row(Status::InFlight));
        record.resources.insert("S/Plain".into(), resource("AWS::SQS::Queue", Status::Deleted));
        let ours = [response_keys(&record.run, "S", "Done", 2), response_keys(&record.run, "S~Child", "Asked", 2)].concat();
        for key in &ours[1..] {
            bed.put(key, "");
            bed.put(key, r#"{"Status":"SUCCESS","Data":{"Password":"hunter2"}}"#);
        }
        bed.put("custom-resource-responses/ebb-other.json", "{}");
        assert_eq!(remove_responses(&*bed.bucket, &record).await, Vec::<String>::new());
        assert_eq!(bed.keys(), ["custom-resource-responses/ebb-other.json"]);
        for (n, key) in ours.iter().enumerate() {
            // At most the marker of the delete; none where there was no answer.
            assert_eq!(bed.bucket.versions(key).await.unwrap().len(), usize::from(n > 0), "{key}");
        }
    }

    /// Warn on failure.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_stays_is_said() {
        let bed = Bed::new();
        let mut record = record();
        let row = ebb_core::record::ResourceRecord { attempt: 1, ..resource("Custom::Emptier", Status::Skipped) };
        record.resources.insert("S/Done".into(), row);
        let key = &response_keys(&record.run, "S", "Done", 1)[0];
        bed.put(key, "{}");
        bed.bucket.hook.deny("DeleteObject", key);
        let warnings = remove_responses(&*bed.bucket, &record).await;
        assert!(warnings.len() == 1 && warnings[0].contains(key.as_str()), "{warnings:?}");
    }
}
