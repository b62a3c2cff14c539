//! Which bucket holds the state when the request names none: cdkd's rules as a table, without any call.

use ebb_core::{Ending, Refusal};

/// What HEAD says of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    Exists,
    /// There, and not ours to read.
    Denied,
    Absent,
}

impl Probe {
    /// `None` for a status that says nothing about the bucket.
    pub(super) fn of(status: u16) -> Option<Probe> {
        match status {
            200 | 301 => Some(Probe::Exists),
            403 => Some(Probe::Denied),
            404 => Some(Probe::Absent),
            _ => None,
        }
    }
}

/// cdkd's two default buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    pub(super) current: String,
    pub(super) legacy: String,
}

/// Where the state is, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Current,
    /// The current one; the legacy one is there and denied.
    CurrentBesideDenied,
    Legacy,
    /// The legacy one, because the current one is empty.
    LegacyBesideEmpty,
    /// Both are there: what they hold decides.
    ByContent,
    DeniedCurrent,
    DeniedLegacy,
    Neither,
}

pub(super) fn by_existence(current: Probe, legacy: Probe) -> Choice {
    match (current, legacy) {
        (Probe::Exists, Probe::Exists) => Choice::ByContent,
        (Probe::Exists, Probe::Denied) => Choice::CurrentBesideDenied,
        (Probe::Exists, Probe::Absent) => Choice::Current,
        // Even beside a legacy bucket that can be read: the stack may be in the one that cannot.
        (Probe::Denied, _) => Choice::DeniedCurrent,
        (Probe::Absent, Probe::Exists) => Choice::Legacy,
        (Probe::Absent, Probe::Denied) => Choice::DeniedLegacy,
        (Probe::Absent, Probe::Absent) => Choice::Neither,
    }
}

pub(super) fn by_content(current_is_used: bool, legacy_is_used: bool) -> Choice {
    if !current_is_used && legacy_is_used { Choice::LegacyBesideEmpty } else { Choice::Current }
}

/// HEAD without knowing the bucket's region is sent to the partition's oldest one, which answers for all.
pub(super) fn probing_region(home: &str) -> &'static str {
    match home {
        home if home.starts_with("cn-") => "cn-north-1",
        home if home.starts_with("us-gov-") => "us-gov-west-1",
        _ => "us-east-1",
    }
}

impl Candidates {
    pub(super) fn of(account: &str, region: &str) -> Self {
        Candidates { current: format!("cdkd-state-{account}"), legacy: format!("cdkd-state-{account}-{region}") }
    }

    /// The bucket's name with warnings, or why there is none.
    pub(super) fn settle(self, choice: Choice, account: &str) -> Result<(String, Vec<String>), Refusal> {
        let Candidates { current, legacy } = self;
        let with = |name, warning| Ok((name, vec![warning]));
        match choice {
            Choice::Current | Choice::ByContent => Ok((current, Vec::new())),
            Choice::CurrentBesideDenied => {
                let warning = format!("{legacy}, the legacy default bucket, exists and is not ours to read; {current} is used");
                with(current, warning)
            }
            Choice::Legacy => {
                let warning = format!("{legacy} is the legacy default bucket and deprecated; name it in `bucket`");
                with(legacy, warning)
            }
            Choice::LegacyBesideEmpty => {
                let warning = format!("{current} holds no state, so {legacy}, the deprecated legacy default bucket, is used");
                with(legacy, warning)
            }
            Choice::DeniedCurrent => Err(denied(&current, account)),
            Choice::DeniedLegacy => Err(denied(&legacy, account)),
            Choice::Neither => {
                let why = format!("neither {current} nor {legacy} exists: run `cdkd bootstrap`, or name the bucket in `bucket`");
                Err(Refusal::new(Ending::BucketNotFound, why))
            }
        }
    }
}

/// The bucket is there, and somebody else's or closed to us.
pub(super) fn denied(bucket: &str, account: &str) -> Refusal {
    let why = format!(
        "bucket {bucket} refuses us: it does not belong to account {account}, or s3:GetBucketLocation and s3:ListBucket on it are not granted"
    );
    Refusal::new(Ending::AccessDenied, why)
}

/// The bucket that was named is not there.
pub(super) fn missing(bucket: &str) -> Refusal {
    Refusal::new(Ending::BucketNotFound, format!("bucket {bucket} does not exist: check its name, or run `cdkd bootstrap`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Probe::*;

    // 200 or 301 = there; 403 = there but not ours to read; 404 = absent; any other answer says nothing.
    #[test]
    fn what_a_status_says() {
        let said: Vec<_> = [200, 301, 403, 404, 400, 429, 500, 503].map(Probe::of).into();
        assert_eq!(said, [Some(Exists), Some(Exists), Some(Denied), Some(Absent), None, None, None, None]);
    }

    #[test]
    fn every_pair_of_answers_has_one_choice() {
        for (current, legacy, choice) in [
            (Exists, Absent, Choice::Current),
            (Exists, Exists, Choice::ByContent),
            (Exists, Denied, Choice::CurrentBesideDenied),
            (Absent, Exists, Choice::Legacy),
            (Absent, Denied, Choice::DeniedLegacy),
            (Absent, Absent, Choice::Neither),
            (Denied, Exists, Choice::DeniedCurrent),
            (Denied, Denied, Choice::DeniedCurrent),
            (Denied, Absent, Choice::DeniedCurrent),
        ] {
            assert_eq!(by_existence(current, legacy), choice, "{current:?} {legacy:?}");
        }
    }

    // Both: the new one, unless it holds nothing and the legacy one does.
    #[test]
    fn of_two_buckets_the_legacy_one_only_when_it_alone_is_used() {
        assert_eq!(by_content(true, true), Choice::Current);
        assert_eq!(by_content(true, false), Choice::Current);
        assert_eq!(by_content(false, false), Choice::Current);
        assert_eq!(by_content(false, true), Choice::LegacyBesideEmpty);
    }

    #[test]
    fn what_each_choice_tells_a_person() {
        let settle = |choice| Candidates::of("123456789012", "eu-west-1").settle(choice, "123456789012");
        assert_eq!(settle(Choice::Current).unwrap(), ("cdkd-state-123456789012".into(), vec![]));
        for legacy in [Choice::Legacy, Choice::LegacyBesideEmpty] {
            let (name, warnings) = settle(legacy).unwrap();
            assert_eq!(name, "cdkd-state-123456789012-eu-west-1");
            assert!(warnings[0].contains("deprecated"), "{warnings:?}");
        }
        assert_eq!(settle(Choice::CurrentBesideDenied).unwrap().1.len(), 1);
        let neither = settle(Choice::Neither).unwrap_err();
        assert_eq!(neither.ending, Ending::BucketNotFound);
        assert!(neither.message.contains("cdkd bootstrap"));
        for (choice, name) in [
            (Choice::DeniedCurrent, "bucket cdkd-state-123456789012 refuses"),
            (Choice::DeniedLegacy, "bucket cdkd-state-123456789012-eu-west-1 refuses"),
        ] {
            let denied = settle(choice).unwrap_err();
            assert_eq!(denied.ending, Ending::AccessDenied);
            assert!(denied.message.contains(name), "{denied}");
        }
    }

    #[test]
    fn each_partition_is_probed_in_itself() {
        assert_eq!(probing_region("eu-west-1"), "us-east-1");
        assert_eq!(probing_region("cn-northwest-1"), "cn-north-1");
        assert_eq!(probing_region("us-gov-east-1"), "us-gov-west-1");
    }
}
