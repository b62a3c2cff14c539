use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use super::*;
use crate::{Call, Hook, Hooked, MemoryBucket, VirtualClock};

const LEGACY: &str = include_str!("../../../../tests/states/01-v1-legacy.json");
const EXPORTER: &str = include_str!("../../../../tests/states/08-v9-exporter.json");
const AT: u64 = 1_770_000_000_123;

/// The next writes and deletes go wrong as told.
#[derive(Default)]
struct Faults {
    next: Mutex<VecDeque<Fault>>,
    /// What is denied to read.
    denied: Option<String>,
}

#[derive(Clone, Copy)]
enum Fault {
    /// Not done.
    Refused(BucketErrorKind),
    /// Done, and the reply is lost.
    LostReply,
    /// Somebody else writes just before.
    Overtaken,
    /// Somebody else deletes just before.
    Removed,
    /// As usual.
    Fine,
}
use Fault::*;

impl Hook for Faults {
    async fn meet<T: Send>(
        &self,
        memory: &MemoryBucket,
        call: Call<'_>,
        request: impl Future<Output = Result<T, BucketError>> + Send,
    ) -> Result<T, BucketError> {
        if call.operation == "GetObject" && self.denied.as_deref() == Some(call.key) {
            return Err(call.fails(BucketErrorKind::Denied));
        }
        let fault = if call.changes() { self.next.lock().unwrap().pop_front() } else { None };
        match fault.unwrap_or(Fine) {
            Refused(kind) => return Err(call.fails(kind)),
            Overtaken => drop(memory.raw_put(call.key, "{\"somebody\": \"else\"}")),
            Removed => memory.raw_delete(call.key),
            LostReply => return request.await.and_then(|_| Err(call.fails(BucketErrorKind::Unknown))),
            Fine => {}
        }
        request.await
    }
}

struct Place {
    bucket: Hooked<Faults>,
    clock: Arc<VirtualClock>,
    key: StackKey,
}

impl Place {
    fn with(key: StackKey, objects: &[(String, &str)]) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(AT));
        let memory = MemoryBucket::versioned("state-bucket", clock.clone());
        for (key, body) in objects {
            memory.raw_put(key, body.to_string());
        }
        Place { bucket: Hooked { memory, hook: Faults::default() }, clock, key }
    }

    fn exporter() -> Self {
        let key = StackKey::new("cdkd", "SharedBus", "us-east-1");
        Place::with(key.clone(), &[(key.state(), EXPORTER)])
    }

    fn legacy(body: &str) -> Self {
        let key = StackKey::new("cdkd", "LegacyMailer", "ap-northeast-1");
        Place::with(key.clone(), &[(key.legacy_state(), body)])
    }

    async fn read(&self) -> Result<Option<StateFile>, Refusal> {
        read(&self.bucket, &self.key).await
    }

    async fn file(&self) -> StateFile {
        self.read().await.unwrap().unwrap()
    }

    fn next(&self, faults: &[Fault]) {
        *self.bucket.hook.next.lock().unwrap() = faults.iter().copied().collect();
    }

    fn trimmed(&self, file: &StateFile) -> Vec<u8> {
        file.doc.trim(&BTreeSet::from(["Bus0A", "BounceQueue55D0"]), AT, &self.key)
    }

    async fn write(&self, file: &StateFile) -> Result<Written, WriteError> {
        write_trimmed(&self.bucket, self.clock.as_ref(), file, self.trimmed(file)).await
    }

    fn keys(&self) -> Vec<String> {
        self.bucket.memory.snapshot().into_keys().collect()
    }

    fn holds(&self, key: &str) -> Option<Bytes> {
        self.bucket.memory.snapshot().remove(key)
    }
}

#[tokio::test(start_paused = true)]
async fn reads_the_regions_key_first_and_keeps_body_and_etag() {
    let place = Place::exporter();
    let object = place.bucket.get(&place.key.state()).await.unwrap().unwrap();
    place.bucket.memory.raw_put(&place.key.legacy_state(), "no JSON");
    let file = place.file().await;
    assert_eq!((file.layout, &file.etag, &file.body.0), (Layout::Regional, &object.etag, &object.body));
    assert_eq!(file.doc.resource_count(), 3);
    assert!(!format!("{file:?}").contains("shared-bus"), "Debug shows no contents");
    assert_eq!(digest(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/// Belonging: a falsy region is ours, another string is another region's stack, a truthy non-string is refused.
#[tokio::test(start_paused = true)]
async fn reads_a_legacy_record_when_it_belongs() {
    let file = Place::legacy(LEGACY).file().await;
    assert_eq!((file.layout, file.object_key().as_str()), (Layout::Legacy, "cdkd/LegacyMailer/state.json"));
    let with_region = |region: &str| LEGACY.replacen("\"ap-northeast-1\"", region, 1);
    assert!(Place::legacy(&with_region("\"\"")).read().await.unwrap().is_some());
    assert!(Place::legacy(&with_region("\"us-east-1\"")).read().await.unwrap().is_none());
    let refusal = Place::legacy(&with_region("7")).read().await.unwrap_err();
    assert_eq!(refusal.ending, Ending::RegionMismatch);
    // Another region's record may have any shape; ours may not.
    assert!(Place::legacy(r#"{"region": "us-east-1", "resources": 7}"#).read().await.unwrap().is_none());
    assert_eq!(Place::legacy(r#"{"resources": 7}"#).read().await.unwrap_err().ending, Ending::MalformedState);
    assert_eq!(Place::legacy("x").read().await.unwrap_err().ending, Ending::MalformedState);
    assert!(Place::with(StackKey::new("cdkd", "A", "us-east-1"), &[]).read().await.unwrap().is_none());
}

/// 403 on read: access error, never "no state".
#[tokio::test(start_paused = true)]
async fn a_denied_read_is_never_no_state() {
    let mut place = Place::with(StackKey::new("cdkd", "A", "us-east-1"), &[]);
    for key in [place.key.state(), place.key.legacy_state()] {
        place.bucket.hook.denied = Some(key);
        let refusal = place.read().await.unwrap_err();
        assert_eq!(refusal.ending, Ending::AccessDenied);
        assert!(refusal.message.contains("state-bucket") && refusal.message.contains("s3:ListBucket"), "{refusal}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_is_on_condition_of_what_was_read() {
    let place = Place::exporter();
    let file = place.file().await;
    let written = place.write(&file).await.unwrap();
    let now = place.file().await;
    assert_eq!((&now.etag, now.doc.resource_count(), now.body.0.as_ref()), (&written.etag, 2, place.trimmed(&file).as_slice()));
    // The same write again, as a planner that is run twice sends it: recognised by its body.
    assert_eq!(place.write(&file).await.unwrap(), written);
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_write_is_a_conflict_and_stays() {
    for fault in [Overtaken, Removed] {
        let place = Place::exporter();
        let file = place.file().await;
        place.next(&[fault]);
        assert_eq!(place.write(&file).await, Err(WriteError::Conflict("cdkd/SharedBus/us-east-1/state.json".into())));
        let left = place.holds(&place.key.state());
        assert!(left.is_none_or(|body| body == "{\"somebody\": \"else\"}"), "a removed state is not resurrected");
    }
}

/// A lost reply, a concurrent request (409), a refused try: the write is in the bucket once.
#[tokio::test(start_paused = true)]
async fn a_write_comes_through_lost_replies_and_races() {
    for faults in [
        vec![LostReply],
        vec![Refused(BucketErrorKind::Unknown)],
        vec![Refused(BucketErrorKind::Conflict), Refused(BucketErrorKind::Conflict)],
        vec![Refused(BucketErrorKind::Conflict), LostReply],
        vec![Refused(BucketErrorKind::Unknown), LostReply],
    ] {
        let place = Place::exporter();
        let file = place.file().await;
        place.next(&faults);
        let written = place.write(&file).await.unwrap();
        assert_eq!(place.file().await.etag, written.etag);
        assert_eq!(place.bucket.versions(&place.key.state()).await.unwrap().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_refused_for_good_fails_and_leaves_a_superset() {
    for faults in [vec![Refused(BucketErrorKind::Denied)], vec![Refused(BucketErrorKind::Conflict); 20]] {
        let place = Place::exporter();
        let file = place.file().await;
        place.next(&faults);
        assert!(matches!(place.write(&file).await, Err(WriteError::Failed(_))));
        assert_eq!(place.file().await.body, file.body);
        assert!(place.clock.now() - AT < 10_000, "within a function's minute");
    }
}

/// The first write of a legacy record goes to the region's key on condition that there is none; then the legacy one goes.
#[tokio::test(start_paused = true)]
async fn a_legacy_record_moves_to_the_regions_key() {
    for faults in [vec![], vec![LostReply], vec![LostReply, LostReply], vec![Refused(BucketErrorKind::Unknown)]] {
        let place = Place::legacy(LEGACY);
        let file = place.file().await;
        place.next(&faults);
        let written = place.write(&file).await.unwrap();
        assert_eq!(written.warnings, Vec::<String>::new());
        assert_eq!(place.keys(), [place.key.state()]);
        let now = place.file().await;
        assert_eq!(
            (now.layout, now.doc.version(), now.doc.resource_count(), now.etag),
            (Layout::Regional, Some(2), 5, written.etag)
        );
    }
    let place = Place::legacy(LEGACY);
    let file = place.file().await;
    place.next(&[Overtaken]);
    assert!(matches!(place.write(&file).await, Err(WriteError::Conflict(_))));
    assert!(place.holds(&place.key.legacy_state()).is_some(), "nothing more is touched");

    let place = Place::legacy(LEGACY);
    let file = place.file().await;
    place.next(&[Fine, Overtaken]);
    let written = place.write(&file).await.unwrap();
    assert!(written.warnings[0].contains("the legacy record stays"), "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn the_state_is_deleted_on_condition_and_its_versions_stay() {
    for faults in [
        vec![],
        vec![LostReply],
        vec![Removed],
        vec![Refused(BucketErrorKind::Unknown)],
        vec![Refused(BucketErrorKind::Conflict), LostReply],
    ] {
        let place = Place::exporter();
        let file = place.file().await;
        place.next(&faults);
        assert_eq!(delete_state(&place.bucket, place.clock.as_ref(), &file).await, Ok(vec![]));
        assert!(place.keys().is_empty());
        assert!(place.bucket.versions(&place.key.state()).await.unwrap().len() >= 2, "the user's way back");
    }
    let place = Place::exporter();
    let file = place.file().await;
    place.next(&[Overtaken]);
    let error = delete_state(&place.bucket, place.clock.as_ref(), &file).await.unwrap_err();
    assert_eq!(error.refusal().ending, Ending::StateConflict);
    assert_eq!(place.keys(), [place.key.state()]);
    place.next(&[Refused(BucketErrorKind::Denied)]);
    let error = delete_state(&place.bucket, place.clock.as_ref(), &place.file_as_is().await).await.unwrap_err();
    assert_eq!(error.refusal().ending, Ending::AccessDenied);
}

impl Place {
    /// The file with the ETag of whatever is there now.
    async fn file_as_is(&self) -> StateFile {
        let etag = self.bucket.get(&self.key.state()).await.unwrap().unwrap().etag;
        StateFile { etag, ..Place::exporter().file().await }
    }
}

/// Migrate on first save; delete the legacy key only when it belongs.
#[tokio::test(start_paused = true)]
async fn a_legacy_record_beside_the_state_goes_with_it_when_it_belongs() {
    for (legacy, left, warned) in [
        (r#"{"region": "us-east-1", "resources": {}}"#, false, false),
        (r#"{"resources": {}}"#, false, false),
        (r#"{"region": "eu-west-1", "resources": {}}"#, true, false),
        (r#"{"region": 7}"#, true, true),
        ("no JSON", true, true),
    ] {
        let place = Place::exporter();
        place.bucket.memory.raw_put(&place.key.legacy_state(), legacy);
        let warnings = delete_state(&place.bucket, place.clock.as_ref(), &place.file().await).await.unwrap();
        assert_eq!((place.holds(&place.key.legacy_state()).is_some(), !warnings.is_empty()), (left, warned), "{legacy}");
        assert!(place.holds(&place.key.state()).is_none());
    }
    let place = Place::legacy(LEGACY);
    assert_eq!(delete_state(&place.bucket, place.clock.as_ref(), &place.file().await).await, Ok(vec![]));
    assert!(place.keys().is_empty());
}

/// Delete denied or failed: do not delete the state.
#[tokio::test(start_paused = true)]
async fn a_ledger_that_cannot_be_deleted_is_its_own_ending() {
    let place = Place::exporter();
    let ledger = place.key.create_tokens();
    let delete = || delete_ledger(&place.bucket, place.clock.as_ref(), &place.key);
    assert_eq!(delete().await, Ok(false));
    for faults in [vec![], vec![LostReply], vec![Refused(BucketErrorKind::Conflict)]] {
        place.bucket.memory.raw_put(&ledger, "{}");
        place.next(&faults);
        assert_eq!(delete().await, Ok(true));
        assert!(place.holds(&ledger).is_none());
    }
    for (fault, ending) in [
        (Refused(BucketErrorKind::Denied), Ending::LedgerNotDeletable),
        (Refused(BucketErrorKind::Unavailable), Ending::LedgerNotDeletable),
        // Somebody else writes here: a conflict, not a missing grant.
        (Overtaken, Ending::StateConflict),
    ] {
        place.bucket.memory.raw_put(&ledger, "{}");
        place.next(&[fault]);
        assert_eq!(delete().await.unwrap_err().ending, ending);
        assert!(place.holds(&ledger).is_some());
    }
    let hook = Faults { denied: Some(ledger), ..Faults::default() };
    let denied = Hooked { memory: place.bucket.memory.clone(), hook };
    let refusal = delete_ledger(&denied, place.clock.as_ref(), &place.key).await.unwrap_err();
    assert!(refusal.ending == Ending::LedgerNotDeletable && refusal.message.contains("s3:ListBucket"), "{refusal}");
}

/// Delete the journal and purge its noncurrent versions; a failure is a warning. After a 412 it stays.
#[tokio::test(start_paused = true)]
async fn the_journal_goes_for_good() {
    let place = Place::exporter();
    let journal = place.key.rollback_journal();
    let delete = || delete_journal(&place.bucket, place.clock.as_ref(), &place.key);
    assert!(delete().await.is_empty());
    place.bucket.memory.raw_put(&journal, "old");
    place.bucket.memory.raw_put(&journal, "new");
    assert!(delete().await.is_empty());
    let left = place.bucket.versions(&journal).await.unwrap();
    assert!(left.iter().all(|version| version.latest), "only the marker is left: {left:?}");
    place.bucket.memory.raw_put(&journal, "x");
    place.next(&[Overtaken]);
    let warnings = delete().await;
    assert!(warnings[0].contains("rollback-journal.json stays"), "{warnings:?}");
    assert!(place.holds(&journal).is_some());
    assert!(place.bucket.versions(&journal).await.unwrap().len() > 1, "nothing is purged then");
    // Between delete and purge an earlier try may have died.
    place.bucket.memory.raw_delete(&journal);
    assert!(delete().await.is_empty());
    assert!(place.bucket.versions(&journal).await.unwrap().iter().all(|version| version.latest));
}
