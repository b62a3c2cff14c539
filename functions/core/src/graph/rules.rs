//! Type rules: a KEY goes after every row of another type that stands in it. Where resolved ids tell which row belongs to
//! which KEY, only those are tied (a route to its own table); where they do not tell, all of the stack are.

use std::collections::HashMap;

use super::references::{Reference, at, walk};
use super::{Edge, Index, Node};

/// How rows of the earlier type name the KEY they belong to.
#[derive(Clone, Copy)]
enum By {
    /// The property holds the KEY's physical id (or a list of them); absent, it tells nothing.
    Id(&'static str),
    /// As `Id`, but absent means that the row belongs to no KEY.
    OptionalId(&'static str),
    /// Both are of the same VPC.
    Vpc,
    /// The KEY's id stands somewhere in the properties.
    Mention,
}

struct Rule {
    key: &'static str,
    earlier: &'static str,
    by: &'static [By],
}

const fn rule(key: &'static str, earlier: &'static str, by: &'static [By]) -> Rule {
    Rule { key, earlier, by }
}

/// cdkd's list of type pairs, complete, and how ids sharpen each.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment", &[By::OptionalId("InternetGatewayId")]),
    rule("AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", &[By::Vpc]),
    rule("AWS::EC2::VPCGatewayAttachment", "AWS::EC2::NatGateway", &[By::Vpc]),
    rule("AWS::Events::EventBus", "AWS::Events::Rule", &[By::OptionalId("EventBusName")]),
    rule("AWS::Athena::WorkGroup", "AWS::Athena::NamedQuery", &[By::OptionalId("WorkGroup")]),
    rule("AWS::CloudFront::ResponseHeadersPolicy", "AWS::CloudFront::Distribution", &[By::Mention]),
    rule("AWS::CloudFront::CachePolicy", "AWS::CloudFront::Distribution", &[By::Mention]),
    rule("AWS::CloudFront::OriginAccessControl", "AWS::CloudFront::Distribution", &[By::Mention]),
    rule("AWS::EC2::VPC", "AWS::EC2::Subnet", &[By::Id("VpcId")]),
    rule("AWS::EC2::VPC", "AWS::EC2::SecurityGroup", &[By::Id("VpcId")]),
    rule("AWS::EC2::VPC", "AWS::EC2::InternetGateway", &[By::Vpc]),
    rule("AWS::EC2::VPC", "AWS::EC2::EgressOnlyInternetGateway", &[By::Id("VpcId")]),
    rule("AWS::EC2::VPC", "AWS::EC2::VPCGatewayAttachment", &[By::Id("VpcId")]),
    rule("AWS::EC2::VPC", "AWS::EC2::RouteTable", &[By::Id("VpcId")]),
    rule("AWS::EC2::Subnet", "AWS::EC2::SubnetRouteTableAssociation", &[By::Id("SubnetId")]),
    rule("AWS::EC2::Subnet", "AWS::Lambda::Function", &[By::OptionalId("VpcConfig.SubnetIds")]),
    rule("AWS::EC2::RouteTable", "AWS::EC2::Route", &[By::Id("RouteTableId")]),
    rule("AWS::EC2::RouteTable", "AWS::EC2::SubnetRouteTableAssociation", &[By::Id("RouteTableId")]),
    rule("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress", &[By::Id("GroupId"), By::OptionalId("SourceSecurityGroupId")]),
    rule("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupEgress", &[By::Id("GroupId"), By::OptionalId("DestinationSecurityGroupId")]),
    rule("AWS::EC2::SecurityGroup", "AWS::Lambda::Function", &[By::OptionalId("VpcConfig.SecurityGroupIds")]),
];

/// The edges of all type rules.
pub(super) fn edges(nodes: &[Node], index: &Index) -> Vec<Edge> {
    let mut edges = Vec::new();
    for stack in index.stacks() {
        let vpcs = Vpcs { nodes, index, stack };
        for rule in RULES {
            let (keys, earlier) = (index.of_type(stack, rule.key), index.of_type(stack, rule.earlier));
            if keys.is_empty() || earlier.is_empty() {
                continue;
            }
            let mut by_id: ById = HashMap::new();
            for &key in keys {
                if let Some(id) = nodes[key].row.physical_id.as_deref() {
                    by_id.entry(tail(id)).or_default().push(key);
                }
            }
            for &row in earlier {
                match belongs(rule, row, &by_id, keys, &vpcs) {
                    Some(found) => edges.extend(found.into_iter().map(|key| (row, key))),
                    None => edges.extend(keys.iter().map(|&key| (row, key))),
                }
            }
        }
    }
    edges
}

/// KEYs by the tail of their physical ids; two may share one.
type ById<'a> = HashMap<&'a str, Vec<usize>>;

/// The KEYs that `row` belongs to; `None` when the ids do not tell.
fn belongs(rule: &Rule, row: usize, by_id: &ById<'_>, keys: &[usize], vpcs: &Vpcs<'_>) -> Option<Vec<usize>> {
    let node = &vpcs.nodes[row];
    let mut found = Vec::new();
    for by in rule.by {
        match by {
            By::Id(path) | By::OptionalId(path) => {
                let references = at(&node.row.properties, path);
                if references.is_empty() && matches!(by, By::Id(_)) {
                    return None;
                }
                for reference in references {
                    match reference {
                        Reference::Id(id) => found.extend(by_id.get(tail(id)).into_iter().flatten()),
                        Reference::Logical(id) => {
                            let named = vpcs.index.logical(vpcs.stack, &id);
                            found.extend(named.filter(|&n| vpcs.nodes[n].row.resource_type == rule.key));
                        }
                        Reference::Unknown => return None,
                    }
                }
            }
            By::Vpc => {
                let own = vpcs.of(row)?;
                for &key in keys {
                    let theirs = vpcs.of(key);
                    if theirs.is_none_or(|theirs| theirs.iter().any(|vpc| own.contains(vpc))) {
                        found.push(key);
                    }
                }
            }
            By::Mention => {
                let mut told = !node.row.properties.is_empty();
                walk(&node.row.properties, &mut |_, reference| match reference {
                    Reference::Id(text) => found.extend(by_id.get(text).into_iter().flatten()),
                    Reference::Logical(_) | Reference::Unknown => told = false,
                });
                if !told {
                    return None;
                }
            }
        }
    }
    Some(found)
}

/// A name in an ARN or a path, or the id itself.
fn tail(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// Which VPC a row is in.
struct Vpcs<'a> {
    nodes: &'a [Node],
    index: &'a Index,
    stack: &'a str,
}

impl Vpcs<'_> {
    /// The VPCs of a row; `None` when its ids do not tell.
    fn of(&self, row: usize) -> Option<Vec<String>> {
        let node = &self.nodes[row];
        match node.row.resource_type.as_str() {
            "AWS::EC2::VPC" => Some(vec![node.row.physical_id.clone()?]),
            "AWS::EC2::NatGateway" => {
                let subnet = self.one(row, "SubnetId", "AWS::EC2::Subnet")?;
                self.named(subnet)
            }
            "AWS::EC2::InternetGateway" => {
                let id = node.row.physical_id.as_deref()?;
                let attachments = self.index.of_type(self.stack, "AWS::EC2::VPCGatewayAttachment");
                let mut vpcs = Vec::new();
                for &attachment in attachments {
                    for reference in at(&self.nodes[attachment].row.properties, "InternetGatewayId") {
                        match reference {
                            Reference::Id(gateway) if gateway == id => vpcs.extend(self.named(attachment)?),
                            Reference::Logical(gateway) if gateway == node.row.logical_id => vpcs.extend(self.named(attachment)?),
                            Reference::Unknown => return None,
                            _ => {}
                        }
                    }
                }
                (!vpcs.is_empty()).then_some(vpcs)
            }
            _ => self.named(row),
        }
    }

    /// The VPC that a row's `VpcId` names.
    fn named(&self, row: usize) -> Option<Vec<String>> {
        match at(&self.nodes[row].row.properties, "VpcId").first()? {
            Reference::Id(id) => Some(vec![(*id).to_owned()]),
            Reference::Logical(id) => {
                let vpc = self.index.logical(self.stack, id)?;
                Some(vec![self.nodes[vpc].row.physical_id.clone()?])
            }
            Reference::Unknown => None,
        }
    }

    /// The row of a type that a property of `row` names.
    fn one(&self, row: usize, property: &str, resource_type: &str) -> Option<usize> {
        match at(&self.nodes[row].row.properties, property).first()? {
            Reference::Id(id) => self
                .index
                .of_type(self.stack, resource_type)
                .iter()
                .copied()
                .find(|&n| self.nodes[n].row.physical_id.as_deref() == Some(*id)),
            Reference::Logical(id) => self.index.logical(self.stack, id),
            Reference::Unknown => None,
        }
    }
}
