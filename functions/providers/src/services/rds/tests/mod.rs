//! Replays of databases of all three families: what AWS describes in, what the step calls and answers out. Neighbours stand
//! in every listing.

mod deleting;
mod global;
mod parts;
mod protection;
mod snapshots;

use serde_json::json;

use crate::testing::{Bench, Script};

const ID: &str = "orders";

/// A fresh row of each type.
const CLUSTERS: [fn() -> Bench; 3] = [
    || Bench::new("AWS::RDS::DBCluster", ID, json!({})),
    || Bench::new("AWS::DocDB::DBCluster", ID, json!({})),
    || Bench::new("AWS::Neptune::DBCluster", ID, json!({})),
];
const INSTANCES: [fn() -> Bench; 3] = [
    || Bench::new("AWS::RDS::DBInstance", ID, json!({})),
    || Bench::new("AWS::DocDB::DBInstance", ID, json!({})),
    || Bench::new("AWS::Neptune::DBInstance", ID, json!({})),
];

fn databases() -> impl Iterator<Item = Bench> {
    CLUSTERS.into_iter().chain(INSTANCES).map(|new| new())
}

/// The words of the API for a cluster, or for an instance.
struct Words {
    noun: &'static str,
    status: &'static str,
    engine: &'static str,
    not_found: &'static str,
    busy: &'static str,
}

fn words(bench: &Bench) -> Words {
    let name = bench.resource.resource_type.as_str();
    let engine = match name {
        _ if name.contains("DocDB") => "docdb",
        _ if name.contains("Neptune") => "neptune",
        _ => "aurora-postgresql",
    };
    if name.ends_with("DBCluster") {
        let (not_found, busy) = ("DBClusterNotFoundFault", "InvalidDBClusterStateFault");
        Words { noun: "DBCluster", status: "Status", engine, not_found, busy }
    } else {
        let (not_found, busy) = ("DBInstanceNotFound", "InvalidDBInstanceState");
        Words { noun: "DBInstance", status: "DBInstanceStatus", engine, not_found, busy }
    }
}

/// One call about the database: `what` of it, with `more` in the request.
fn call(bench: &Bench, what: &str, more: &[&str]) -> Vec<String> {
    let noun = words(bench).noun;
    let plural = if what == "Describe" { "s" } else { "" };
    let about = [format!("Action={what}{noun}{plural}&"), format!("{noun}Identifier={ID}")];
    about.into_iter().chain(more.iter().map(|m| (*m).to_owned())).collect()
}

fn wants(call: &[String]) -> Vec<&str> {
    call.iter().map(String::as_str).collect()
}

/// One database as AWS describes it.
fn described(w: &Words, id: &str, engine: &str, status: &str, more: &str) -> String {
    let Words { noun, status: tag, .. } = w;
    format!("<{noun}><{noun}Identifier>{id}</{noun}Identifier><Engine>{engine}</Engine><{tag}>{status}</{tag}>{more}</{noun}>")
}

/// A look at it: its status, `None` when it is not there, and more of what AWS says.
fn look(script: Script, bench: &Bench, status: Option<&str>, more: &str) -> Script {
    let w = words(bench);
    let filter = format!("Filters.Filter.1.Values.Value.1={}", w.engine);
    let about: &[&str] = if w.engine.starts_with("aurora") { &[] } else { &["Filters.Filter.1.Name=engine", &filter] };
    let neighbour = described(&w, "orders-2", w.engine, "available", "<DeletionProtection>true</DeletionProtection>");
    let ours = status.map(|status| described(&w, ID, w.engine, status, more)).unwrap_or_default();
    let list = format!("<{0}s>{neighbour}{ours}</{0}s>", w.noun);
    script.query(&wants(&call(bench, "Describe", about)), &format!("Describe{}s", w.noun), &list)
}

/// A delete that AWS accepts, of a request with `more` in it.
fn delete(script: Script, bench: &Bench, more: &[&str]) -> Script {
    script.query(&wants(&call(bench, "Delete", more)), &format!("Delete{}", words(bench).noun), "")
}

/// A delete that AWS refuses.
fn refuse(script: Script, bench: &Bench, code: &str, message: &str) -> Script {
    script.query_error(&wants(&call(bench, "Delete", &[])), code, message)
}

/// The protection is switched.
fn switch(script: Script, bench: &Bench, on: bool) -> Script {
    let state = format!("DeletionProtection={on}");
    let call = call(bench, "Modify", &[&state, "ApplyImmediately=true"]);
    script.query(&wants(&call), &format!("Modify{}", words(bench).noun), "")
}

const PROTECTED: &str = "<DeletionProtection>true</DeletionProtection>";
