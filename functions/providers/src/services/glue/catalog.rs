//! Databases, tables and connections. A call without a recorded catalog would address the account's own, whose not-found
//! says nothing of another catalog's.

use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Code, DeleteError, Resource, Step};
use serde_json::Value;

use super::GONE;
use crate::Cx;
use crate::call::{CallResult, StepError, StepResult};

/// The recorded catalog, unless it is the account's own.
fn catalog(r: &Resource, cx: &Cx<'_>) -> Result<Option<String>, StepError> {
    let id = match r.properties.get("CatalogId") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(id)) if is_masked(id) => return Err(Masked { property: "CatalogId".into() }.into()),
        Some(Value::String(id)) if !id.is_empty() => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        Some(_) => return Err(StepError::missing("usable CatalogId")),
    };
    Ok((id != cx.run.account).then_some(id))
}

/// Refuses while tables are left: those of the plan went first, so these are others', and the delete would drop them.
pub(crate) async fn no_other_tables(r: &Resource, cx: &Cx<'_>) -> Result<(), StepError> {
    if cx.run.options.delete_data {
        return Ok(());
    }
    let list = cx.aws.glue().get_tables().database_name(&r.physical_id).set_catalog_id(catalog(r, cx)?).max_results(100);
    // A page may be empty and not be the last.
    let mut pages = list.into_paginator().send();
    let more = loop {
        match pages.next().await.transpose().ignore(GONE)?.flatten() {
            None => return Ok(()),
            Some(page) if page.table_list().is_empty() => {}
            Some(page) if page.next_token().is_some() => break format!("{} or more", page.table_list().len()),
            Some(page) => break page.table_list().len().to_string(),
        }
    };
    let message = format!(
        "the database still holds {more} tables that are not the stack's: they are dropped only if the request says deleteData"
    );
    Err(DeleteError::refused(Code::DataGuard, message).into())
}

pub(super) async fn database(r: &Resource, cx: &Cx<'_>) -> StepResult {
    no_other_tables(r, cx).await?;
    cx.fence.check().await?;
    cx.aws.glue().delete_database().name(&r.physical_id).set_catalog_id(catalog(r, cx)?).send().await?;
    Ok(Step::DELETED)
}

/// `database|table`; a table's name may hold bars.
pub(super) async fn table(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let recorded = r.address("DatabaseName")?;
    let prefixed = recorded.and_then(|db| Some((db, r.physical_id.strip_prefix(db)?.strip_prefix('|')?)));
    let input = r.properties.get("TableInput").and_then(|input| input.get("Name")).and_then(Value::as_str);
    let usable = |&(database, table): &(&str, &str)| !database.is_empty() && !table.is_empty();
    let (database, table) = prefixed
        .or_else(|| r.physical_id.split_once('|'))
        .filter(usable)
        .or_else(|| Some((recorded?, input.filter(|name| !is_masked(name))?)))
        .filter(usable)
        .ok_or_else(|| StepError::malformed_id("database|table"))?;
    let delete = cx.aws.glue().delete_table().database_name(database).name(table);
    delete.set_catalog_id(catalog(r, cx)?).send().await?;
    Ok(Step::DELETED)
}

pub(super) async fn connection(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let delete = cx.aws.glue().delete_connection().connection_name(&r.physical_id);
    delete.set_catalog_id(catalog(r, cx)?).send().await?;
    Ok(Step::DELETED)
}
