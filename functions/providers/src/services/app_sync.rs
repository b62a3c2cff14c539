//! AppSync. An API takes one change at a time, and its schema, data sources, resolvers and keys go with it.

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{StepError, StepResult};
use crate::classify::{Retry, Rules, retry};
use crate::ids::{fits_path, physical_id};
use crate::registry::{StepFn, TypeDef};

/// Also "Schema is currently being altered".
const CHANGING: Retry = retry("ConcurrentModificationException", 2, 120);

pub(crate) const TYPES: &[TypeDef] = &[
    goes("AWS::AppSync::ApiKey", |r, cx| Box::pin(api_key(r, cx)), &["appsync:DeleteApiKey"], &[CHANGING]),
    goes(
        "AWS::AppSync::DataSource",
        |r, cx| Box::pin(data_source(r, cx)),
        &["appsync:DeleteDataSource"],
        &[CHANGING, retry("BadRequestException~in use", 3, 120)],
    ),
    goes(
        "AWS::AppSync::GraphQLApi",
        |r, cx| Box::pin(graphql_api(r, cx)),
        &["appsync:DeleteGraphqlApi"],
        &[CHANGING, retry("InternalFailureException", 3, 60), retry("BadRequestException~associated", 10, 300)],
    ),
    goes("AWS::AppSync::Resolver", |r, cx| Box::pin(resolver(r, cx)), &["appsync:DeleteResolver"], &[CHANGING]),
];

/// A type that one DELETE takes.
const fn goes(name: &'static str, step: StepFn, actions: &'static [&'static str], retry: &'static [Retry]) -> TypeDef {
    TypeDef { name, step, look: None, actions, rules: Rules { gone: &["NotFoundException"], retry, ..Rules::NONE } }
}

/// The parts of `a|b|…`, of an ARN `apis/A/kind/B/…`, or the recorded properties, in the order of the id. What follows the
/// parts that are needed is passed over, as cdkd does.
fn parts<'r, const N: usize>(
    r: &'r Resource,
    cx: &Cx<'_>,
    expected: &str,
    kinds: &[&[&str]; N],
    properties: [&str; N],
) -> Result<[&'r str; N], StepError> {
    let id = physical_id(r, expected)?;
    same_region(id, cx)?;
    let found: Vec<&str> = match Arn::parse(id) {
        Some(arn) => in_arn(arn.resource, kinds).unwrap_or_default(),
        None if id.contains('|') => id.split('|').collect(),
        None => Vec::new(),
    };
    if let Some(parts) = found.first_chunk::<N>().filter(|parts| parts.iter().all(|part| fits_path(part))) {
        return Ok(*parts);
    }
    let mut recorded = [""; N];
    for (part, property) in recorded.iter_mut().zip(properties) {
        *part = r.address(property)?.filter(|value| fits_path(value)).ok_or_else(|| StepError::malformed_id(expected))?;
    }
    Ok(recorded)
}

/// `kind/value/kind/value`, when it is of just these kinds.
fn in_arn<'a>(resource: &'a str, kinds: &[&[&str]]) -> Option<Vec<&'a str>> {
    let segments: Vec<&str> = resource.split('/').collect();
    let (pairs, rest) = segments.as_chunks::<2>();
    let fits = rest.is_empty() && pairs.len() == kinds.len() && pairs.iter().zip(kinds).all(|([kind, _], of)| of.contains(kind));
    fits.then(|| pairs.iter().map(|[_, value]| *value).collect())
}

async fn graphql_api(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let id = physical_id(r, "an API id or ARN")?;
    same_region(id, cx)?;
    let api = match Arn::parse(id) {
        Some(arn) => arn.resource.strip_prefix("apis/").filter(|api| fits_path(api) && !api.contains('/')),
        None => Some(id),
    };
    let api = api.ok_or_else(|| StepError::malformed_id("an API id or ARN"))?;
    cx.aws.appsync().delete_graphql_api().api_id(api).send().await?;
    Ok(Step::DELETED)
}

/// Keys that expired vanish by themselves.
async fn api_key(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let kinds: &[&[&str]; 2] = &[&["apis"], &["apikeys", "apikey"]];
    let [api, key] = parts(r, cx, "apiId|apiKeyId", kinds, ["ApiId", "ApiKeyId"])?;
    cx.aws.appsync().delete_api_key().api_id(api).id(key).send().await?;
    Ok(Step::DELETED)
}

async fn data_source(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let [api, name] = parts(r, cx, "apiId|name", &[&["apis"], &["datasources"]], ["ApiId", "Name"])?;
    cx.aws.appsync().delete_data_source().api_id(api).name(name).send().await?;
    Ok(Step::DELETED)
}

async fn resolver(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let kinds: &[&[&str]; 3] = &[&["apis"], &["types"], &["resolvers"]];
    let [api, on, field] = parts(r, cx, "apiId|typeName|fieldName", kinds, ["ApiId", "TypeName", "FieldName"])?;
    cx.aws.appsync().delete_resolver().api_id(api).type_name(on).field_name(field).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
