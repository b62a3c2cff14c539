//! Route tables, their routes and their associations with subnets.

use ebb_core::{Resource, Step};

use super::{holders, malformed};
use crate::Cx;
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, blocked, is_blocked};
use crate::registry::TypeDef;

pub(super) const ROUTE_TABLE: TypeDef = TypeDef {
    name: "AWS::EC2::RouteTable",
    step: |r, cx| Box::pin(route_table(r, cx)),
    look: None,
    actions: &["ec2:DeleteRouteTable", "ec2:DescribeRouteTables"],
    rules: RULES,
};

const RULES: Rules = Rules {
    gone: &["InvalidRouteTableID.NotFound", "InvalidRouteTableId.NotFound"],
    retry: &[blocked("DependencyViolation", 5, 120), blocked("~has dependencies", 5, 120)],
    ..Rules::NONE
};

pub(super) const ROUTE: TypeDef = TypeDef {
    name: "AWS::EC2::Route",
    step: |r, cx| Box::pin(route(r, cx)),
    look: None,
    actions: &["ec2:DeleteRoute"],
    rules: Rules {
        gone: &["InvalidRoute.NotFound", "InvalidRouteTableID.NotFound", "InvalidRouteTableId.NotFound"],
        ..Rules::NONE
    },
};

pub(super) const SUBNET_ROUTE_TABLE_ASSOCIATION: TypeDef = TypeDef {
    name: "AWS::EC2::SubnetRouteTableAssociation",
    step: |r, cx| Box::pin(association(r, cx)),
    look: None,
    actions: &["ec2:DisassociateRouteTable"],
    rules: Rules { gone: &["InvalidAssociationID.NotFound"], ..Rules::NONE },
};

async fn route_table(r: &Resource, cx: &Cx<'_>) -> StepResult {
    match cx.aws.ec2().delete_route_table().route_table_id(&r.physical_id).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &RULES) => {
            let by = holders::named("associations", associations(cx, &r.physical_id).await);
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn associations(cx: &Cx<'_>, table: &str) -> Result<Vec<String>, StepError> {
    let answer = cx.aws.ec2().describe_route_tables().route_table_ids(table).send().await?;
    let ours = answer.route_tables().iter().filter(|t| t.route_table_id() == Some(table));
    let named = ours.flat_map(|t| t.associations()).map(|a| match (a.main(), a.subnet_id().or(a.gateway_id())) {
        (Some(true), _) => "the VPC, whose main route table it is".to_owned(),
        (_, Some(id)) => format!("{id} (associated)"),
        (_, None) => a.route_table_association_id().unwrap_or("an association").to_owned(),
    });
    Ok(named.collect())
}

/// Exactly one destination may be sent: its form says which.
async fn route(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (table, destination) = address(r)?;
    let delete = cx.aws.ec2().delete_route().route_table_id(table);
    let delete = if destination.contains(':') {
        delete.destination_ipv6_cidr_block(destination)
    } else if destination.starts_with("pl-") {
        delete.destination_prefix_list_id(destination)
    } else {
        delete.destination_cidr_block(destination)
    };
    delete.send().await?;
    Ok(Step::DELETED)
}

/// Table and destination, from the id, else from the properties it was made of.
fn address(r: &Resource) -> Result<(&str, &str), StepError> {
    if let [table, destination] = r.physical_id.split('|').collect::<Vec<_>>().as_slice()
        && !table.is_empty()
        && !destination.is_empty()
    {
        return Ok((table, destination));
    }
    let mut destination = None;
    for property in ["DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId"] {
        destination = destination.or(r.address(property)?);
    }
    match (r.address("RouteTableId")?, destination) {
        (Some(table), Some(destination)) => Ok((table, destination)),
        _ => Err(malformed("route table id|destination")),
    }
}

/// A replaced association has another id, so an old one is answered as not found while the table still has the subnet:
/// deleting the table then names it.
async fn association(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.ec2().disassociate_route_table().association_id(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}
