//! Elastic IP addresses. One is taken from an instance only where the row itself put it there; an address of a NAT
//! gateway or a load balancer goes when its owner has gone.

use std::net::IpAddr;

use aws_sdk_ec2::types::Address;
use ebb_core::{DeleteError, ErrorClass, Resource, Step};

use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;

pub(super) const EIP: TypeDef = TypeDef {
    name: "AWS::EC2::EIP",
    step: |r, cx| Box::pin(eip(r, cx)),
    look: None,
    actions: &["ec2:DescribeAddresses", "ec2:DisassociateAddress", "ec2:ReleaseAddress"],
    rules: RULES,
};

const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        blocked("DependencyViolation", 10, 600),
        blocked("InvalidIPAddress.InUse", 10, 600),
        // "No permission" while a NAT gateway or a load balancer holds it; without an association it is what it says.
        blocked("AuthFailure", 10, 600),
    ],
    ..Rules::NONE
};

const GONE: &[&str] = &["InvalidAllocationID.NotFound", "InvalidAddressID.NotFound", "InvalidAddress.NotFound"];

/// How the state names an address.
#[derive(Clone, Copy)]
enum Recorded<'r> {
    Allocation(&'r str),
    Ip(&'r str),
}

impl<'r> Recorded<'r> {
    /// Recorded as `public IP|allocation id`; one of them alone will do. The allocation id is the better name.
    fn of(r: &'r Resource) -> Result<Self, StepError> {
        let attribute = r.attributes.get("AllocationId").and_then(|id| id.as_str());
        let parts = || r.physical_id.split('|').chain(attribute);
        parts()
            .find(|part| part.starts_with("eipalloc-"))
            .map(Recorded::Allocation)
            .or_else(|| parts().find(|part| part.parse::<IpAddr>().is_ok()).map(Recorded::Ip))
            .ok_or_else(|| StepError::malformed_id("public IP|allocation id"))
    }
}

async fn eip(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let recorded = Recorded::of(r)?;
    // A mask here only says that the instance is not known: the address itself is named by the id.
    let instance = r.address("InstanceId").ok().flatten();
    let allocation = match (recorded, instance) {
        (Recorded::Allocation(id), None) => id.to_owned(),
        _ => {
            let Some(found) = find(cx, recorded).await? else { return Ok(Step::ALREADY_GONE) };
            let on_it = instance.is_some() && found.instance_id() == instance;
            if let Some(association) = found.association_id().filter(|_| on_it) {
                cx.fence.check().await?;
                let disassociate = cx.aws.ec2().disassociate_address().association_id(association);
                disassociate.send().await.ignore(&["InvalidAssociationID.NotFound"])?;
            }
            found.allocation_id.ok_or_else(|| StepError::missing("allocation id"))?
        }
    };
    cx.fence.check().await?;
    match cx.aws.ec2().release_address().allocation_id(&allocation).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => in_use(call, cx, &allocation).await,
        Err(call) => Err(call.into()),
    }
}

/// Who holds the address that could not be released.
async fn in_use(call: CallError, cx: &Cx<'_>, allocation: &str) -> StepResult {
    let Some(found) = find(cx, Recorded::Allocation(allocation)).await? else { return Ok(Step::ALREADY_GONE) };
    if found.association_id().is_some() {
        let holder = match (found.instance_id().filter(|id| !id.is_empty()), found.network_interface_id()) {
            (Some(instance), _) => instance.to_owned(),
            (None, Some(interface)) => {
                format!("{interface} (owner {})", found.network_interface_owner_id().unwrap_or("unknown"))
            }
            (None, None) => "an association".to_owned(),
        };
        return Err(call.held_by(vec![holder]).into());
    }
    if call.is(&["AuthFailure"]) {
        let CallError { code, message, request_id, .. } = call;
        return Err(DeleteError { class: ErrorClass::Denied, code, message, request_id }.into());
    }
    Err(call.into())
}

async fn find(cx: &Cx<'_>, recorded: Recorded<'_>) -> Result<Option<Address>, StepError> {
    let describe = cx.aws.ec2().describe_addresses();
    let describe = match recorded {
        Recorded::Allocation(id) => describe.allocation_ids(id),
        Recorded::Ip(ip) => describe.public_ips(ip),
    };
    let found = describe.send().await.ignore(GONE)?.and_then(|a| a.addresses).unwrap_or_default();
    Ok(found.into_iter().find(|address| match recorded {
        Recorded::Allocation(id) => address.allocation_id() == Some(id),
        Recorded::Ip(ip) => address.public_ip() == Some(ip),
    }))
}
