//! Type rules: a KEY goes after every row of another type that stands in it. Where resolved ids tell which row belongs to
//! which KEY, only those are tied (a route to its own table); where they do not tell, all of the stack are.

use std::collections::HashMap;

use super::references::{Reference, at, read, walk};
use super::{Edge, Index, Node, Stack};

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

/// cdkd's list of type pairs, complete, and how ids sharpen each. The last five are Ebb's: the delete of the KEY takes the
/// rows along, so it must know of those that stay also where their container is named in plain text.
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
    rule("AWS::Glue::Database", "AWS::Glue::Table", &[By::Id("DatabaseName")]),
    rule("AWS::Logs::LogGroup", "AWS::Logs::LogStream", &[By::Id("LogGroupName")]),
    rule("AWS::S3Tables::TableBucket", "AWS::S3Tables::Namespace", &[By::Id("TableBucketARN")]),
    rule("AWS::S3Tables::TableBucket", "AWS::S3Tables::Table", &[By::Id("TableBucketARN")]),
    rule("AWS::S3Vectors::VectorBucket", "AWS::S3Vectors::Index", &[By::OptionalId("VectorBucketArn"), By::OptionalId("VectorBucketName")]),
];

/// The edges of all type rules.
pub(super) fn edges(nodes: &[Node], index: &Index) -> Vec<Edge> {
    let mut edges = Vec::new();
    for stack in &index.stacks {
        let vpcs = Vpcs::of_stack(nodes, stack);
        for rule in RULES {
            let (keys, earlier) = (stack.of_type(rule.key), stack.of_type(rule.earlier));
            if keys.is_empty() || earlier.is_empty() {
                continue;
            }
            let mut by_id: ById = HashMap::new();
            for &key in keys {
                if let Some(id) = nodes[key].row.physical_id.as_deref() {
                    by_id.entry(tail(id)).or_default().push(key);
                }
            }
            let needs_vpcs = rule.by.iter().any(|by| matches!(by, By::Vpc));
            let by_vpc = if needs_vpcs { ByVpc::of(keys, &vpcs) } else { ByVpc::default() };
            for &row in earlier {
                match belongs(rule, row, &by_id, &by_vpc, &vpcs) {
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

/// KEYs by the VPC they are in, and those whose ids do not tell, which may be in any.
#[derive(Default)]
struct ByVpc {
    of: HashMap<String, Vec<usize>>,
    anywhere: Vec<usize>,
}

impl ByVpc {
    fn of(keys: &[usize], vpcs: &Vpcs<'_>) -> Self {
        let mut by_vpc = ByVpc::default();
        for &key in keys {
            match vpcs.of(key) {
                Some(own) => own.into_iter().for_each(|vpc| by_vpc.of.entry(vpc).or_default().push(key)),
                None => by_vpc.anywhere.push(key),
            }
        }
        by_vpc
    }
}

/// The KEYs that `row` belongs to; `None` when the ids do not tell.
fn belongs(rule: &Rule, row: usize, by_id: &ById<'_>, by_vpc: &ByVpc, vpcs: &Vpcs<'_>) -> Option<Vec<usize>> {
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
                            let named = vpcs.stack.logical(&id);
                            found.extend(named.filter(|&n| vpcs.nodes[n].row.resource_type == rule.key));
                        }
                        Reference::Unknown => return None,
                    }
                }
            }
            By::Vpc => {
                let own = vpcs.of(row)?;
                found.extend(own.iter().filter_map(|vpc| by_vpc.of.get(vpc)).flatten().chain(&by_vpc.anywhere));
            }
            By::Mention => {
                let mut told = !node.row.properties.is_empty();
                walk(&node.row.properties, &mut |_, value| match read(value) {
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
    stack: &'a Stack<'a>,
    subnets: HashMap<&'a str, usize>,
    /// Internet gateway → its VPCs, from the attachments; `None` when those do not tell.
    gateways: Option<HashMap<usize, Vec<String>>>,
}

impl<'a> Vpcs<'a> {
    fn of_stack(nodes: &'a [Node], stack: &'a Stack<'a>) -> Self {
        let by_id = |resource_type: &str| -> HashMap<&'a str, usize> {
            let rows = stack.of_type(resource_type).iter();
            rows.filter_map(|&n| Some((nodes[n].row.physical_id.as_deref()?, n))).collect()
        };
        let mut vpcs = Vpcs { nodes, stack, subnets: by_id("AWS::EC2::Subnet"), gateways: None };
        vpcs.gateways = vpcs.attached(&by_id("AWS::EC2::InternetGateway"));
        vpcs
    }

    fn attached(&self, gateways: &HashMap<&str, usize>) -> Option<HashMap<usize, Vec<String>>> {
        let mut attached: HashMap<usize, Vec<String>> = HashMap::new();
        for &attachment in self.stack.of_type("AWS::EC2::VPCGatewayAttachment") {
            for reference in at(&self.nodes[attachment].row.properties, "InternetGatewayId") {
                let gateway = match reference {
                    Reference::Id(id) => gateways.get(id).copied(),
                    Reference::Logical(id) => self.stack.logical(&id),
                    Reference::Unknown => return None,
                };
                if let Some(gateway) = gateway {
                    attached.entry(gateway).or_default().extend(self.named(attachment)?);
                }
            }
        }
        Some(attached)
    }

    /// The VPCs of a row; `None` when its ids do not tell.
    fn of(&self, row: usize) -> Option<Vec<String>> {
        let node = &self.nodes[row];
        match node.row.resource_type.as_str() {
            "AWS::EC2::VPC" => Some(vec![node.row.physical_id.clone()?]),
            "AWS::EC2::NatGateway" => self.named(self.subnet_of(row)?),
            // Not attached in this stack: it may be anywhere.
            "AWS::EC2::InternetGateway" => self.gateways.as_ref()?.get(&row).cloned(),
            _ => self.named(row),
        }
    }

    /// The VPC that a row's `VpcId` names.
    fn named(&self, row: usize) -> Option<Vec<String>> {
        match at(&self.nodes[row].row.properties, "VpcId").first()? {
            Reference::Id(id) => Some(vec![(*id).to_owned()]),
            Reference::Logical(id) => {
                let vpc = self.stack.logical(id)?;
                Some(vec![self.nodes[vpc].row.physical_id.clone()?])
            }
            Reference::Unknown => None,
        }
    }

    fn subnet_of(&self, row: usize) -> Option<usize> {
        match at(&self.nodes[row].row.properties, "SubnetId").first()? {
            Reference::Id(id) => self.subnets.get(id).copied(),
            Reference::Logical(id) => self.stack.logical(id),
            Reference::Unknown => None,
        }
    }
}
