//! The registry identifier of a row. One that was made through Cloud Control records it as its physical id. One that was
//! made natively is composed from its physical id, properties and attributes, as the table says; a type that the table
//! does not name records the very same id on both roads.

use ebb_core::provider::{Masked, ProvisionedBy, is_masked};
use ebb_core::run::ExecutionArn;
use ebb_core::{Code, Resource};
use serde_json::{Map, Value};

use self::Form::{Arn as ArnOf, Odd, OfCloudControlOnly, Parts};
use super::identifiers;
use crate::Cx;
use crate::arn::Arn;
use crate::call::StepError;

/// How a native row's identifier is composed.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// Several fields, in the registry's order.
    Parts(&'static [Part]),
    /// An ARN: the physical id when it is one, else this attribute.
    Arn(&'static str),
    /// An id that the registry made up and only a row of Cloud Control records.
    OfCloudControlOnly,
    /// A way of its own.
    Odd(fn(&Resource, &Cx<'_>) -> Result<Identifier, StepError>),
}

/// A field of a composite identifier and where a native row records it.
pub(super) type Part = (&'static str, Source);

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// The physical id.
    Own,
    /// The property of the field's name.
    Property,
    /// The attribute of the field's name.
    Attribute,
}

/// The fields' values, in the registry's order; a single field needs no name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Identifier(Vec<(&'static str, String)>);

impl Identifier {
    fn plain(id: impl Into<String>) -> Self {
        Identifier(vec![("", id.into())])
    }

    /// As Cloud Control is told: a composite as a JSON object, which does not depend on the order.
    pub fn sent(&self) -> String {
        match &self.0[..] {
            [("", id)] => id.clone(),
            fields => {
                let object: Map<String, Value> = fields.iter().map(|(f, v)| ((*f).to_owned(), Value::from(v.as_str()))).collect();
                Value::Object(object).to_string()
            }
        }
    }

    /// As Cloud Control tells it back in its events.
    pub fn joined(&self) -> String {
        self.0.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join("|")
    }

    /// The message without the names that people chose: they may hold any word that a rule looks for.
    pub fn without_names(&self, message: &str) -> String {
        let joined = self.joined();
        let names = joined.split(['|', '/', ':']).filter(|name| name.len() > 2);
        let whole = std::iter::once(joined.as_str()).filter(|whole| !whole.is_empty());
        whole.chain(names).fold(message.to_owned(), |message, name| message.replace(name, ""))
    }
}

/// The identifier of a row, or why the row cannot be addressed.
pub(super) fn of(r: &Resource, cx: &Cx<'_>) -> Result<Identifier, StepError> {
    if is_masked(&r.physical_id) {
        return Err(Masked { property: "physicalId".into() }.into());
    }
    if r.physical_id.trim_matches(['|', ' ']).is_empty() {
        return Err(StepError::malformed_id("the registry's identifier"));
    }
    if r.provisioned_by == ProvisionedBy::CloudControl {
        return Ok(Identifier::plain(&r.physical_id));
    }
    match identifiers::form(&r.resource_type) {
        None => Ok(Identifier::plain(&r.physical_id)),
        Some(Parts(parts)) => composite(r, parts),
        Some(ArnOf(_)) if r.physical_id.starts_with("arn:") && !r.physical_id.contains('|') => {
            Ok(Identifier::plain(&r.physical_id))
        }
        Some(ArnOf(name)) => attribute(r, name).map(Identifier::plain),
        Some(OfCloudControlOnly) => Err(StepError::Skip {
            code: Code::MissingAddress,
            reason: "the registry's own id of it is not recorded, and Cloud Control takes no other: no delete issued".into(),
        }),
        Some(Odd(compose)) => compose(r, cx),
    }
}

/// A physical id that is the whole identifier already, and agrees with the recorded properties, is taken apart; else each
/// field comes from where the row records it.
fn composite(r: &Resource, parts: &'static [Part]) -> Result<Identifier, StepError> {
    let split: Vec<&str> = r.physical_id.split('|').collect();
    let whole = split.len() == parts.len() && split.iter().all(|part| !part.is_empty());
    let agrees = |(&(field, source), value): (&Part, &&str)| {
        source != Source::Property || r.properties.get(field).and_then(text).is_none_or(|p| is_masked(&p) || p == *value)
    };
    if whole && parts.iter().zip(&split).all(agrees) {
        return Ok(Identifier(parts.iter().zip(split).map(|(&(field, _), value)| (field, value.to_owned())).collect()));
    }
    let fields = parts.iter().map(|&(field, source)| {
        let value = match source {
            Source::Own if split.len() == 1 => r.physical_id.clone(),
            Source::Own => return Err(StepError::malformed_id("a bare id or the registry's identifier")),
            Source::Property => property(r, field)?,
            Source::Attribute => attribute(r, field)?,
        };
        Ok((field, value))
    });
    Ok(Identifier(fields.collect::<Result<_, _>>()?))
}

/// Text and numbers address; anything else does not.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn recorded(from: &Map<String, Value>, name: &str) -> Result<String, StepError> {
    match from.get(name).and_then(text) {
        Some(value) if is_masked(&value) => Err(Masked { property: name.to_owned() }.into()),
        Some(value) => Ok(value),
        None => Err(StepError::missing(name)),
    }
}

fn property(r: &Resource, name: &str) -> Result<String, StepError> {
    recorded(&r.properties, name)
}

fn attribute(r: &Resource, name: &str) -> Result<String, StepError> {
    recorded(&r.attributes, name)
}

/// The registry knows the API by its ARN, the record by its id.
pub(super) fn graphql_api(r: &Resource, cx: &Cx<'_>) -> Result<Identifier, StepError> {
    if r.physical_id.starts_with("arn:") {
        return Ok(Identifier::plain(&r.physical_id));
    }
    if r.attributes.contains_key("Arn") {
        return attribute(r, "Arn").map(Identifier::plain);
    }
    let partition = ExecutionArn::parse(&cx.run.execution).map_or("aws", |arn| arn.partition);
    Ok(Identifier::plain(format!("arn:{partition}:appsync:{}:{}:apis/{}", r.region, cx.run.account, r.physical_id)))
}

/// The name at the end of a trail's ARN.
pub(super) fn trail(r: &Resource, _: &Cx<'_>) -> Result<Identifier, StepError> {
    match Arn::parse(&r.physical_id) {
        None => Ok(Identifier::plain(&r.physical_id)),
        Some(arn) => match arn.resource.strip_prefix("trail/") {
            Some(name) if !name.is_empty() => Ok(Identifier::plain(name)),
            _ => Err(StepError::malformed_id("a trail's name or ARN")),
        },
    }
}

/// A security group rule's own id; group, protocol and ports do not name one rule.
pub(super) fn rule(r: &Resource, _: &Cx<'_>) -> Result<Identifier, StepError> {
    if r.physical_id.starts_with("sgr-") {
        return Ok(Identifier::plain(&r.physical_id));
    }
    attribute(r, "Id").map(Identifier::plain)
}

/// `igw-…|vpc-…` is recorded; the registry wants the gateway's kind.
pub(super) fn gateway_attachment(r: &Resource, _: &Cx<'_>) -> Result<Identifier, StepError> {
    let kind = |gateway: &str| match gateway {
        "IGW" | "VGW" => Some(gateway.to_owned()),
        _ if gateway.starts_with("igw-") => Some("IGW".to_owned()),
        _ if gateway.starts_with("vgw-") => Some("VGW".to_owned()),
        _ => None,
    };
    match r.physical_id.split_once('|').map(|(gateway, vpc)| (kind(gateway), vpc)) {
        Some((Some(kind), vpc)) if vpc.starts_with("vpc-") && !vpc.contains('|') => {
            Ok(Identifier(vec![("AttachmentType", kind), ("VpcId", vpc.to_owned())]))
        }
        _ => Err(StepError::malformed_id("gateway|vpc")),
    }
}

/// The cluster is recorded, or stands in a service's long ARN.
pub(super) fn ecs_service(r: &Resource, _: &Cx<'_>) -> Result<Identifier, StepError> {
    let (service, cluster) = match r.physical_id.split_once('|') {
        Some((service, cluster)) if !cluster.is_empty() && !cluster.contains('|') => (service, cluster.to_owned()),
        Some(_) => return Err(StepError::malformed_id("a service's ARN, or ARN|cluster")),
        None => {
            let in_arn = Arn::parse(&r.physical_id).and_then(|arn| arn.resource.strip_prefix("service/")?.split_once('/'));
            let cluster = match in_arn {
                _ if r.properties.contains_key("Cluster") => property(r, "Cluster")?,
                Some((cluster, _)) => cluster.to_owned(),
                None => return Err(StepError::missing("Cluster")),
            };
            (r.physical_id.as_str(), cluster)
        }
    };
    Ok(Identifier(vec![("ServiceArn", service.to_owned()), ("Cluster", cluster)]))
}

/// Without a recorded catalog it is the account's own.
pub(super) fn glue_connection(r: &Resource, cx: &Cx<'_>) -> Result<Identifier, StepError> {
    let catalog = match r.properties.get("CatalogId") {
        None => cx.run.account.clone(),
        Some(_) => property(r, "CatalogId")?,
    };
    let own = format!("{catalog}|");
    let name = r.physical_id.strip_prefix(&own).unwrap_or(&r.physical_id);
    Ok(Identifier(vec![("CatalogId", catalog), ("Name", name.to_owned())]))
}

/// `…:regional/webacl/NAME/ID`, or `NAME|ID|SCOPE` already.
pub(super) fn web_acl(r: &Resource, _: &Cx<'_>) -> Result<Identifier, StepError> {
    let parts = match Arn::parse(&r.physical_id) {
        None => r.physical_id.split('|').collect::<Vec<_>>(),
        Some(arn) => match arn.resource.split('/').collect::<Vec<_>>()[..] {
            ["regional", _, name, id] => vec![name, id, "REGIONAL"],
            ["global", _, name, id] => vec![name, id, "CLOUDFRONT"],
            _ => Vec::new(),
        },
    };
    match parts[..] {
        [name, id, scope] if !name.is_empty() && !id.is_empty() && !scope.is_empty() => {
            Ok(Identifier(vec![("Name", name.into()), ("Id", id.into()), ("Scope", scope.into())]))
        }
        _ => Err(StepError::malformed_id("an ARN or NAME|ID|SCOPE")),
    }
}

#[cfg(test)]
mod tests;
