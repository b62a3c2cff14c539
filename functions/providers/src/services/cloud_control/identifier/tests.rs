//! The identifier of every catalogued type that Cloud Control supports (CloudFormation registry, `primaryIdentifier`).

use ebb_core::Code;
use ebb_core::provider::ProvisionedBy;
use serde_json::{Value, json};

use super::{Identifier, of};
use crate::call::StepError;
use crate::testing::Bench;

fn compose(resource_type: &str, id: &str, properties: &Value, attributes: &Value) -> Result<Identifier, StepError> {
    let mut bench = Bench::new(resource_type, id, properties.clone());
    bench.resource.attributes = attributes.as_object().cloned().unwrap_or_default();
    bench.cx(|cx| of(&bench.resource, cx))
}

#[test]
fn most_types_are_recorded_under_their_identifier() {
    for name in AS_RECORDED {
        let identifier = compose(name, "arn:aws:x:us-east-1:1:a/b", &json!({}), &json!({})).unwrap();
        assert_eq!(identifier.sent(), "arn:aws:x:us-east-1:1:a/b", "{name}");
    }
}

/// Composites in JSON object form.
#[test]
fn the_others_are_composed() {
    for (name, id, properties, attributes, expected) in composed() {
        let identifier = compose(name, id, &properties, &attributes).unwrap();
        match expected {
            Value::String(expected) => assert_eq!(identifier.sent(), expected, "{name} {id}"),
            expected => assert_eq!(serde_json::from_str::<Value>(&identifier.sent()).unwrap(), expected, "{name} {id}"),
        }
    }
}

/// As events tell it back.
#[test]
fn the_joined_form_has_the_registrys_order() {
    let deployment = compose("AWS::ApiGateway::Deployment", "de1", &json!({ "RestApiId": "api1" }), &json!({})).unwrap();
    assert_eq!(deployment.joined(), "de1|api1");
    let authorizer = compose("AWS::ApiGatewayV2::Authorizer", "au1", &json!({ "ApiId": "api2" }), &json!({})).unwrap();
    assert_eq!(authorizer.joined(), "au1|api2");
}

/// The recorded physical id of a Cloud Control record is the registry's identifier verbatim.
#[test]
fn a_row_of_cloud_control_is_sent_as_recorded() {
    for (name, id) in
        [("AWS::ApiGatewayV2::Authorizer", "au1|api2"), ("AWS::SNS::TopicPolicy", "0f1e"), ("AWS::ApiGateway::Account", "x")]
    {
        let mut bench = Bench::new(name, id, json!({ "ApiId": "***" }));
        bench.resource.provisioned_by = ProvisionedBy::CloudControl;
        assert_eq!(bench.cx(|cx| of(&bench.resource, cx)).unwrap().sent(), id);
    }
}

/// A masked or a missing part is skipped with a reason, never sent.
#[test]
fn what_is_masked_or_missing_is_never_sent() {
    let code = |name: &str, id: &str, properties: Value| match compose(name, id, &properties, &json!({})) {
        Err(StepError::Skip { code, .. }) => code,
        other => panic!("{name}: {other:?}"),
    };
    for masked in ["***", "{{resolve:ssm:api}}"] {
        assert_eq!(code("AWS::ApiGateway::Stage", "prod", json!({ "RestApiId": masked })), Code::MaskedAddress);
        assert_eq!(code("AWS::Athena::WorkGroup", masked, json!({})), Code::MaskedAddress);
    }
    for (name, id, properties) in [
        ("AWS::ApiGateway::Stage", "prod", json!({})),
        ("AWS::ApiGateway::Stage", "prod", json!({ "RestApiId": ["x"] })),
        ("AWS::S3Vectors::VectorBucket", "vectors", json!({})),
        ("AWS::EC2::SecurityGroupIngress", "sg-0abc|tcp|443|443", json!({})),
        ("AWS::ECS::Service", "arn:aws:ecs:us-east-1:1:service/svc", json!({})),
        ("AWS::SNS::TopicPolicy", "x", json!({})),
        ("AWS::ApiGateway::Account", "ApiGatewayAccount", json!({})),
    ] {
        assert_eq!(code(name, id, properties), Code::MissingAddress, "{name}");
    }
    for (name, id) in [
        ("AWS::Athena::WorkGroup", " | "),
        ("AWS::ApiGateway::Stage", "api1|re1|prod"),
        ("AWS::EC2::VPCGatewayAttachment", "igw-1"),
        ("AWS::EC2::VPCGatewayAttachment", "eigw-1|vpc-1"),
        ("AWS::WAFv2::WebACL", "my-acl"),
        ("AWS::CloudTrail::Trail", "arn:aws:cloudtrail:us-east-1:1:channel/x"),
        ("AWS::ECS::Service", "svc|c|x"),
    ] {
        assert_eq!(code(name, id, json!({ "RestApiId": "api1" })), Code::MalformedPhysicalId, "{name} {id}");
    }
}

/// An id with a bar in it that only looks like a whole identifier names something else.
#[test]
fn a_whole_identifier_agrees_with_what_is_recorded() {
    let stream = |id: &str| compose("AWS::Logs::LogStream", id, &json!({ "LogGroupName": "group" }), &json!({}));
    assert_eq!(stream("group|stream").unwrap().joined(), "group|stream");
    assert!(matches!(stream("other|stream"), Err(StepError::Skip { code: Code::MalformedPhysicalId, .. })));
}

/// Types whose physical id is the registry's identifier, on both roads.
const AS_RECORDED: &[&str] = &[
    "AWS::ApiGatewayV2::Api",
    "AWS::AutoScaling::AutoScalingGroup",
    "AWS::BedrockAgentCore::Evaluator",
    "AWS::BedrockAgentCore::Runtime",
    "AWS::CertificateManager::Certificate",
    "AWS::CloudFront::CloudFrontOriginAccessIdentity",
    "AWS::CloudFront::Distribution",
    "AWS::CloudFront::OriginAccessControl",
    "AWS::CloudWatch::Alarm",
    "AWS::Cognito::UserPool",
    "AWS::DocDB::DBSubnetGroup",
    "AWS::DynamoDB::GlobalTable",
    "AWS::DynamoDB::Table",
    "AWS::EC2::Instance",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::NetworkAcl",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::SubnetNetworkAclAssociation",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPC",
    "AWS::EC2::Volume",
    "AWS::ECR::Repository",
    "AWS::ECS::Cluster",
    "AWS::ECS::TaskDefinition",
    "AWS::EFS::AccessPoint",
    "AWS::EFS::FileSystem",
    "AWS::EFS::MountTarget",
    "AWS::ElastiCache::CacheCluster",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::ElastiCache::SubnetGroup",
    "AWS::ElasticLoadBalancingV2::Listener",
    "AWS::ElasticLoadBalancingV2::LoadBalancer",
    "AWS::ElasticLoadBalancingV2::TargetGroup",
    "AWS::Events::EventBus",
    "AWS::Events::Rule",
    "AWS::Glue::Crawler",
    "AWS::Glue::Database",
    "AWS::Glue::Job",
    "AWS::Glue::SecurityConfiguration",
    "AWS::Glue::Trigger",
    "AWS::Glue::Workflow",
    "AWS::IAM::Group",
    "AWS::IAM::InstanceProfile",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Role",
    "AWS::IAM::User",
    "AWS::KMS::Alias",
    "AWS::KMS::Key",
    "AWS::Kinesis::Stream",
    "AWS::Kinesis::StreamConsumer",
    "AWS::KinesisFirehose::DeliveryStream",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::MicrovmImage",
    "AWS::Lambda::Url",
    "AWS::Logs::LogGroup",
    "AWS::Neptune::DBCluster",
    "AWS::Neptune::DBInstance",
    "AWS::Neptune::DBSubnetGroup",
    "AWS::Pipes::Pipe",
    "AWS::RDS::DBCluster",
    "AWS::RDS::DBInstance",
    "AWS::RDS::DBProxy",
    "AWS::RDS::DBProxyEndpoint",
    "AWS::RDS::DBProxyTargetGroup",
    "AWS::RDS::DBSubnetGroup",
    "AWS::Redshift::Cluster",
    "AWS::Route53::HostedZone",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::S3Express::DirectoryBucket",
    "AWS::S3Tables::TableBucket",
    "AWS::SNS::Subscription",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
    "AWS::SSM::Parameter",
    "AWS::Scheduler::Schedule",
    "AWS::SecretsManager::Secret",
    "AWS::ServiceDiscovery::HttpNamespace",
    "AWS::ServiceDiscovery::PrivateDnsNamespace",
    "AWS::ServiceDiscovery::PublicDnsNamespace",
    "AWS::ServiceDiscovery::Service",
    "AWS::StepFunctions::StateMachine",
];

/// Type, physical id, properties, attributes, identifier.
#[rustfmt::skip]
fn composed() -> Vec<(&'static str, &'static str, Value, Value, Value)> {
    vec![
        ("AWS::ApiGateway::Authorizer", "au1", json!({"RestApiId": "api1"}), json!({}), json!({"RestApiId": "api1", "AuthorizerId": "au1"})),
        ("AWS::ApiGateway::Deployment", "de1", json!({"RestApiId": "api1"}), json!({}), json!({"DeploymentId": "de1", "RestApiId": "api1"})),
        ("AWS::ApiGateway::Method", "api1|re1|GET", json!({}), json!({}), json!({"RestApiId": "api1", "ResourceId": "re1", "HttpMethod": "GET"})),
        ("AWS::ApiGateway::RequestValidator", "va1", json!({"RestApiId": "api1"}), json!({}), json!({"RestApiId": "api1", "RequestValidatorId": "va1"})),
        ("AWS::ApiGateway::Resource", "re1", json!({"RestApiId": "api1"}), json!({}), json!({"RestApiId": "api1", "ResourceId": "re1"})),
        ("AWS::ApiGateway::Stage", "prod", json!({"RestApiId": "api1"}), json!({}), json!({"RestApiId": "api1", "StageName": "prod"})),
        ("AWS::ApiGatewayV2::ApiMapping", "map1", json!({"DomainName": "api.example.com"}), json!({}), json!({"ApiMappingId": "map1", "DomainName": "api.example.com"})),
        ("AWS::ApiGatewayV2::Authorizer", "au1", json!({"ApiId": "api2"}), json!({}), json!({"AuthorizerId": "au1", "ApiId": "api2"})),
        ("AWS::ApiGatewayV2::Integration", "in1", json!({"ApiId": "api2"}), json!({}), json!({"ApiId": "api2", "IntegrationId": "in1"})),
        ("AWS::ApiGatewayV2::Route", "ro1", json!({"ApiId": "api2"}), json!({}), json!({"ApiId": "api2", "RouteId": "ro1"})),
        ("AWS::ApiGatewayV2::Stage", "prod", json!({"ApiId": "api2"}), json!({}), json!({"ApiId": "api2", "StageName": "prod"})),
        ("AWS::AppConfig::Deployment", "3", json!({"ApplicationId": "a1", "EnvironmentId": "e1"}), json!({}), json!({"ApplicationId": "a1", "EnvironmentId": "e1", "DeploymentNumber": "3"})),
        ("AWS::AppSync::DataSource", "abc|UsersTable", json!({}), json!({"DataSourceArn": "arn:aws:appsync:us-east-1:1:apis/abc/datasources/UsersTable"}), json!("arn:aws:appsync:us-east-1:1:apis/abc/datasources/UsersTable")),
        ("AWS::AppSync::GraphQLApi", "abc", json!({}), json!({}), json!("arn:aws:appsync:us-east-1:123456789012:apis/abc")),
        ("AWS::AppSync::GraphQLApi", "abc", json!({}), json!({"Arn": "arn:aws:appsync:us-east-1:1:apis/abc"}), json!("arn:aws:appsync:us-east-1:1:apis/abc")),
        ("AWS::AppSync::Resolver", "abc|Query|getUser", json!({}), json!({"ResolverArn": "arn:aws:appsync:us-east-1:1:apis/abc/types/Query/resolvers/getUser"}), json!("arn:aws:appsync:us-east-1:1:apis/abc/types/Query/resolvers/getUser")),
        ("AWS::ApplicationAutoScaling::ScalableTarget", "service/c/s|ecs:service:DesiredCount|ecs", json!({}), json!({}), json!({"ResourceId": "service/c/s", "ScalableDimension": "ecs:service:DesiredCount", "ServiceNamespace": "ecs"})),
        ("AWS::CloudTrail::Trail", "arn:aws:cloudtrail:us-east-1:123456789012:trail/audit", json!({}), json!({}), json!("audit")),
        ("AWS::CloudTrail::Trail", "audit", json!({}), json!({}), json!("audit")),
        ("AWS::CodeDeploy::DeploymentGroup", "blue", json!({"ApplicationName": "app"}), json!({}), json!({"ApplicationName": "app", "DeploymentGroupName": "blue"})),
        ("AWS::Cognito::UserPoolClient", "client1", json!({"UserPoolId": "us-east-1_A"}), json!({}), json!({"UserPoolId": "us-east-1_A", "ClientId": "client1"})),
        ("AWS::Cognito::UserPoolDomain", "login", json!({"UserPoolId": "us-east-1_A", "Domain": "login"}), json!({}), json!({"UserPoolId": "us-east-1_A", "Domain": "login"})),
        ("AWS::Cognito::UserPoolGroup", "admins", json!({"UserPoolId": "us-east-1_A"}), json!({}), json!({"UserPoolId": "us-east-1_A", "GroupName": "admins"})),
        ("AWS::EC2::EIP", "52.1.2.3|eipalloc-0abc", json!({}), json!({}), json!({"PublicIp": "52.1.2.3", "AllocationId": "eipalloc-0abc"})),
        ("AWS::EC2::EIP", "52.1.2.3", json!({}), json!({"PublicIp": "52.1.2.3", "AllocationId": "eipalloc-0abc"}), json!({"PublicIp": "52.1.2.3", "AllocationId": "eipalloc-0abc"})),
        ("AWS::EC2::Route", "rtb-0abc|0.0.0.0/0", json!({"RouteTableId": "rtb-0abc"}), json!({}), json!({"RouteTableId": "rtb-0abc", "CidrBlock": "0.0.0.0/0"})),
        ("AWS::EC2::SecurityGroupIngress", "sg-0abc|tcp|443|443", json!({}), json!({"Id": "sgr-1"}), json!("sgr-1")),
        ("AWS::EC2::SecurityGroupIngress", "sgr-2", json!({}), json!({}), json!("sgr-2")),
        ("AWS::EC2::TransitGatewayPolicyTableEntry", "x", json!({"TransitGatewayPolicyTableId": "tgw-ptb-1", "PolicyRuleNumber": 100}), json!({}), json!({"TransitGatewayPolicyTableId": "tgw-ptb-1", "PolicyRuleNumber": "100"})),
        ("AWS::EC2::VPCGatewayAttachment", "igw-0abc|vpc-0def", json!({}), json!({}), json!({"AttachmentType": "IGW", "VpcId": "vpc-0def"})),
        ("AWS::EC2::VPCGatewayAttachment", "vgw-0abc|vpc-0def", json!({}), json!({}), json!({"AttachmentType": "VGW", "VpcId": "vpc-0def"})),
        ("AWS::EC2::VPCGatewayAttachment", "IGW|vpc-0def", json!({}), json!({}), json!({"AttachmentType": "IGW", "VpcId": "vpc-0def"})),
        ("AWS::ECS::Service", "arn:aws:ecs:us-east-1:123456789012:service/my-cluster/my-svc", json!({}), json!({}), json!({"ServiceArn": "arn:aws:ecs:us-east-1:123456789012:service/my-cluster/my-svc", "Cluster": "my-cluster"})),
        ("AWS::ECS::Service", "arn:aws:ecs:us-east-1:123456789012:service/my-svc", json!({"Cluster": "other"}), json!({}), json!({"ServiceArn": "arn:aws:ecs:us-east-1:123456789012:service/my-svc", "Cluster": "other"})),
        ("AWS::EKS::Addon", "main|vpc-cni", json!({"ClusterName": "main", "AddonName": "vpc-cni"}), json!({}), json!({"ClusterName": "main", "AddonName": "vpc-cni"})),
        ("AWS::Glue::Connection", "db", json!({}), json!({}), json!({"CatalogId": "123456789012", "Name": "db"})),
        ("AWS::Glue::Connection", "db", json!({"CatalogId": "210987654321"}), json!({}), json!({"CatalogId": "210987654321", "Name": "db"})),
        ("AWS::IAM::RolePolicy", "inline", json!({"PolicyName": "inline", "RoleName": "role"}), json!({}), json!({"PolicyName": "inline", "RoleName": "role"})),
        ("AWS::Lambda::EventInvokeConfig", "fn|$LATEST", json!({}), json!({}), json!({"FunctionName": "fn", "Qualifier": "$LATEST"})),
        ("AWS::Lambda::Permission", "s1", json!({"FunctionName": "fn"}), json!({}), json!({"FunctionName": "fn", "Id": "s1"})),
        ("AWS::Lambda::Permission", "fn|s1", json!({}), json!({}), json!({"FunctionName": "fn", "Id": "s1"})),
        ("AWS::S3Tables::Namespace", "arn:aws:s3tables:us-east-1:123456789012:bucket/b|analytics", json!({}), json!({}), json!({"TableBucketARN": "arn:aws:s3tables:us-east-1:123456789012:bucket/b", "Namespace": "analytics"})),
        ("AWS::S3Tables::Table", "arn:aws:s3tables:us-east-1:1:bucket/b|ns|t", json!({}), json!({"TableARN": "arn:aws:s3tables:us-east-1:1:bucket/b/table/0f1e"}), json!("arn:aws:s3tables:us-east-1:1:bucket/b/table/0f1e")),
        ("AWS::S3Tables::Table", "arn:aws:s3tables:us-east-1:1:bucket/b/table/0f1e", json!({}), json!({}), json!("arn:aws:s3tables:us-east-1:1:bucket/b/table/0f1e")),
        ("AWS::S3Vectors::VectorBucket", "vectors", json!({}), json!({"VectorBucketArn": "arn:aws:s3vectors:us-east-1:1:bucket/vectors"}), json!("arn:aws:s3vectors:us-east-1:1:bucket/vectors")),
        ("AWS::WAFv2::IPSet", "arn:aws:wafv2:us-east-1:1:regional/ipset/office/9a", json!({}), json!({}), json!({"Name": "office", "Id": "9a", "Scope": "REGIONAL"})),
        ("AWS::WAFv2::WebACL", "arn:aws:wafv2:us-east-1:123456789012:regional/webacl/my-acl/0f1e", json!({}), json!({}), json!({"Name": "my-acl", "Id": "0f1e", "Scope": "REGIONAL"})),
        ("AWS::WAFv2::WebACL", "arn:aws:wafv2:us-east-1:123456789012:global/webacl/my-acl/0f1e", json!({}), json!({}), json!({"Name": "my-acl", "Id": "0f1e", "Scope": "CLOUDFRONT"})),
        ("AWS::WAFv2::WebACL", "my-acl|0f1e|REGIONAL", json!({}), json!({}), json!({"Name": "my-acl", "Id": "0f1e", "Scope": "REGIONAL"})),
    ]
}
