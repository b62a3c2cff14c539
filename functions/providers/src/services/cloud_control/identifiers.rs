//! How each type's registry identifier is composed from a native row; see `identifier.rs`.

use super::identifier::Form::{self, Arn, Odd, OfCloudControlOnly, Parts};
use super::identifier::{Part, Source, ecs_service, gateway_attachment, glue_connection, graphql_api, rule, trail, web_acl};

/// How a type's identifier is composed; `None` for a type that records it as it is.
pub(super) fn form(resource_type: &str) -> Option<Form> {
    TABLE.binary_search_by_key(&resource_type, |(name, _)| name).ok().map(|i| TABLE[i].1)
}

const fn own(field: &'static str) -> Part {
    (field, Source::Own)
}

const fn property(field: &'static str) -> Part {
    (field, Source::Property)
}

const fn attribute(field: &'static str) -> Part {
    (field, Source::Attribute)
}

/// By type, sorted; fields in the order of the registry schema's `primaryIdentifier`.
#[rustfmt::skip]
const TABLE: &[(&str, Form)] = &[
    ("AWS::ACMPCA::Certificate", Parts(&[own("Arn"), property("CertificateAuthorityArn")])),
    ("AWS::ACMPCA::Permission", Parts(&[property("CertificateAuthorityArn"), property("Principal")])),
    ("AWS::ApiGateway::Account", OfCloudControlOnly),
    ("AWS::ApiGateway::Authorizer", Parts(&[property("RestApiId"), own("AuthorizerId")])),
    ("AWS::ApiGateway::BasePathMapping", Parts(&[property("DomainName"), property("BasePath")])),
    ("AWS::ApiGateway::Deployment", Parts(&[own("DeploymentId"), property("RestApiId")])),
    ("AWS::ApiGateway::DocumentationPart", Parts(&[own("DocumentationPartId"), property("RestApiId")])),
    ("AWS::ApiGateway::DocumentationVersion", Parts(&[property("DocumentationVersion"), property("RestApiId")])),
    ("AWS::ApiGateway::Method", Parts(&[property("RestApiId"), property("ResourceId"), property("HttpMethod")])),
    ("AWS::ApiGateway::Model", Parts(&[property("RestApiId"), own("Name")])),
    ("AWS::ApiGateway::RequestValidator", Parts(&[property("RestApiId"), own("RequestValidatorId")])),
    ("AWS::ApiGateway::Resource", Parts(&[property("RestApiId"), own("ResourceId")])),
    ("AWS::ApiGateway::Stage", Parts(&[property("RestApiId"), own("StageName")])),
    ("AWS::ApiGatewayV2::ApiMapping", Parts(&[own("ApiMappingId"), property("DomainName")])),
    ("AWS::ApiGatewayV2::Authorizer", Parts(&[own("AuthorizerId"), property("ApiId")])),
    ("AWS::ApiGatewayV2::Deployment", Parts(&[property("ApiId"), own("DeploymentId")])),
    ("AWS::ApiGatewayV2::Integration", Parts(&[property("ApiId"), own("IntegrationId")])),
    ("AWS::ApiGatewayV2::IntegrationResponse", Parts(&[property("ApiId"), property("IntegrationId"), own("IntegrationResponseId")])),
    ("AWS::ApiGatewayV2::Model", Parts(&[property("ApiId"), own("ModelId")])),
    ("AWS::ApiGatewayV2::Route", Parts(&[property("ApiId"), own("RouteId")])),
    ("AWS::ApiGatewayV2::RouteResponse", Parts(&[property("ApiId"), property("RouteId"), own("RouteResponseId")])),
    ("AWS::ApiGatewayV2::Stage", Parts(&[property("ApiId"), own("StageName")])),
    ("AWS::AppConfig::ConfigurationProfile", Parts(&[property("ApplicationId"), own("ConfigurationProfileId")])),
    ("AWS::AppConfig::Deployment", Parts(&[property("ApplicationId"), property("EnvironmentId"), own("DeploymentNumber")])),
    ("AWS::AppConfig::Environment", Parts(&[property("ApplicationId"), own("EnvironmentId")])),
    ("AWS::AppConfig::ExperimentDefinition", Parts(&[attribute("ApplicationId"), attribute("Id")])),
    ("AWS::AppConfig::ExperimentRun", Parts(&[attribute("ApplicationId"), attribute("ExperimentDefinitionId"), attribute("Run")])),
    ("AWS::AppConfig::HostedConfigurationVersion", Parts(&[property("ApplicationId"), property("ConfigurationProfileId"), own("VersionNumber")])),
    ("AWS::AppSync::DataSource", Arn("DataSourceArn")),
    ("AWS::AppSync::FunctionConfiguration", Arn("FunctionArn")),
    ("AWS::AppSync::GraphQLApi", Odd(graphql_api)),
    ("AWS::AppSync::Resolver", Arn("ResolverArn")),
    ("AWS::ApplicationAutoScaling::ScalableTarget", Parts(&[property("ResourceId"), property("ScalableDimension"), property("ServiceNamespace")])),
    ("AWS::ApplicationAutoScaling::ScalingPolicy", Parts(&[own("Arn"), property("ScalableDimension")])),
    ("AWS::Athena::PreparedStatement", Parts(&[property("StatementName"), property("WorkGroup")])),
    ("AWS::AutoScaling::LifecycleHook", Parts(&[property("AutoScalingGroupName"), own("LifecycleHookName")])),
    ("AWS::AutoScaling::ScheduledAction", Parts(&[own("ScheduledActionName"), property("AutoScalingGroupName")])),
    ("AWS::Backup::RestoreTestingSelection", Parts(&[property("RestoreTestingPlanName"), property("RestoreTestingSelectionName")])),
    ("AWS::Bedrock::AgentAlias", Parts(&[property("AgentId"), own("AgentAliasId")])),
    ("AWS::Bedrock::DataSource", Parts(&[property("KnowledgeBaseId"), own("DataSourceId")])),
    ("AWS::Bedrock::FlowAlias", Parts(&[own("Arn"), property("FlowArn")])),
    ("AWS::Bedrock::FlowVersion", Parts(&[property("FlowArn"), own("Version")])),
    ("AWS::Bedrock::GuardrailVersion", Parts(&[attribute("GuardrailId"), attribute("Version")])),
    ("AWS::BedrockAgentCore::GatewayRateLimit", Parts(&[property("GatewayIdentifier"), property("RateLimitId")])),
    ("AWS::BedrockAgentCore::GatewayRule", Parts(&[property("GatewayIdentifier"), own("RuleId")])),
    ("AWS::BedrockAgentCore::GatewayTarget", Parts(&[property("GatewayIdentifier"), own("TargetId")])),
    ("AWS::CloudTrail::Trail", Odd(trail)),
    ("AWS::CodeDeploy::DeploymentGroup", Parts(&[property("ApplicationName"), own("DeploymentGroupName")])),
    ("AWS::CodePipeline::CustomActionType", Parts(&[property("Category"), property("Provider"), property("Version")])),
    ("AWS::CodeStarConnections::SyncConfiguration", Parts(&[property("ResourceName"), property("SyncType")])),
    ("AWS::Cognito::IdentityPoolPrincipalTag", Parts(&[property("IdentityPoolId"), property("IdentityProviderName")])),
    ("AWS::Cognito::ManagedLoginBranding", Parts(&[property("UserPoolId"), own("ManagedLoginBrandingId")])),
    ("AWS::Cognito::Terms", Parts(&[property("UserPoolId"), own("TermsId")])),
    ("AWS::Cognito::UserPoolClient", Parts(&[property("UserPoolId"), own("ClientId")])),
    ("AWS::Cognito::UserPoolDomain", Parts(&[property("UserPoolId"), property("Domain")])),
    ("AWS::Cognito::UserPoolGroup", Parts(&[property("UserPoolId"), own("GroupName")])),
    ("AWS::Cognito::UserPoolIdentityProvider", Parts(&[property("UserPoolId"), property("ProviderName")])),
    ("AWS::Cognito::UserPoolReplica", Parts(&[property("UserPoolId"), property("RegionName")])),
    ("AWS::Cognito::UserPoolResourceServer", Parts(&[property("UserPoolId"), property("Identifier")])),
    ("AWS::Cognito::UserPoolRiskConfigurationAttachment", Parts(&[property("UserPoolId"), property("ClientId")])),
    ("AWS::Cognito::UserPoolUICustomizationAttachment", Parts(&[property("UserPoolId"), property("ClientId")])),
    ("AWS::Cognito::UserPoolUser", Parts(&[property("UserPoolId"), own("Username")])),
    ("AWS::Cognito::UserPoolUserToGroupAttachment", Parts(&[property("UserPoolId"), property("GroupName"), property("Username")])),
    ("AWS::EC2::EIP", Parts(&[attribute("PublicIp"), attribute("AllocationId")])),
    ("AWS::EC2::Route", Parts(&[property("RouteTableId"), attribute("CidrBlock")])),
    ("AWS::EC2::SecurityGroupEgress", Odd(rule)),
    ("AWS::EC2::SecurityGroupIngress", Odd(rule)),
    ("AWS::EC2::SubnetCidrReservation", Parts(&[property("SubnetId"), own("SubnetCidrReservationId")])),
    ("AWS::EC2::TransitGatewayPolicyTableAssociation", Parts(&[property("TransitGatewayPolicyTableId"), property("TransitGatewayAttachmentId")])),
    ("AWS::EC2::TransitGatewayPolicyTableEntry", Parts(&[property("TransitGatewayPolicyTableId"), property("PolicyRuleNumber")])),
    ("AWS::EC2::TransitGatewayRoute", Parts(&[property("TransitGatewayRouteTableId"), property("DestinationCidrBlock")])),
    ("AWS::EC2::TransitGatewayRouteTableAssociation", Parts(&[property("TransitGatewayRouteTableId"), property("TransitGatewayAttachmentId")])),
    ("AWS::EC2::TransitGatewayRouteTablePropagation", Parts(&[property("TransitGatewayRouteTableId"), property("TransitGatewayAttachmentId")])),
    ("AWS::EC2::VPCCidrBlock", Parts(&[own("Id"), property("VpcId")])),
    ("AWS::EC2::VPCDHCPOptionsAssociation", Parts(&[property("DhcpOptionsId"), property("VpcId")])),
    ("AWS::EC2::VPCGatewayAttachment", Odd(gateway_attachment)),
    ("AWS::EC2::VPNConnectionRoute", Parts(&[property("DestinationCidrBlock"), property("VpnConnectionId")])),
    ("AWS::EC2::VolumeAttachment", Parts(&[property("VolumeId"), property("InstanceId")])),
    ("AWS::ECS::GatewayClusterAssociations", Parts(&[property("Gateway"), property("Cluster")])),
    ("AWS::ECS::Service", Odd(ecs_service)),
    ("AWS::ECS::TaskSet", Parts(&[property("Cluster"), property("Service"), own("Id")])),
    ("AWS::EKS::AccessEntry", Parts(&[property("PrincipalArn"), property("ClusterName")])),
    ("AWS::EKS::Addon", Parts(&[property("ClusterName"), property("AddonName")])),
    ("AWS::EKS::CertificateAuthority", Parts(&[property("ClusterName"), own("Id")])),
    ("AWS::EKS::FargateProfile", Parts(&[property("ClusterName"), own("FargateProfileName")])),
    ("AWS::EKS::IdentityProviderConfig", Parts(&[property("IdentityProviderConfigName"), property("ClusterName"), property("Type")])),
    ("AWS::ElasticBeanstalk::ApplicationVersion", Parts(&[property("ApplicationName"), own("Id")])),
    ("AWS::ElasticBeanstalk::ConfigurationTemplate", Parts(&[property("ApplicationName"), own("TemplateName")])),
    ("AWS::ElasticLoadBalancingV2::TrustStoreRevocation", Parts(&[own("RevocationId"), property("TrustStoreArn")])),
    ("AWS::Events::EventBusPolicy", Parts(&[property("EventBusName"), property("StatementId")])),
    ("AWS::Glue::Connection", Odd(glue_connection)),
    ("AWS::Glue::SchemaVersionMetadata", Parts(&[property("SchemaVersionId"), property("Key"), property("Value")])),
    ("AWS::GuardDuty::Filter", Parts(&[property("DetectorId"), property("Name")])),
    ("AWS::GuardDuty::IPSet", Parts(&[own("Id"), property("DetectorId")])),
    ("AWS::GuardDuty::PublishingDestination", Parts(&[property("DetectorId"), own("Id")])),
    ("AWS::GuardDuty::ThreatIntelSet", Parts(&[own("Id"), property("DetectorId")])),
    ("AWS::IAM::GroupPolicy", Parts(&[property("PolicyName"), property("GroupName")])),
    ("AWS::IAM::RolePolicy", Parts(&[property("PolicyName"), property("RoleName")])),
    ("AWS::IAM::UserPolicy", Parts(&[property("PolicyName"), property("UserName")])),
    ("AWS::Kendra::DataSource", Parts(&[own("Id"), property("IndexId")])),
    ("AWS::Kendra::Faq", Parts(&[own("Id"), property("IndexId")])),
    ("AWS::LakeFormation::DataCellsFilter", Parts(&[property("TableCatalogId"), property("DatabaseName"), property("TableName"), property("Name")])),
    ("AWS::LakeFormation::PrincipalPermissions", Parts(&[attribute("PrincipalIdentifier"), attribute("ResourceIdentifier")])),
    ("AWS::LakeFormation::TagAssociation", Parts(&[attribute("ResourceIdentifier"), attribute("TagsIdentifier")])),
    ("AWS::Lambda::EventInvokeConfig", Parts(&[property("FunctionName"), property("Qualifier")])),
    ("AWS::Lambda::Permission", Parts(&[property("FunctionName"), own("Id")])),
    ("AWS::Logs::AccountPolicy", Parts(&[own("AccountId"), property("PolicyType"), property("PolicyName")])),
    ("AWS::Logs::LogStream", Parts(&[property("LogGroupName"), own("LogStreamName")])),
    ("AWS::Logs::MetricFilter", Parts(&[property("LogGroupName"), own("FilterName")])),
    ("AWS::Logs::SubscriptionFilter", Parts(&[own("FilterName"), property("LogGroupName")])),
    ("AWS::OpenSearchServerless::AccessPolicy", Parts(&[property("Type"), property("Name")])),
    ("AWS::OpenSearchServerless::LifecyclePolicy", Parts(&[property("Type"), property("Name")])),
    ("AWS::OpenSearchServerless::SecurityPolicy", Parts(&[property("Type"), property("Name")])),
    ("AWS::RAM::PermissionAssociation", Parts(&[property("ResourceShareArn"), property("PermissionArn")])),
    ("AWS::RAM::PrincipalAssociation", Parts(&[property("ResourceShareArn"), property("Principal")])),
    ("AWS::RAM::ResourceAssociation", Parts(&[property("ResourceShareArn"), property("ResourceArn")])),
    ("AWS::RAM::SourceAssociation", Parts(&[property("ResourceShareArn"), property("SourceId")])),
    ("AWS::Route53::KeySigningKey", Parts(&[property("HostedZoneId"), property("Name")])),
    ("AWS::S3Tables::Namespace", Parts(&[property("TableBucketARN"), property("Namespace")])),
    ("AWS::S3Tables::Table", Arn("TableARN")),
    ("AWS::S3Vectors::VectorBucket", Arn("VectorBucketArn")),
    ("AWS::SES::ConfigurationSetEventDestination", Parts(&[own("Id"), property("ConfigurationSetName")])),
    ("AWS::SES::EmailIdentityCertificate", Parts(&[property("EmailIdentity"), property("FromAddress")])),
    ("AWS::SNS::TopicPolicy", OfCloudControlOnly),
    ("AWS::SSM::MaintenanceWindowTarget", Parts(&[property("WindowId"), own("WindowTargetId")])),
    ("AWS::SSM::MaintenanceWindowTask", Parts(&[property("WindowId"), own("WindowTaskId")])),
    ("AWS::SSM::ResourcePolicy", Parts(&[own("PolicyId"), property("ResourceArn")])),
    ("AWS::SageMaker::App", Parts(&[property("AppName"), property("AppType"), property("DomainId"), property("UserProfileName")])),
    ("AWS::SageMaker::Space", Parts(&[property("DomainId"), property("SpaceName")])),
    ("AWS::SageMaker::UserProfile", Parts(&[property("UserProfileName"), property("DomainId")])),
    ("AWS::ServiceCatalog::PortfolioPrincipalAssociation", Parts(&[property("PortfolioId"), property("PrincipalARN")])),
    ("AWS::ServiceCatalog::PortfolioProductAssociation", Parts(&[property("PortfolioId"), property("ProductId")])),
    ("AWS::ServiceCatalog::PortfolioShare", Parts(&[property("PortfolioId"), property("AccountId")])),
    ("AWS::ServiceCatalog::TagOptionAssociation", Parts(&[property("TagOptionId"), property("ResourceId")])),
    ("AWS::ServiceCatalogAppRegistry::AttributeGroupAssociation", Parts(&[attribute("ApplicationArn"), attribute("AttributeGroupArn")])),
    ("AWS::ServiceCatalogAppRegistry::ResourceAssociation", Parts(&[attribute("ApplicationArn"), attribute("ResourceArn"), property("ResourceType")])),
    ("AWS::Signer::ProfilePermission", Parts(&[property("StatementId"), property("ProfileName")])),
    ("AWS::Timestream::Table", Parts(&[property("DatabaseName"), own("TableName")])),
    ("AWS::Transfer::Agreement", Parts(&[own("AgreementId"), property("ServerId")])),
    ("AWS::VerifiedPermissions::IdentitySource", Parts(&[own("IdentitySourceId"), property("PolicyStoreId")])),
    ("AWS::VerifiedPermissions::Policy", Parts(&[own("PolicyId"), property("PolicyStoreId")])),
    ("AWS::VerifiedPermissions::PolicyTemplate", Parts(&[property("PolicyStoreId"), own("PolicyTemplateId")])),
    ("AWS::WAFv2::IPSet", Odd(web_acl)),
    ("AWS::WAFv2::RegexPatternSet", Odd(web_acl)),
    ("AWS::WAFv2::RuleGroup", Odd(web_acl)),
    ("AWS::WAFv2::WebACL", Odd(web_acl)),
    ("AWS::WAFv2::WebACLAssociation", Parts(&[property("ResourceArn"), property("WebACLArn")])),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_a_composite_has_parts() {
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0));
        for (name, form) in TABLE {
            if let Parts(parts) = form {
                assert!(parts.len() > 1, "{name}");
            }
        }
    }
}
