//! The Delete event as CloudFormation words it.

use ebb_core::run::ExecutionArn;
use ebb_core::{Code, DeleteError, Resource, Run};
use serde::Serialize;
use serde_json::{Map, Value};

use super::js;
use crate::call::StepError;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    request_type: &'a str,
    request_id: &'a str,
    #[serde(rename = "ResponseURL")]
    response_url: &'a str,
    resource_type: &'a str,
    logical_resource_id: &'a str,
    physical_resource_id: &'a str,
    stack_id: String,
    resource_properties: Map<String, Value>,
}

/// The event as JSON. Secrets may be in it: it goes to the handler and nowhere else.
pub(super) fn body(r: &Resource, run: &Run, request_id: &str, response_url: &str) -> Result<String, StepError> {
    let event = Event {
        request_type: "Delete",
        request_id,
        response_url,
        resource_type: &r.resource_type,
        logical_resource_id: &r.logical_id,
        physical_resource_id: &r.physical_id,
        stack_id: stack_id(r, run),
        resource_properties: js::texts_in(&r.properties),
    };
    serde_json::to_string(&event).map_err(|_| {
        DeleteError::refused(Code::HandlerDidNotComplete, "the request to the handler cannot be written as JSON").into()
    })
}

/// cdkd's form for Create, Update and Delete alike: handlers compare it.
fn stack_id(r: &Resource, run: &Run) -> String {
    let partition = ExecutionArn::parse(&run.execution).map_or("aws", |arn| arn.partition);
    let account = if run.account.is_empty() { "000000000000" } else { run.account.as_str() };
    format!("arn:{partition}:cloudformation:{}:{account}:stack/cdkd-{}/cdkd", r.region, r.logical_id)
}
