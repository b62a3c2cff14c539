//! Replays: Route 53's answers in, what the steps call and answer out. Neighbours stand in every list.

mod hosted_zones;
mod look;
mod record_sets;

use crate::testing::Script;

/// A record as it is listed.
fn set(name: &str, kind: &str, more: &str) -> String {
    format!("<ResourceRecordSet><Name>{name}</Name><Type>{kind}</Type>{more}</ResourceRecordSet>")
}

/// A record with one value.
fn record(name: &str, kind: &str, value: &str) -> String {
    let value = format!("<ResourceRecord><Value>{value}</Value></ResourceRecord>");
    set(name, kind, &format!("<TTL>300</TTL><ResourceRecords>{value}</ResourceRecords>"))
}

/// A page of records; `next` is the name and type where the list goes on.
fn page(sets: &[String], next: Option<(&str, &str)>) -> String {
    let next = next.map_or_else(String::new, |(name, kind)| {
        format!("<NextRecordName>{name}</NextRecordName><NextRecordType>{kind}</NextRecordType><IsTruncated>true</IsTruncated>")
    });
    format!(
        "<ListResourceRecordSetsResponse><ResourceRecordSets>{}</ResourceRecordSets>{next}<MaxItems>100</MaxItems>\
         </ListResourceRecordSetsResponse>",
        sets.concat()
    )
}

/// The zone's own records.
fn apex() -> [String; 2] {
    [record("example.com.", "NS", "ns-1.awsdns.com."), record("example.com.", "SOA", "ns-1. admin. 1 2 3 4 5")]
}

const LIST: &[&str] = &["GET ", "/hostedzone/Z1/rrset"];
const CHANGE: &[&str] = &["POST ", "/hostedzone/Z1/rrset", "<Action>DELETE</Action>"];
const CHANGED: &str = "<ChangeResourceRecordSetsResponse><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status>\
                       <SubmittedAt>2026-11-30T00:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>";

/// The form in which Route 53 refuses some batches: no code anywhere.
fn odd_refusal(script: Script, message: &str) -> Script {
    let body = format!("<InvalidChangeBatch><Messages><Message>{message}</Message></Messages></InvalidChangeBatch>");
    script.on(CHANGE, 400, body)
}
