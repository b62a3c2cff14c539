//! Flow logs. What they wrote stays with its log group or bucket.

use ebb_core::{Resource, Step};

use super::unsuccessful;
use crate::Cx;
use crate::call::StepResult;
use crate::classify::Rules;
use crate::registry::TypeDef;

pub(super) const FLOW_LOG: TypeDef = TypeDef {
    name: "AWS::EC2::FlowLog",
    step: |r, cx| Box::pin(flow_log(r, cx)),
    look: None,
    actions: &["ec2:DeleteFlowLogs"],
    rules: Rules { gone: &["InvalidFlowLogId.NotFound"], ..Rules::NONE },
};

/// The call succeeds whatever happens to its items.
async fn flow_log(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let answer = cx.aws.ec2().delete_flow_logs().flow_log_ids(&r.physical_id).send().await?;
    unsuccessful(answer.unsuccessful(), &r.physical_id)?;
    Ok(Step::DELETED)
}
