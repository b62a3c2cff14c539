"""CloudFront, Route 53, WAF, certificates and user pools."""

from __future__ import annotations

from typing import Any

from bed.seed.builder import StackBuilder

from .case import Case, made, read


def _access_control(stack: StackBuilder) -> str:
    config = {"Name": stack.named("Control"), "OriginAccessControlOriginType": "s3", "SigningBehavior": "always",
              "SigningProtocol": "sigv4"}
    found = stack.client("cloudfront").create_origin_access_control(OriginAccessControlConfig=config)
    return made(stack, "AWS::CloudFront::OriginAccessControl", found["OriginAccessControl"]["Id"], {"OriginAccessControlConfig": config})


def _distribution(stack: StackBuilder) -> str:
    """A distribution that is enabled."""
    origin = {"Id": "o", "DomainName": "example.com",
              "CustomOriginConfig": {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"}}
    config = {"CallerReference": stack.name, "Comment": "c", "Enabled": True, "Origins": {"Quantity": 1, "Items": [origin]},
              "DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "allow-all", "MinTTL": 0,
                                       "ForwardedValues": {"QueryString": False, "Cookies": {"Forward": "none"}}}}
    found = stack.client("cloudfront").create_distribution(DistributionConfig=config)["Distribution"]["Id"]
    return made(stack, "AWS::CloudFront::Distribution", found, {"DistributionConfig": {"Enabled": True, "Comment": "c"}})


def _put(stack: StackBuilder, zone_id: str, record: dict[str, Any]) -> None:
    change = {"Action": "CREATE", "ResourceRecordSet": record}
    stack.client("route53").change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch={"Changes": [change]})


def zone(stack: StackBuilder, validation: bool = False) -> str:
    """A zone; `validation` puts a record into it that validates a certificate and that nobody recorded."""
    name = f"{stack.name}.example.com.".lower()
    found = stack.client("route53").create_hosted_zone(Name=name, CallerReference=stack.name)["HostedZone"]["Id"]
    if validation:
        target = [{"Value": "_0123456789abcdef.acm-validations.aws."}]
        _put(stack, found, {"Name": f"_abcdef0123456789.{name}", "Type": "CNAME", "TTL": 300, "ResourceRecords": target})
    return made(stack, "AWS::Route53::HostedZone", found.rpartition("/")[2], {"Name": name})


def _record_set(stack: StackBuilder) -> str:
    inside = stack.rows["HostedZone" if "HostedZone" in stack.rows else zone(stack)]
    name = f"app.{inside['properties']['Name']}"
    _put(stack, inside["physicalId"], {"Name": name, "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "10.0.0.1"}]})
    properties = {"HostedZoneId": inside["physicalId"], "Name": name, "Type": "A", "TTL": "60", "ResourceRecords": ["10.0.0.1"]}
    return made(stack, "AWS::Route53::RecordSet", f"{inside['physicalId']}|{name}|A", properties)


def _record_exists(client: Any, ident: str, _: dict[str, Any]) -> bool:
    inside, name, kind = ident.split("|")
    found = client.list_resource_record_sets(HostedZoneId=inside)["ResourceRecordSets"]
    return (name, kind) in [(r["Name"], r["Type"]) for r in found]


def _web_acl(stack: StackBuilder) -> str:
    name = stack.named("Acl")
    seen = {"SampledRequestsEnabled": False, "CloudWatchMetricsEnabled": False, "MetricName": "m"}
    found = stack.client("wafv2").create_web_acl(Name=name, Scope="REGIONAL", DefaultAction={"Allow": {}}, VisibilityConfig=seen)
    return made(stack, "AWS::WAFv2::WebACL", found["Summary"]["ARN"], {"Name": name, "Scope": "REGIONAL"})


def _web_acl_exists(client: Any, ident: str, _: dict[str, Any]) -> bool:
    return ident in [acl["ARN"] for acl in client.list_web_acls(Scope="REGIONAL")["WebACLs"]]


def _certificate(stack: StackBuilder) -> str:
    domain = f"{stack.name}.example.com".lower()
    found = stack.client("acm").request_certificate(DomainName=domain, ValidationMethod="DNS")["CertificateArn"]
    return made(stack, "AWS::CertificateManager::Certificate", found, {"DomainName": domain})


def user_pool(stack: StackBuilder, protected: bool = False) -> str:
    """A user pool with a domain; `protected` turns its deletion protection on."""
    client, name = stack.client("cognito-idp"), stack.named("Users")
    protection = "ACTIVE" if protected else "INACTIVE"
    found = client.create_user_pool(PoolName=name, DeletionProtection=protection)["UserPool"]["Id"]
    client.create_user_pool_domain(Domain=stack.named("login").lower(), UserPoolId=found)
    return made(stack, "AWS::Cognito::UserPool", found, {"UserPoolName": name, "DeletionProtection": protection})


CASES = [
    Case("AWS::CertificateManager::Certificate", _certificate, "acm", read("describe_certificate", "CertificateArn")),
    Case("AWS::CloudFront::Distribution", _distribution, "cloudfront", read("get_distribution", "Id")),
    Case("AWS::CloudFront::OriginAccessControl", _access_control, "cloudfront", read("get_origin_access_control", "Id")),
    Case("AWS::Cognito::UserPool", user_pool, "cognito-idp", read("describe_user_pool", "UserPoolId"), {"deleteData": True}),
    Case("AWS::Route53::HostedZone", lambda stack: zone(stack, validation=True), "route53", read("get_hosted_zone", "Id"),
         {"deleteData": True}),
    Case("AWS::Route53::RecordSet", _record_set, "route53", _record_exists),
    Case("AWS::WAFv2::WebACL", _web_acl, "wafv2", _web_acl_exists),
]
