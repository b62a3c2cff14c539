//! Custom resources of the modelled AWS: delivered once per attempt through a mark in the bucket, as Ebb's own step does,
//! to handlers that answer at once, late, twice, with a failure or never.

use std::sync::Arc;
use std::time::Duration;

use ebb_core::provider::{Code, request_id};
use ebb_core::{Context, DeleteError, ErrorClass, Resource, Step, keys};
use ebb_store::{BucketErrorKind, Put, When};
use serde_json::Value;

use super::aws::{Call, Quirk};
use super::provider::SimProvider;
use super::scenario::Sabotage;
use super::world::{ACTOR, Actor, SECRET, Sim, actor};

/// The answer's address lives for an hour.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// One step of a custom resource.
pub async fn step(provider: &SimProvider, id: &str, resource: &Resource, ctx: &Context<'_>) -> Result<Step, DeleteError> {
    let request = request_id(ctx.run, &resource.stack, &resource.logical_id, ctx.attempt, 0);
    let key = keys::custom_resource_response(&request);
    let busy = |error: &ebb_store::BucketError| DeleteError {
        class: ErrorClass::Retry { after: Duration::from_secs(2), give_up: None },
        code: "ResponseNotRead".into(),
        message: format!("{:?}", error.kind),
        request_id: None,
    };
    let seen = provider.bucket.get(&key).await.map_err(|error| busy(&error))?;
    let sabotaged = provider.sim.scenario.sabotage == Some(Sabotage::NoMark);
    let marked = seen.is_some() && !sabotaged;
    if let Some(answer) = seen.as_ref().filter(|object| !object.body.is_empty()) {
        let answer: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        return match answer["Status"].as_str() {
            Some("SUCCESS") => Ok(Step::DELETED),
            _ => Ok(Step::skipped(Code::HandlerFailed, "the handler says that it failed")),
        };
    }
    if ctx.elapsed() > PATIENCE {
        return Ok(Step::skipped(Code::HandlerDidNotComplete, "the handler did not answer within an hour"));
    }
    if marked {
        return Ok(Step::pending(Duration::from_secs(2), "its handler was asked"));
    }
    if provider.sim.truth.handler_is_gone(&provider.sim, id) {
        return Ok(Step::ALREADY_GONE);
    }
    ctx.fence.check().await?;
    let me = format!("{}", actor().invocation);
    let mark = Put { metadata: [("invocation".to_owned(), me.clone())].into(), ..Put::json("") };
    let ours = match provider.bucket.put(&key, mark, When::Absent).await {
        Ok(_) => true,
        Err(error) if matches!(error.kind, BucketErrorKind::Precondition | BucketErrorKind::Unknown) => {
            let found = provider.bucket.get(&key).await.map_err(|error| busy(&error))?;
            found.is_some_and(|object| object.metadata.get("invocation") == Some(&me))
        }
        Err(error) => return Err(busy(&error)),
    };
    if ours || sabotaged {
        ctx.fence.check().await?;
        invoke(provider, id, &request, &key).await;
    }
    Ok(Step::pending(Duration::from_secs(2), "its handler was asked"))
}

/// The handler is asked. Its work is its own: neither the fence nor a killed step stops it.
async fn invoke(provider: &SimProvider, id: &str, request: &str, key: &str) {
    let sim = &provider.sim;
    sim.truth.handler_asked(sim, request);
    let _ = sim.aws.call(sim, id, Call::Ask).await;
    let quirk = sim.aws.show(id, sim.now()).1;
    let (seconds, twice, status) = match quirk {
        Quirk::NeverAnswers => return,
        Quirk::AnswersFailed => (1, false, "FAILED"),
        Quirk::AnswersAfter(seconds, twice) => (seconds, twice, "SUCCESS"),
        _ => (sim.rng.aws.between(1, 8), false, "SUCCESS"),
    };
    let (world, id, key): (Arc<Sim>, _, _) = (sim.clone(), id.to_owned(), key.to_owned());
    let acts = Actor { name: "handler", invocation: 0, run: None };
    tokio::spawn(ACTOR.scope(acts, async move {
        world.sleep(Duration::from_secs(seconds)).await;
        if status == "SUCCESS" {
            world.aws.gone(&world, &id);
        }
        for _ in 0..if twice { 2 } else { 1 } {
            world
                .bucket
                .raw_put(&key, format!(r#"{{"Status":"{status}","RequestId":"r","Data":{{"Token":"{SECRET}-answer"}}}}"#));
            world.event(|| format!("the handler of {id} answers {status}"));
            world.sleep(Duration::from_secs(30)).await;
        }
    }));
}
