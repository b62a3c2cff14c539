"""API Gateway of both kinds, and AppSync."""

from __future__ import annotations

from typing import Any

from bed import seed
from bed.seed.builder import StackBuilder
from bed.seed.exists import Check

from .case import Case, made, read, record


def _rest_api(stack: StackBuilder) -> tuple[Any, str, str]:
    """A client, an API and its root resource."""
    client = stack.client("apigateway")
    api = client.create_rest_api(name=stack.named("Api"))["id"]
    return client, api, client.get_resources(restApiId=api)["items"][0]["id"]


def _account(stack: StackBuilder) -> str:
    """The account's setting, which holds the recorded role."""
    seed.role(stack, "Role", service="apigateway.amazonaws.com")
    role = stack.arn("Role")
    stack.client("apigateway").update_account(patchOperations=[{"op": "replace", "path": "/cloudwatchRoleArn", "value": role}])
    return made(stack, "AWS::ApiGateway::Account", "ApiGatewayAccount", {"CloudWatchRoleArn": role})


def _account_is_set(client: Any, _: str, properties: dict[str, Any]) -> bool:
    return client.get_account().get("cloudwatchRoleArn") == properties["CloudWatchRoleArn"]


def _authorizer(stack: StackBuilder) -> str:
    client, api, _ = _rest_api(stack)
    seed.role(stack, "Role")
    seed.function(stack, "Handler", "Role")
    uri = f"arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{stack.arn('Handler')}/invocations"
    found = client.create_authorizer(restApiId=api, name="auth", type="TOKEN", authorizerUri=uri,
                                     identitySource="method.request.header.Auth")["id"]
    return made(stack, "AWS::ApiGateway::Authorizer", found, {"RestApiId": api, "Name": "auth", "Type": "TOKEN"})


def _resource(stack: StackBuilder) -> str:
    client, api, root = _rest_api(stack)
    found = client.create_resource(restApiId=api, parentId=root, pathPart="orders")["id"]
    return made(stack, "AWS::ApiGateway::Resource", found, {"RestApiId": api, "ParentId": root, "PathPart": "orders"})


def _method(stack: StackBuilder) -> str:
    client, api, root = _rest_api(stack)
    client.put_method(restApiId=api, resourceId=root, httpMethod="GET", authorizationType="NONE")
    client.put_integration(restApiId=api, resourceId=root, httpMethod="GET", type="MOCK")
    properties = {"RestApiId": api, "ResourceId": root, "HttpMethod": "GET"}
    return made(stack, "AWS::ApiGateway::Method", f"{api}|{root}|GET", properties)


def _deployment(stack: StackBuilder) -> str:
    _method(stack)
    client, api = stack.client("apigateway"), stack.rows["Method"]["properties"]["RestApiId"]
    found = client.create_deployment(restApiId=api)["id"]
    return made(stack, "AWS::ApiGateway::Deployment", found, {"RestApiId": api})


def _stage(stack: StackBuilder) -> str:
    deployment = stack.rows[_deployment(stack)]
    api = deployment["properties"]["RestApiId"]
    stack.client("apigateway").create_stage(restApiId=api, stageName="prod", deploymentId=deployment["physicalId"])
    return made(stack, "AWS::ApiGateway::Stage", "prod", {"RestApiId": api, "StageName": "prod"})


def _of_rest(operation: str, parameter: str) -> Check:
    return lambda client, ident, p: getattr(client, operation)(**{"restApiId": p["RestApiId"], parameter: ident})


def _method_exists(client: Any, ident: str, _: dict[str, Any]) -> Any:
    api, resource, method = ident.split("|")
    return client.get_method(restApiId=api, resourceId=resource, httpMethod=method)


def http_api(stack: StackBuilder) -> str:
    found = stack.client("apigatewayv2").create_api(Name=stack.named("Http"), ProtocolType="HTTP")["ApiId"]
    return made(stack, "AWS::ApiGatewayV2::Api", found, {"Name": stack.named("Http"), "ProtocolType": "HTTP"})


def _v2(kind: str, operation: str, key: str, **fields: Any) -> Case:
    """A part of an HTTP API, found again by `get_…` of the same name."""

    def make(stack: StackBuilder) -> str:
        api = stack.physical(http_api(stack))
        found = getattr(stack.client("apigatewayv2"), f"create_{operation}")(ApiId=api, **fields)[key]
        return made(stack, kind, found, {"ApiId": api, **fields})

    return Case(kind, make, "apigatewayv2", lambda c, ident, p: getattr(c, f"get_{operation}")(**{"ApiId": p["ApiId"], key: ident}))


def graph(stack: StackBuilder) -> str:
    found = stack.client("appsync").create_graphql_api(name=stack.named("Graph"), authenticationType="API_KEY")["graphqlApi"]
    return made(stack, "AWS::AppSync::GraphQLApi", found["apiId"], {"Name": stack.named("Graph")}, attributes={"Arn": found["arn"]})


def _data_source(stack: StackBuilder) -> str:
    api = stack.physical(graph(stack))
    stack.client("appsync").create_data_source(apiId=api, name="Nothing", type="NONE")
    return made(stack, "AWS::AppSync::DataSource", f"{api}|Nothing", {"ApiId": api, "Name": "Nothing", "Type": "NONE"})


def _resolver(stack: StackBuilder) -> str:
    api = stack.rows[_data_source(stack)]["properties"]["ApiId"]
    what = {"typeName": "Query", "fieldName": "getUser", "dataSourceName": "Nothing"}
    stack.client("appsync").create_resolver(apiId=api, **what, requestMappingTemplate="{}", responseMappingTemplate="{}")
    properties = {"ApiId": api, "TypeName": "Query", "FieldName": "getUser"}
    return made(stack, "AWS::AppSync::Resolver", f"{api}|Query|getUser", properties)


def _api_key(stack: StackBuilder) -> str:
    api = stack.physical(graph(stack))
    key = stack.client("appsync").create_api_key(apiId=api)["apiKey"]["id"]
    return made(stack, "AWS::AppSync::ApiKey", f"{api}|{key}", {"ApiId": api})


def _api_key_exists(client: Any, ident: str, _: dict[str, Any]) -> bool:
    api, key = ident.split("|")
    return key in [found["id"] for found in client.list_api_keys(apiId=api)["apiKeys"]]


def _data_source_exists(client: Any, ident: str, _: dict[str, Any]) -> Any:
    api, name = ident.split("|")
    return client.get_data_source(apiId=api, name=name)


def _resolver_exists(client: Any, ident: str, _: dict[str, Any]) -> Any:
    api, kind, field = ident.split("|")
    return client.get_resolver(apiId=api, typeName=kind, fieldName=field)


CASES = [
    Case("AWS::ApiGateway::Account", _account, "apigateway", _account_is_set),
    Case("AWS::ApiGateway::Authorizer", _authorizer, "apigateway", _of_rest("get_authorizer", "authorizerId")),
    Case("AWS::ApiGateway::Deployment", _deployment, "apigateway", _of_rest("get_deployment", "deploymentId")),
    Case("AWS::ApiGateway::Method", _method, "apigateway", _method_exists),
    Case("AWS::ApiGateway::Resource", _resource, "apigateway", _of_rest("get_resource", "resourceId")),
    Case("AWS::ApiGateway::Stage", _stage, "apigateway", _of_rest("get_stage", "stageName")),
    Case("AWS::ApiGatewayV2::Api", http_api, "apigatewayv2", read("get_api", "ApiId")),
    _v2("AWS::ApiGatewayV2::Authorizer", "authorizer", "AuthorizerId", Name="auth", AuthorizerType="JWT",
        IdentitySource=["$request.header.Authorization"], JwtConfiguration={"Audience": ["a"], "Issuer": "https://example.com"}),
    _v2("AWS::ApiGatewayV2::Integration", "integration", "IntegrationId", IntegrationType="HTTP_PROXY",
        IntegrationUri="https://example.com", IntegrationMethod="GET", PayloadFormatVersion="1.0"),
    _v2("AWS::ApiGatewayV2::Route", "route", "RouteId", RouteKey="GET /orders"),
    _v2("AWS::ApiGatewayV2::Stage", "stage", "StageName", StageName="prod"),
    Case("AWS::AppSync::ApiKey", _api_key, "appsync", _api_key_exists),
    Case("AWS::AppSync::DataSource", _data_source, "appsync", _data_source_exists),
    Case("AWS::AppSync::GraphQLApi", graph, "appsync", read("get_graphql_api", "apiId")),
    record("AWS::AppSync::GraphQLSchema", "abcGraphQLSchema"),
    Case("AWS::AppSync::Resolver", _resolver, "appsync", _resolver_exists),
]
