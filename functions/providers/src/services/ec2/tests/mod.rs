//! Replays: EC2's answers in, what the step calls and answers out. Neighbours are planted wherever a step lists, since an
//! endpoint may ignore a filter.

mod acl_associations;
mod addresses;
mod blocked;
mod instances;
mod lambda_interfaces;
mod plain;
mod rules;
mod slow;
mod volumes;

use std::time::Duration;

use ebb_core::{DeleteError, Step};
use serde_json::Value;

use crate::testing::{Bench, Script};

/// The answer of a call that has nothing to say.
fn done(action: &str) -> String {
    format!("<{action}Response><requestId>r</requestId><return>true</return></{action}Response>")
}

/// The answer of a Describe call, with `items` in its `set`.
fn list(action: &str, set: &str, items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<item>{item}</item>")).collect();
    format!("<{action}Response><requestId>r</requestId><{set}>{items}</{set}></{action}Response>")
}

/// One step of a fresh row; every scripted call must come.
#[track_caller]
fn step(resource_type: &str, id: &str, properties: Value, script: Script) -> Result<Step, DeleteError> {
    let mut bench = Bench::new(resource_type, id, properties);
    next(&mut bench, script)
}

/// One more step of a row.
#[track_caller]
fn next(bench: &mut Bench, script: Script) -> Result<Step, DeleteError> {
    let answer = wait(bench.step(&script));
    script.assert_done();
    answer
}

/// Steps are async, these tables are not.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// When to look again, and why.
#[track_caller]
fn pending(answer: Result<Step, DeleteError>) -> (Duration, String) {
    let (seconds, note) = crate::testing::pending(answer);
    (Duration::from_secs(seconds), note)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An interface as DescribeNetworkInterfaces lists it.
struct Interface<'a> {
    id: &'a str,
    description: &'a str,
    status: &'a str,
    vpc: &'a str,
    subnet: &'a str,
    group: &'a str,
    more: &'a str,
}

/// Lambda's, detached, in the VPC, subnet and group that the tests delete.
const LAMBDAS: Interface<'_> = Interface {
    id: "eni-free",
    description: "AWS Lambda VPC ENI-fn-0f3c",
    status: "available",
    vpc: "vpc-1",
    subnet: "subnet-1",
    group: "sg-1",
    more: "",
};

fn interfaces(all: &[Interface<'_>]) -> String {
    let items = all.iter().map(|i| {
        let Interface { id, description, status, vpc, subnet, group, more } = i;
        format!(
            "<networkInterfaceId>{id}</networkInterfaceId><description>{description}</description><status>{status}</status>\
             <vpcId>{vpc}</vpcId><subnetId>{subnet}</subnetId><ownerId>123456789012</ownerId>\
             <groupSet><item><groupId>{group}</groupId><groupName>g</groupName></item></groupSet>{more}"
        )
    });
    list("DescribeNetworkInterfaces", "networkInterfaceSet", &items.collect::<Vec<_>>())
}
