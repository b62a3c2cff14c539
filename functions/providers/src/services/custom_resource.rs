//! Custom resources: the delete runs somebody's handler, and it is delivered once.

use ebb_core::{Code, DeleteError, Resource};

use crate::Cx;
use crate::call::StepResult;
use crate::classify::Rules;

pub(crate) const RULES: Rules = Rules::NONE;

pub(crate) async fn step(_r: &Resource, _cx: &Cx<'_>) -> StepResult {
    Err(DeleteError::refused(Code::NoProvider, "custom resources are not delivered yet").into())
}
