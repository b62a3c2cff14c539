//! Glue: the data catalog (`catalog.rs`), what runs and must be stopped first (`running.rs`), and what goes in one call.

pub(crate) mod catalog;
mod running;

use ebb_core::{Resource, Step};

use crate::Cx;
use crate::call::StepResult;
use crate::classify::{Retry, Rules, retry};
use crate::registry::TypeDef;

const GONE: &[&str] = &["EntityNotFoundException"];
const CONCURRENT: Retry = retry("ConcurrentModificationException", 2, 60);
const TIMEOUT: Retry = retry("OperationTimeoutException", 5, 120);
const INTERNAL: Retry = retry("InternalServiceException", 3, 60);

const fn rules(retry: &'static [Retry]) -> Rules {
    Rules { gone: GONE, retry, terminal: &[], protected: &[] }
}

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::Glue::Connection",
        step: |r, cx| Box::pin(catalog::connection(r, cx)),
        look: None,
        actions: &["glue:DeleteConnection"],
        rules: rules(&[TIMEOUT]),
    },
    TypeDef {
        name: "AWS::Glue::Crawler",
        step: |r, cx| Box::pin(running::crawler(r, cx)),
        look: None,
        actions: &["glue:DeleteCrawler", "glue:GetCrawler", "glue:StopCrawler"],
        rules: rules(&[retry("CrawlerRunningException", 10, 600), retry("SchedulerTransitioningException", 5, 120), TIMEOUT]),
    },
    TypeDef {
        name: "AWS::Glue::Database",
        step: |r, cx| Box::pin(catalog::database(r, cx)),
        // Before the first delete the plan's own tables are still in it: only the step can tell them from others.
        look: None,
        actions: &["glue:DeleteDatabase", "glue:GetTables"],
        rules: rules(&[CONCURRENT, TIMEOUT, INTERNAL]),
    },
    TypeDef {
        name: "AWS::Glue::Job",
        step: |r, cx| Box::pin(job(r, cx)),
        look: None,
        actions: &["glue:DeleteJob"],
        rules: rules(&[TIMEOUT, INTERNAL]),
    },
    TypeDef {
        name: "AWS::Glue::SecurityConfiguration",
        step: |r, cx| Box::pin(security_configuration(r, cx)),
        look: None,
        actions: &["glue:DeleteSecurityConfiguration"],
        rules: rules(&[INTERNAL]),
    },
    TypeDef {
        name: "AWS::Glue::Table",
        step: |r, cx| Box::pin(catalog::table(r, cx)),
        look: None,
        actions: &["glue:DeleteTable"],
        rules: rules(&[CONCURRENT, TIMEOUT, INTERNAL, retry("ResourceNotReadyException", 5, 120)]),
    },
    TypeDef {
        name: "AWS::Glue::Trigger",
        step: |r, cx| Box::pin(running::trigger(r, cx)),
        look: None,
        actions: &["glue:DeleteTrigger", "glue:GetTrigger", "glue:StopTrigger"],
        rules: rules(&[CONCURRENT, TIMEOUT, INTERNAL]),
    },
    TypeDef {
        name: "AWS::Glue::Workflow",
        step: |r, cx| Box::pin(workflow(r, cx)),
        look: None,
        actions: &["glue:DeleteWorkflow"],
        rules: rules(&[CONCURRENT, TIMEOUT, INTERNAL]),
    },
];

/// An unknown name succeeds, too. Runs of the job go on until they end.
async fn job(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.glue().delete_job().job_name(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

async fn security_configuration(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.glue().delete_security_configuration().name(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

/// An unknown name succeeds, too.
async fn workflow(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.glue().delete_workflow().name(&r.physical_id).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
