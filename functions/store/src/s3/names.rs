use super::*;
use ebb_core::keys::{StateKey, parse_state_key};
use ebb_core::{StackKey, StackRef};

use crate::replay::{Replay, answer};

/// Names of stacks and parts of prefixes with every character that S3 takes and that means something in a URL, in XML or in
/// a listing's encoding.
const NAMES: [&str; 13] = [
    "S~Child",
    "with space",
    "a|b",
    "100%",
    "%2F",
    "a%2Fb+c",
    "quo\"te'",
    "<&>;",
    "ünïcode-日本語",
    "-._~!*'()",
    "..",
    "?x=1#y",
    "@:,$=",
];

fn key(name: &str) -> StackKey {
    StackKey::new(&format!("p {name}"), name, "us-east-1")
}

fn bucket(answers: impl IntoIterator<Item = crate::replay::Answer>) -> (S3Bucket, Replay) {
    let replay = Replay::new(answers);
    (S3Bucket::new(&replay.config(), "my-state", "123456789012"), replay)
}

/// As S3 encodes keys when it is asked to.
fn encoded(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*/".contains(&byte);
    let encode = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    key.bytes().map(encode).collect()
}

/// The request names the very key, whatever stands in it: nothing is decoded, normalised or taken for a query.
#[tokio::test(start_paused = true)]
async fn every_call_names_the_very_key() {
    for name in NAMES {
        let key = key(name).state();
        let missing = || answer(404, "<Error><Code>NoSuchKey</Code></Error>");
        let (bucket, replay) = bucket([missing(), answer(200, "").with("etag", "\"e\""), answer(204, "")]);
        assert_eq!(bucket.get(&key).await.unwrap(), None);
        bucket.put(&key, Put::json("{}"), When::Absent).await.unwrap();
        bucket.delete(&key, When::Unchanged("\"e\"".into())).await.unwrap();
        let presigned = bucket.presign_put(&key, Duration::from_secs(60)).await.unwrap();
        for uri in replay.sent().into_iter().map(|sent| sent.uri).chain([presigned]) {
            let (_, path) = uri.split_once("amazonaws.com/").unwrap();
            let path = path.split('?').next().unwrap();
            assert!(path.is_ascii() && !path.contains([' ', '+', '"', '<', '>', '#', '|']), "{uri}");
            assert_eq!(decode_key(path, true).as_deref(), Some(key.as_str()), "{uri}");
        }
    }
}

/// A listed key reads back as the stack that it was made of.
#[tokio::test(start_paused = true)]
async fn a_listing_answers_the_very_keys() {
    for name in NAMES {
        let at = key(name);
        let page = format!(
            "<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>\
             <Contents><Key>{}</Key></Contents><Contents><Key>{}</Key></Contents></ListBucketResult>",
            encoded(&at.state()),
            encoded(&at.legacy_state())
        );
        let (bucket, replay) = bucket([answer(200, page.leak())]);
        let listing = bucket.list(&format!("{}/", at.prefix), None, 10).await.unwrap();
        assert_eq!(listing.keys, [at.state(), at.legacy_state()]);
        let parsed: Vec<_> = listing.keys.iter().map(|key| parse_state_key(&at.prefix, key)).collect();
        let regional = StateKey::Regional(StackRef { stack: name.into(), region: "us-east-1".into() });
        assert_eq!(parsed, [Some(regional), Some(StateKey::Legacy(name.into()))]);
        let uri = &replay.sent()[0].uri;
        let asked = uri.split('&').find_map(|part| part.rsplit_once("prefix=")).unwrap().1;
        assert_eq!(decode_key(asked, true), Some(format!("{}/", at.prefix)), "{uri}");
    }
}
