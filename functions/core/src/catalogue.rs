//! What is known of each resource type beforehand: how long its delete takes (for the order of work and for when to
//! look again) and when to give up. Data only; how a type is deleted is in `ebb-providers`.

use std::time::Duration;

use crate::Millis;
use crate::state::Row;

/// One type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The CloudFormation type name; a `_vpc` ending marks the variant of a type inside a VPC.
    pub resource_type: &'static str,
    /// Seconds until half of the deletes no longer block what they need.
    pub p50_s: f64,
    /// Seconds until nine in ten do.
    pub p90_s: f64,
    /// After how many minutes a delete that is still refused or pending has failed.
    pub deadline_min: u64,
    /// Whether its protection or data guard can be looked at before the first delete.
    pub looked_at: bool,
    /// How many deletes an account's quota lets begin.
    pub pace: Option<Pace>,
    /// Types whose rows hold data that its delete takes along, whatever their policy says.
    pub takes: &'static [&'static str],
}

/// A quota of an account: so many deletes begin within so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// What shares the quota.
    pub key: &'static str,
    /// Deletes.
    pub most: usize,
    /// Milliseconds.
    pub per_ms: Millis,
}

impl Entry {
    /// The typical time to gone.
    pub fn typical(&self) -> Duration {
        Duration::from_secs_f64(self.p50_s)
    }

    /// Seconds until it is gone with that chance, when it is not gone after `elapsed` seconds. Times are taken for
    /// log-logistic through both percentiles: the tail is long, and all that is asked of it can be written down.
    pub fn left(&self, elapsed: f64, chance: f64) -> f64 {
        if self.p50_s <= 0.0 {
            return 0.0;
        }
        let odds = (1.0 + self.odds(elapsed)) / (1.0 - chance.min(0.999)) - 1.0;
        (self.p50_s * odds.powf(1.0 / self.steepness()) - elapsed).max(0.0)
    }

    /// How likely it is to go in the next second, when it is not gone after `elapsed`.
    pub fn hazard(&self, elapsed: f64) -> f64 {
        let odds = self.odds(elapsed);
        self.steepness() / elapsed.max(0.1) * odds / (1.0 + odds)
    }

    /// Odds that it is gone within `elapsed` seconds.
    fn odds(&self, elapsed: f64) -> f64 {
        if self.p50_s <= 0.0 {
            return f64::MAX;
        }
        (elapsed.max(0.0) / self.p50_s).powf(self.steepness())
    }

    /// Nine to one at the ninetieth percentile, one to one at the fiftieth.
    fn steepness(&self) -> f64 {
        9f64.ln() / (self.p90_s / self.p50_s).max(1.1).ln()
    }

    /// Whether the table does not know the type.
    pub fn is_unknown(&self) -> bool {
        self.resource_type.is_empty()
    }

    /// When to give up (cdkd: 30 minutes, more for slow types).
    pub fn deadline(&self) -> Duration {
        Duration::from_secs(self.deadline_min * 60)
    }

    /// The worker has a look for it.
    const fn looked_at(self) -> Self {
        Entry { looked_at: true, ..self }
    }

    /// Its deletes begin at that pace.
    const fn paced(self, pace: Pace) -> Self {
        Entry { pace: Some(pace), ..self }
    }

    /// Its delete empties it first.
    const fn takes(self, takes: &'static [&'static str]) -> Self {
        Entry { takes, ..self }
    }
}

const fn entry(resource_type: &'static str, p50_s: f64, p90_s: f64, deadline_min: u64) -> Entry {
    Entry { resource_type, p50_s, p90_s, deadline_min, looked_at: false, pace: None, takes: &[] }
}

/// Every type that is known, sorted by name.
pub fn entries() -> &'static [Entry] {
    TABLE
}

/// Quotas of API Gateway for control plane operations.
const REST_APIS: Pace = Pace { key: "DeleteRestApi", most: 1, per_ms: 30_000 };
const API_ACCOUNT: Pace = Pace { key: "UpdateAccount", most: 1, per_ms: 20_000 };
const API_RESOURCES: Pace = Pace { key: "DeleteResource", most: 5, per_ms: 1_000 };
/// Route 53 takes five requests a second from an account; a record's delete reads the zone and changes it.
const RECORD_SETS: Pace = Pace { key: "ChangeResourceRecordSets", most: 2, per_ms: 1_000 };

/// A type that the table does not know: Cloud Control, a few seconds. The look says whether anything can delete it at all.
const UNKNOWN: Entry = entry("", 5.0, 15.0, 30).looked_at();
/// A row that is not deleted by itself.
pub(crate) const NOTHING: Entry = entry("", 0.0, 0.0, 30);
/// Some routes, and no network interfaces as the other endpoints have.
const GATEWAY_ENDPOINT: Entry = entry("AWS::EC2::VPCEndpoint", 5.0, 10.0, 30);
/// Every `Custom::…` type.
const CUSTOM: &str = "Custom::*";

/// What is known of a type. `in_vpc` picks the variant of a type that has one.
pub fn lookup(resource_type: &str, in_vpc: bool) -> Entry {
    let find = |name: &str| TABLE.binary_search_by_key(&name, |e| e.resource_type).ok().map(|i| TABLE[i]);
    if in_vpc && let Some(variant) = find(&format!("{resource_type}_vpc")) {
        return variant;
    }
    let name = if resource_type.starts_with("Custom::") { CUSTOM } else { resource_type };
    find(name).unwrap_or(UNKNOWN)
}

/// What is known of a row's type.
pub fn of(row: &Row) -> Entry {
    if row.resource_type == GATEWAY_ENDPOINT.resource_type
        && row.properties.get("VpcEndpointType").is_some_and(|t| t == "Gateway")
    {
        return GATEWAY_ENDPOINT;
    }
    lookup(&row.resource_type, row.properties.contains_key("VpcConfig"))
}

/// Sorted by type. Seconds are estimates of practice for small resources in one region. Minutes of a custom resource: three
/// deliveries, each with an hour to answer; of a volume, a Redshift cluster and a replication group: an hour for the final
/// snapshot besides; of a function and its versions: the replicas of Lambda@Edge.
#[rustfmt::skip]
static TABLE: &[Entry] = &[
    entry("AWS::AmazonMQ::Broker", 240.0, 600.0, 60),
    entry("AWS::ApiGateway::Account", 1.0, 20.0, 30).paced(API_ACCOUNT),
    entry("AWS::ApiGateway::ApiKey", 3.0, 8.0, 30),
    entry("AWS::ApiGateway::Authorizer", 1.0, 5.0, 30),
    entry("AWS::ApiGateway::BasePathMapping", 3.0, 8.0, 30),
    entry("AWS::ApiGateway::Deployment", 1.0, 6.0, 30),
    entry("AWS::ApiGateway::DomainName", 10.0, 60.0, 30),
    entry("AWS::ApiGateway::GatewayResponse", 3.0, 8.0, 30),
    entry("AWS::ApiGateway::Method", 1.0, 8.0, 30),
    entry("AWS::ApiGateway::Model", 3.0, 8.0, 30),
    entry("AWS::ApiGateway::RequestValidator", 3.0, 8.0, 30),
    entry("AWS::ApiGateway::Resource", 1.0, 10.0, 30).paced(API_RESOURCES),
    entry("AWS::ApiGateway::RestApi", 5.0, 120.0, 30).paced(REST_APIS),
    entry("AWS::ApiGateway::Stage", 1.0, 6.0, 30),
    entry("AWS::ApiGateway::UsagePlan", 3.0, 8.0, 30),
    entry("AWS::ApiGatewayV2::Api", 1.0, 3.0, 30),
    entry("AWS::ApiGatewayV2::ApiMapping", 3.0, 8.0, 30),
    entry("AWS::ApiGatewayV2::Authorizer", 1.0, 3.0, 30),
    entry("AWS::ApiGatewayV2::DomainName", 5.0, 30.0, 30),
    entry("AWS::ApiGatewayV2::Integration", 1.0, 3.0, 30),
    entry("AWS::ApiGatewayV2::Route", 1.0, 3.0, 30),
    entry("AWS::ApiGatewayV2::Stage", 1.0, 3.0, 30),
    entry("AWS::ApiGatewayV2::VpcLink", 60.0, 240.0, 30),
    entry("AWS::AppSync::ApiKey", 1.0, 2.0, 30),
    entry("AWS::AppSync::DataSource", 1.0, 4.0, 30),
    entry("AWS::AppSync::DomainName", 10.0, 60.0, 30),
    entry("AWS::AppSync::DomainNameApiAssociation", 10.0, 60.0, 30),
    entry("AWS::AppSync::FunctionConfiguration", 3.0, 8.0, 30),
    entry("AWS::AppSync::GraphQLApi", 2.0, 6.0, 30),
    entry("AWS::AppSync::GraphQLSchema", 0.0, 0.0, 30),
    entry("AWS::AppSync::Resolver", 1.0, 5.0, 30),
    entry("AWS::ApplicationAutoScaling::ScalableTarget", 3.0, 8.0, 30),
    entry("AWS::ApplicationAutoScaling::ScalingPolicy", 3.0, 8.0, 30),
    entry("AWS::Athena::NamedQuery", 3.0, 6.0, 30),
    entry("AWS::Athena::WorkGroup", 3.0, 10.0, 30),
    entry("AWS::AutoScaling::AutoScalingGroup", 120.0, 300.0, 30).looked_at(),
    entry("AWS::AutoScaling::LaunchConfiguration", 3.0, 6.0, 30),
    entry("AWS::AutoScaling::LifecycleHook", 3.0, 6.0, 30),
    entry("AWS::AutoScaling::ScalingPolicy", 3.0, 6.0, 30),
    entry("AWS::Backup::BackupPlan", 3.0, 8.0, 30),
    entry("AWS::Backup::BackupSelection", 3.0, 8.0, 30),
    entry("AWS::Backup::BackupVault", 3.0, 10.0, 30),
    entry("AWS::Batch::ComputeEnvironment", 60.0, 180.0, 30),
    entry("AWS::Batch::JobDefinition", 3.0, 6.0, 30),
    entry("AWS::Batch::JobQueue", 20.0, 60.0, 30),
    entry("AWS::Bedrock::Agent", 10.0, 40.0, 30),
    entry("AWS::Bedrock::KnowledgeBase", 15.0, 60.0, 30),
    entry("AWS::BedrockAgentCore::Browser", 0.0, 0.0, 30),
    entry("AWS::BedrockAgentCore::CodeInterpreter", 0.0, 0.0, 30),
    entry("AWS::BedrockAgentCore::Evaluator", 2.0, 10.0, 30),
    entry("AWS::BedrockAgentCore::Runtime", 10.0, 60.0, 30),
    entry("AWS::Budgets::Budget", 1.0, 3.0, 30),
    entry("AWS::CDK::Metadata", 0.0, 0.0, 30),
    entry("AWS::CertificateManager::Certificate", 1.0, 120.0, 30),
    entry("AWS::CloudFormation::CustomResource", 8.0, 45.0, 240),
    entry("AWS::CloudFormation::Stack", 0.0, 0.0, 30),
    entry("AWS::CloudFormation::WaitConditionHandle", 0.0, 0.0, 30),
    entry("AWS::CloudFront::CachePolicy", 3.0, 8.0, 30),
    entry("AWS::CloudFront::CloudFrontOriginAccessIdentity", 2.0, 5.0, 30),
    entry("AWS::CloudFront::Distribution", 270.0, 420.0, 30),
    entry("AWS::CloudFront::Function", 5.0, 20.0, 30),
    entry("AWS::CloudFront::KeyGroup", 3.0, 8.0, 30),
    entry("AWS::CloudFront::OriginAccessControl", 2.0, 5.0, 30),
    entry("AWS::CloudFront::OriginRequestPolicy", 3.0, 8.0, 30),
    entry("AWS::CloudFront::PublicKey", 3.0, 8.0, 30),
    entry("AWS::CloudFront::ResponseHeadersPolicy", 3.0, 8.0, 30),
    entry("AWS::CloudTrail::Trail", 2.0, 4.0, 30),
    entry("AWS::CloudWatch::Alarm", 1.0, 2.0, 30),
    entry("AWS::CloudWatch::AnomalyDetector", 1.0, 2.0, 30),
    entry("AWS::CloudWatch::CompositeAlarm", 3.0, 6.0, 30),
    entry("AWS::CloudWatch::Dashboard", 3.0, 6.0, 30),
    entry("AWS::CloudWatch::MetricStream", 3.0, 8.0, 30),
    entry("AWS::CodeBuild::Project", 1.0, 2.0, 30),
    entry("AWS::CodeCommit::Repository", 1.0, 3.0, 30),
    entry("AWS::CodeDeploy::Application", 3.0, 8.0, 30),
    entry("AWS::CodeDeploy::DeploymentGroup", 3.0, 10.0, 30),
    entry("AWS::CodePipeline::Pipeline", 3.0, 8.0, 30),
    entry("AWS::CodeStarConnections::Connection", 3.0, 8.0, 30),
    entry("AWS::Cognito::IdentityPool", 3.0, 6.0, 30),
    entry("AWS::Cognito::IdentityPoolRoleAttachment", 3.0, 6.0, 30),
    entry("AWS::Cognito::UserPool", 1.0, 5.0, 30).looked_at(),
    entry("AWS::Cognito::UserPoolClient", 3.0, 6.0, 30),
    entry("AWS::Cognito::UserPoolDomain", 5.0, 300.0, 30),
    entry("AWS::Cognito::UserPoolGroup", 3.0, 6.0, 30),
    entry("AWS::Cognito::UserPoolIdentityProvider", 3.0, 6.0, 30),
    entry("AWS::Cognito::UserPoolResourceServer", 3.0, 6.0, 30),
    entry("AWS::Config::ConfigRule", 10.0, 40.0, 30),
    entry("AWS::DLM::LifecyclePolicy", 1.0, 2.0, 30),
    entry("AWS::DMS::ReplicationConfig", 60.0, 300.0, 30),
    entry("AWS::DSQL::Cluster", 30.0, 120.0, 30).looked_at(),
    entry("AWS::DocDB::DBCluster", 180.0, 600.0, 60).looked_at(),
    entry("AWS::DocDB::DBInstance", 360.0, 780.0, 60),
    entry("AWS::DocDB::DBSubnetGroup", 1.0, 5.0, 30),
    entry("AWS::DocDB::GlobalCluster", 30.0, 120.0, 30).looked_at(),
    entry("AWS::DynamoDB::GlobalTable", 180.0, 600.0, 30).looked_at(),
    entry("AWS::DynamoDB::Table", 10.0, 35.0, 30).looked_at(),
    entry("AWS::EC2::EIP", 2.0, 20.0, 30),
    entry("AWS::EC2::EIPAssociation", 3.0, 8.0, 30),
    entry("AWS::EC2::EgressOnlyInternetGateway", 3.0, 8.0, 30),
    entry("AWS::EC2::FlowLog", 3.0, 8.0, 30),
    entry("AWS::EC2::Instance", 45.0, 90.0, 30).looked_at(),
    entry("AWS::EC2::InternetGateway", 2.0, 20.0, 30),
    entry("AWS::EC2::KeyPair", 3.0, 6.0, 30),
    entry("AWS::EC2::LaunchTemplate", 3.0, 6.0, 30),
    entry("AWS::EC2::NatGateway", 90.0, 150.0, 30),
    entry("AWS::EC2::NetworkAcl", 1.0, 3.0, 30),
    entry("AWS::EC2::NetworkAclEntry", 1.0, 2.0, 30),
    entry("AWS::EC2::Route", 1.0, 2.0, 30),
    entry("AWS::EC2::RouteTable", 1.0, 3.0, 30),
    entry("AWS::EC2::SecurityGroup", 2.0, 90.0, 30),
    entry("AWS::EC2::SecurityGroupEgress", 3.0, 6.0, 30),
    entry("AWS::EC2::SecurityGroupIngress", 1.0, 2.0, 30),
    entry("AWS::EC2::Subnet", 2.0, 120.0, 30),
    entry("AWS::EC2::SubnetNetworkAclAssociation", 1.0, 3.0, 30),
    entry("AWS::EC2::SubnetRouteTableAssociation", 1.0, 2.0, 30),
    entry("AWS::EC2::TransitGateway", 90.0, 240.0, 30),
    entry("AWS::EC2::TransitGatewayAttachment", 60.0, 180.0, 30),
    entry("AWS::EC2::VPC", 2.0, 60.0, 30),
    entry("AWS::EC2::VPCCidrBlock", 3.0, 10.0, 30),
    entry("AWS::EC2::VPCEndpoint", 60.0, 240.0, 30),
    entry("AWS::EC2::VPCGatewayAttachment", 3.0, 60.0, 30),
    entry("AWS::EC2::VPCPeeringConnection", 5.0, 15.0, 30),
    entry("AWS::EC2::VPNConnection", 120.0, 300.0, 30),
    entry("AWS::EC2::VPNGateway", 10.0, 40.0, 30),
    entry("AWS::EC2::Volume", 5.0, 20.0, 75),
    entry("AWS::EC2::VolumeAttachment", 10.0, 40.0, 30),
    entry("AWS::ECR::Repository", 1.0, 8.0, 30).looked_at(),
    entry("AWS::ECS::CapacityProvider", 15.0, 90.0, 30),
    entry("AWS::ECS::Cluster", 2.0, 30.0, 30),
    entry("AWS::ECS::ClusterCapacityProviderAssociations", 10.0, 40.0, 30),
    entry("AWS::ECS::Service", 90.0, 360.0, 30),
    entry("AWS::ECS::TaskDefinition", 1.0, 2.0, 30),
    entry("AWS::EFS::AccessPoint", 1.0, 3.0, 30),
    entry("AWS::EFS::FileSystem", 3.0, 30.0, 30),
    entry("AWS::EFS::MountTarget", 45.0, 100.0, 30),
    entry("AWS::EKS::Addon", 30.0, 120.0, 30),
    entry("AWS::EKS::Cluster", 540.0, 840.0, 30).looked_at(),
    entry("AWS::EKS::FargateProfile", 120.0, 300.0, 30),
    entry("AWS::EKS::Nodegroup", 240.0, 480.0, 30),
    entry("AWS::EMR::Cluster", 420.0, 720.0, 60).looked_at(),
    entry("AWS::EMR::InstanceFleetConfig", 1.0, 2.0, 60),
    entry("AWS::EMR::InstanceGroupConfig", 1.0, 2.0, 60),
    entry("AWS::ElastiCache::CacheCluster", 300.0, 720.0, 60),
    entry("AWS::ElastiCache::ParameterGroup", 3.0, 8.0, 30),
    entry("AWS::ElastiCache::ReplicationGroup", 420.0, 900.0, 120),
    entry("AWS::ElastiCache::ServerlessCache", 180.0, 480.0, 30),
    entry("AWS::ElastiCache::SubnetGroup", 1.0, 5.0, 30),
    entry("AWS::ElasticLoadBalancing::LoadBalancer", 5.0, 20.0, 30),
    entry("AWS::ElasticLoadBalancingV2::Listener", 1.0, 3.0, 30),
    entry("AWS::ElasticLoadBalancingV2::ListenerRule", 3.0, 6.0, 30),
    entry("AWS::ElasticLoadBalancingV2::LoadBalancer", 3.0, 10.0, 30).looked_at(),
    entry("AWS::ElasticLoadBalancingV2::TargetGroup", 1.0, 15.0, 30),
    entry("AWS::Events::ApiDestination", 3.0, 8.0, 30),
    entry("AWS::Events::Archive", 3.0, 10.0, 30),
    entry("AWS::Events::Connection", 5.0, 30.0, 30),
    entry("AWS::Events::EventBus", 2.0, 6.0, 30),
    entry("AWS::Events::Rule", 2.0, 4.0, 30),
    entry("AWS::FSx::FileSystem", 600.0, 1500.0, 60),
    entry("AWS::GlobalAccelerator::Accelerator", 60.0, 180.0, 30),
    entry("AWS::Glue::Connection", 1.0, 2.0, 30),
    entry("AWS::Glue::Crawler", 1.0, 60.0, 30),
    entry("AWS::Glue::Database", 1.0, 4.0, 30).takes(&["AWS::Glue::Table"]),
    entry("AWS::Glue::Job", 1.0, 2.0, 30),
    entry("AWS::Glue::SecurityConfiguration", 1.0, 2.0, 30),
    entry("AWS::Glue::Table", 1.0, 3.0, 30),
    entry("AWS::Glue::Trigger", 2.0, 15.0, 30),
    entry("AWS::Glue::Workflow", 1.0, 3.0, 30),
    entry("AWS::GuardDuty::Detector", 3.0, 10.0, 30),
    entry("AWS::IAM::AccessKey", 1.0, 2.0, 30),
    entry("AWS::IAM::Group", 2.0, 5.0, 30),
    entry("AWS::IAM::InstanceProfile", 1.0, 3.0, 30),
    entry("AWS::IAM::ManagedPolicy", 2.0, 5.0, 30),
    entry("AWS::IAM::OIDCProvider", 3.0, 6.0, 30),
    entry("AWS::IAM::Policy", 1.0, 2.0, 30),
    entry("AWS::IAM::Role", 2.0, 6.0, 30),
    entry("AWS::IAM::RolePolicy", 3.0, 6.0, 30),
    entry("AWS::IAM::ServiceLinkedRole", 10.0, 60.0, 30),
    entry("AWS::IAM::User", 3.0, 8.0, 30),
    entry("AWS::IAM::UserToGroupAddition", 1.0, 2.0, 30),
    entry("AWS::KMS::Alias", 1.0, 2.0, 30),
    entry("AWS::KMS::Key", 1.0, 2.0, 30),
    entry("AWS::Kinesis::ResourcePolicy", 3.0, 6.0, 30),
    entry("AWS::Kinesis::Stream", 6.0, 30.0, 30),
    entry("AWS::Kinesis::StreamConsumer", 1.0, 3.0, 30),
    entry("AWS::KinesisFirehose::DeliveryStream", 20.0, 90.0, 30),
    entry("AWS::Lambda::Alias", 3.0, 6.0, 30),
    entry("AWS::Lambda::EventInvokeConfig", 1.0, 2.0, 30),
    entry("AWS::Lambda::EventSourceMapping", 5.0, 45.0, 30),
    entry("AWS::Lambda::Function", 1.0, 3.0, 720),
    entry("AWS::Lambda::Function_vpc", 240.0, 1500.0, 30),
    entry("AWS::Lambda::LayerVersion", 1.0, 2.0, 30),
    entry("AWS::Lambda::LayerVersionPermission", 3.0, 6.0, 30),
    entry("AWS::Lambda::MicrovmImage", 60.0, 300.0, 30),
    entry("AWS::Lambda::Permission", 1.0, 2.0, 30),
    entry("AWS::Lambda::Url", 1.0, 2.0, 30),
    entry("AWS::Lambda::Version", 3.0, 6.0, 720),
    entry("AWS::Logs::LogGroup", 1.0, 3.0, 30).looked_at().takes(&["AWS::Logs::LogStream"]),
    entry("AWS::Logs::LogStream", 3.0, 6.0, 30),
    entry("AWS::Logs::MetricFilter", 3.0, 6.0, 30),
    entry("AWS::Logs::QueryDefinition", 3.0, 6.0, 30),
    entry("AWS::Logs::ResourcePolicy", 3.0, 6.0, 30),
    entry("AWS::Logs::SubscriptionFilter", 3.0, 6.0, 30),
    entry("AWS::MSK::Cluster", 300.0, 900.0, 60),
    entry("AWS::MSK::ServerlessCluster", 240.0, 600.0, 60),
    entry("AWS::Neptune::DBCluster", 180.0, 600.0, 60).looked_at(),
    entry("AWS::Neptune::DBInstance", 360.0, 780.0, 60).looked_at(),
    entry("AWS::Neptune::DBSubnetGroup", 1.0, 5.0, 30),
    entry("AWS::NeptuneGraph::Graph", 120.0, 300.0, 60).looked_at(),
    entry("AWS::NetworkFirewall::Firewall", 300.0, 600.0, 60),
    entry("AWS::OpenSearchService::Domain", 1080.0, 1800.0, 60),
    entry("AWS::Pipes::Pipe", 30.0, 90.0, 30),
    entry("AWS::QLDB::Ledger", 60.0, 120.0, 30),
    entry("AWS::RDS::DBCluster", 240.0, 600.0, 60).looked_at(),
    entry("AWS::RDS::DBClusterParameterGroup", 3.0, 10.0, 30),
    entry("AWS::RDS::DBInstance", 360.0, 900.0, 60).looked_at(),
    entry("AWS::RDS::DBParameterGroup", 3.0, 10.0, 30),
    entry("AWS::RDS::DBProxy", 60.0, 240.0, 30),
    entry("AWS::RDS::DBProxyEndpoint", 60.0, 240.0, 30),
    entry("AWS::RDS::DBProxyTargetGroup", 2.0, 5.0, 30),
    entry("AWS::RDS::DBSubnetGroup", 1.0, 5.0, 30),
    entry("AWS::RDS::GlobalCluster", 30.0, 120.0, 30).looked_at(),
    entry("AWS::RDS::OptionGroup", 3.0, 10.0, 30),
    entry("AWS::Redshift::Cluster", 360.0, 900.0, 140),
    entry("AWS::Route53::HealthCheck", 3.0, 8.0, 30),
    entry("AWS::Route53::HostedZone", 2.0, 5.0, 30).looked_at(),
    entry("AWS::Route53::RecordSet", 2.0, 8.0, 30).paced(RECORD_SETS),
    entry("AWS::Route53Resolver::ResolverEndpoint", 90.0, 240.0, 30),
    entry("AWS::Route53Resolver::ResolverRule", 5.0, 20.0, 30),
    entry("AWS::S3::AccessPoint", 3.0, 8.0, 30),
    entry("AWS::S3::Bucket", 1.0, 20.0, 30).looked_at(),
    entry("AWS::S3::BucketPolicy", 1.0, 2.0, 30),
    entry("AWS::S3Express::DirectoryBucket", 2.0, 15.0, 30).looked_at(),
    entry("AWS::S3Tables::Namespace", 1.0, 3.0, 30).takes(&["AWS::S3Tables::Table"]),
    entry("AWS::S3Tables::Table", 2.0, 6.0, 30),
    entry("AWS::S3Tables::TableBucket", 3.0, 20.0, 30).takes(&["AWS::S3Tables::Namespace", "AWS::S3Tables::Table"]),
    entry("AWS::S3Vectors::VectorBucket", 2.0, 10.0, 30).takes(&["AWS::S3Vectors::Index"]),
    entry("AWS::SES::ConfigurationSet", 3.0, 8.0, 30),
    entry("AWS::SES::EmailIdentity", 3.0, 8.0, 30),
    entry("AWS::SMSVOICE::ProtectConfiguration", 3.0, 8.0, 30).looked_at(),
    entry("AWS::SNS::Subscription", 1.0, 2.0, 30),
    entry("AWS::SNS::Topic", 1.0, 2.0, 30),
    entry("AWS::SNS::TopicPolicy", 1.0, 2.0, 30),
    entry("AWS::SQS::Queue", 1.0, 2.0, 30),
    entry("AWS::SQS::QueuePolicy", 1.0, 2.0, 30),
    entry("AWS::SSM::Association", 3.0, 10.0, 30),
    entry("AWS::SSM::Document", 5.0, 12.0, 30),
    entry("AWS::SSM::MaintenanceWindow", 3.0, 8.0, 30),
    entry("AWS::SSM::Parameter", 1.0, 5.0, 30),
    entry("AWS::SageMaker::Domain", 240.0, 600.0, 60),
    entry("AWS::SageMaker::Endpoint", 15.0, 60.0, 30),
    entry("AWS::SageMaker::Model", 3.0, 8.0, 30),
    entry("AWS::Scheduler::Schedule", 1.0, 2.0, 30),
    entry("AWS::Scheduler::ScheduleGroup", 10.0, 60.0, 30),
    entry("AWS::SecretsManager::ResourcePolicy", 3.0, 6.0, 30),
    entry("AWS::SecretsManager::RotationSchedule", 3.0, 8.0, 30),
    entry("AWS::SecretsManager::Secret", 1.0, 3.0, 30),
    entry("AWS::SecretsManager::SecretTargetAttachment", 3.0, 8.0, 30),
    entry("AWS::ServiceDiscovery::HttpNamespace", 3.0, 60.0, 30),
    entry("AWS::ServiceDiscovery::PrivateDnsNamespace", 45.0, 120.0, 30),
    entry("AWS::ServiceDiscovery::PublicDnsNamespace", 45.0, 120.0, 30),
    entry("AWS::ServiceDiscovery::Service", 1.0, 90.0, 30),
    entry("AWS::StepFunctions::StateMachine", 1.0, 30.0, 30),
    entry("AWS::Synthetics::Canary", 20.0, 90.0, 30),
    entry("AWS::Transfer::Server", 20.0, 120.0, 30),
    entry("AWS::VerifiedPermissions::PolicyStore", 3.0, 8.0, 30).looked_at(),
    entry("AWS::VpcLattice::Service", 5.0, 20.0, 30),
    entry("AWS::WAFv2::IPSet", 3.0, 15.0, 30),
    entry("AWS::WAFv2::LoggingConfiguration", 3.0, 10.0, 30),
    entry("AWS::WAFv2::RuleGroup", 3.0, 15.0, 30),
    entry("AWS::WAFv2::WebACL", 2.0, 30.0, 30),
    entry("AWS::WAFv2::WebACLAssociation", 5.0, 30.0, 30),
    entry("AWS::WorkSpaces::Workspace", 300.0, 900.0, 30),
    entry("Custom::*", 8.0, 45.0, 240),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_unique() {
        assert!(TABLE.windows(2).all(|w| w[0].resource_type < w[1].resource_type));
        assert!(TABLE.iter().all(|e| e.p50_s <= e.p90_s));
    }

    // The curve goes through both percentiles, and what lasts is expected to last.
    #[test]
    fn times_left_follow_the_percentiles() {
        for entry in TABLE.iter().filter(|e| e.p50_s > 0.0) {
            let (p50, p90) = (entry.left(0.0, 0.5), entry.left(0.0, 0.9));
            assert!((p50 - entry.p50_s).abs() < 1e-6 * p50, "{} {p50}", entry.resource_type);
            assert!((p90 - entry.p90_s.max(entry.p50_s * 1.1)).abs() < 1e-6 * p90, "{} {p90}", entry.resource_type);
            assert!(
                (entry.left(p50, 0.8) - (p90 - p50)).abs() < 1e-6 * p90,
                "of those left at p50, four in five are gone at p90"
            );
            assert!(entry.left(10.0 * p90, 0.5) > entry.left(p90, 0.5), "{}", entry.resource_type);
        }
        assert_eq!(NOTHING.left(0.0, 0.9), 0.0);
        // The hazard is what the curve loses.
        let nat = lookup("AWS::EC2::NatGateway", false);
        assert!((nat.left(90.0, nat.hazard(90.0) * 0.01) - 0.01).abs() < 1e-4);
    }

    #[test]
    fn a_function_in_a_vpc_takes_longer() {
        assert!(lookup("AWS::Lambda::Function", true).p50_s > lookup("AWS::Lambda::Function", false).p50_s);
        assert_eq!(lookup("Custom::S3AutoDeleteObjects", false).resource_type, CUSTOM);
        assert_eq!(lookup("AWS::New::Thing", false).deadline(), Duration::from_secs(1800));
    }

    /// Terraform's logs show six and seven seconds for a gateway endpoint; one that does not say what it is may be any.
    #[test]
    fn a_gateway_endpoint_is_gone_sooner_than_another() {
        for (says, p50_s) in [(r#""Gateway""#, 5.0), (r#""Interface""#, 60.0), ("null", 60.0)] {
            let row = format!(
                r#"{{"resources": {{"E": {{"resourceType": "AWS::EC2::VPCEndpoint", "physicalId": "vpce-1",
                    "properties": {{"VpcEndpointType": {says}}}}}}}}}"#
            );
            let doc = crate::StateDoc::parse(row.as_bytes(), crate::state::Layout::Regional).unwrap();
            let known = of(&doc.row("E").unwrap());
            assert_eq!((known.resource_type, known.p50_s), ("AWS::EC2::VPCEndpoint", p50_s), "{says}");
        }
    }
}
