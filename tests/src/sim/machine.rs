//! Runs a state machine's execution as Step Functions does: states, retries, catches, maps, waits; counts its history
//! events and measures every payload.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::asl::{Catcher, Choice, Machine, Retrier, Rule, State, Task};
use super::executions::Kind;
use super::invariants::{Invariant, MOST_EVENTS, MOST_PAYLOAD};
use super::log::weigh;
use super::paths::{Broken, fill, find, get, place};
use super::world::{SECRET, Sim};

/// How a state failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error with a name, which a state may retry or catch.
    Error { error: String, cause: String },
    /// The definition does not fit its data: nothing catches it.
    Runtime(Broken),
}

impl Fault {
    /// An error.
    pub fn error(error: &str, cause: impl Into<String>) -> Self {
        Fault::Error { error: error.to_owned(), cause: cause.into() }
    }

    fn matches(&self, names: &[String]) -> bool {
        match self {
            Fault::Error { error, .. } => names
                .iter()
                .any(|name| name == error || name == "States.ALL" || (name == "States.TaskFailed" && error != "States.Timeout")),
            Fault::Runtime(_) => false,
        }
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        Fault::Runtime(broken)
    }
}

/// One execution's view of the world.
pub struct Runner {
    pub sim: Arc<Sim>,
    pub arn: String,
    pub name: String,
}

/// States by name, of a machine or of a map's processor.
struct Scope<'a> {
    states: &'a BTreeMap<String, State>,
    item: Option<Value>,
    /// Only the outermost states are where an execution can be redriven from.
    outermost: bool,
}

type Step<'a> = Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send + 'a>>;

impl Runner {
    /// Runs `machine` from its start, or from a state with its input.
    pub async fn run(&self, machine: &'static Machine, from: &str, input: Value) -> Result<Value, Fault> {
        self.events(1);
        let scope = Scope { states: &machine.states, item: None, outermost: true };
        let limit = Duration::from_secs(machine.timeout_seconds);
        match tokio::time::timeout(limit, self.walk(&scope, from, input)).await {
            Ok(result) => result,
            Err(_) => Err(Fault::error("States.Timeout", "")),
        }
    }

    fn walk<'a>(&'a self, scope: &'a Scope<'a>, start: &'a str, input: Value) -> Step<'a> {
        Box::pin(async move {
            let (mut at, mut value) = (start.to_owned(), input);
            loop {
                self.measure(&at, &value);
                if scope.outermost {
                    self.sim.executions.entered(&self.arn, &at, &value);
                }
                let state = scope.states.get(&at).ok_or_else(|| format!("there is no state {at}"))?;
                let context = self.context(scope, 0);
                let (result, next) = match state {
                    State::Task(task) => {
                        self.events(2);
                        let outcome = self.task(scope, task, &value).await;
                        let next = task.next.clone().filter(|_| !task.end);
                        match outcome {
                            Ok(result) => (place(&task.result_path, value, result)?, next),
                            Err(fault) => {
                                let (value, next) = self.caught(&at, &task.catch, fault, value)?;
                                (value, Some(next))
                            }
                        }
                    }
                    State::Choice(choice) => {
                        self.events(2);
                        let next = self.choose(choice, &value, &context)?;
                        (value, Some(next))
                    }
                    State::Pass(pass) => {
                        self.events(2);
                        let result = match (&pass.result, &pass.parameters) {
                            (Some(result), _) => result.clone(),
                            (None, Some(parameters)) => fill(parameters, &value, &context)?,
                            (None, None) => value.clone(),
                        };
                        (place(&pass.result_path, value, result)?, pass.next.clone().filter(|_| !pass.end))
                    }
                    State::Wait(wait) => {
                        self.events(2);
                        let seconds = match (wait.seconds, &wait.seconds_path) {
                            (Some(seconds), None) => seconds,
                            (None, Some(path)) => {
                                get(path, &value, &context)?.as_u64().ok_or_else(|| format!("{path} is no number of seconds"))?
                            }
                            _ => return Err(Fault::Runtime(format!("{at} waits for nothing, or for two things"))),
                        };
                        self.sim.sleep(Duration::from_secs(seconds)).await;
                        (value, Some(wait.next.clone()))
                    }
                    State::Map(map) => {
                        self.events(4);
                        let items = get(&map.items_path, &value, &context)?
                            .as_array()
                            .ok_or_else(|| "the items are no list".to_owned())?
                            .clone();
                        let results = self.map(map, items, &value).await?;
                        (place(&map.result_path, value, results)?, Some(map.next.clone()))
                    }
                    State::Succeed(succeed) => {
                        self.events(2);
                        return match &succeed.output_path {
                            Some(path) => Ok(get(path, &value, &context)?.clone()),
                            None => Ok(value),
                        };
                    }
                    State::Fail(fail) => {
                        self.events(1);
                        let text = |path: &str| -> Result<String, Broken> {
                            let found = get(path, &value, &context)?;
                            found.as_str().map(str::to_owned).ok_or_else(|| format!("{path} of {at} is no text: {found}"))
                        };
                        return Err(Fault::Error { error: text(&fail.error_path)?, cause: text(&fail.cause_path)? });
                    }
                };
                self.measure(&at, &result);
                match next {
                    Some(next) => (at, value) = (next, result),
                    None => return Ok(result),
                }
            }
        })
    }

    fn context(&self, scope: &Scope<'_>, retries: u32) -> Value {
        let mut context = json!({"Execution": {"Id": self.arn, "Name": self.name}, "State": {"RetryCount": retries}});
        if let Some(item) = &scope.item {
            context["Map"] = json!({"Item": {"Value": item}});
        }
        context
    }

    /// A task with its retries.
    async fn task(&self, scope: &Scope<'_>, task: &Task, input: &Value) -> Result<Value, Fault> {
        let mut used = vec![0u32; task.retry.len()];
        let mut retries = 0;
        loop {
            self.events(3);
            let context = self.context(scope, retries);
            let parameters = fill(&task.parameters, input, &context)?;
            self.measure("a task's payload", &parameters);
            let work = self.invoke(task, parameters);
            let outcome = match task.timeout_seconds {
                Some(seconds) => tokio::time::timeout(Duration::from_secs(seconds), work)
                    .await
                    .unwrap_or_else(|_| Err(Fault::error("States.Timeout", ""))),
                None => work.await,
            };
            let fault = match outcome {
                Ok(result) => {
                    self.measure("a task's result", &result);
                    return match &task.result_selector {
                        Some(selector) => Ok(fill(selector, &result, &context)?),
                        None => Ok(result),
                    };
                }
                Err(fault) => fault,
            };
            let Some(at) = task.retry.iter().position(|retrier| fault.matches(&retrier.error_equals)) else { return Err(fault) };
            let Some(pause) = self.pause(&task.retry[at], used[at]) else { return Err(fault) };
            used[at] += 1;
            retries += 1;
            self.sim.sleep(pause).await;
        }
    }

    /// Full jitter: anything up to the backoff.
    fn pause(&self, retrier: &Retrier, used: u32) -> Option<Duration> {
        if used >= retrier.max_attempts {
            return None;
        }
        let backoff = retrier.interval_seconds as f64 * retrier.backoff_rate.powi(used as i32);
        let most = backoff.min(retrier.max_delay_seconds as f64);
        Some(self.sim.rng.machines.millis(0, (most * 1000.0) as u64))
    }

    async fn invoke(&self, task: &Task, parameters: Value) -> Result<Value, Fault> {
        match task.resource.as_str() {
            "arn:aws:states:::states:startExecution" => {
                let (kind, name, input) = child(&parameters)?;
                let arn = self.sim.executions.start(&self.sim, &self.region(), kind, &name, input, None)?;
                Ok(json!({"ExecutionArn": arn}))
            }
            "arn:aws:states:::states:startExecution.sync:2" => {
                self.events(2);
                let (kind, name, input) = child(&parameters)?;
                let arn = self.sim.executions.start(&self.sim, &self.region(), kind, &name, input, Some(&self.arn))?;
                match self.sim.executions.outcome(&arn).await {
                    Ok(output) => Ok(json!({"ExecutionArn": arn, "Status": "SUCCEEDED", "Output": output})),
                    Err(cause) => Err(Fault::error("States.TaskFailed", cause)),
                }
            }
            function => {
                let answer = self.sim.fleet().invoke(&self.sim, function, parameters)?;
                answer.await.unwrap_or_else(|_| Err(Fault::error("Lambda.Unknown", "the simulation ended")))
            }
        }
    }

    fn region(&self) -> String {
        self.arn.split(':').nth(3).unwrap_or_default().to_owned()
    }

    fn caught(&self, at: &str, catchers: &[Catcher], fault: Fault, input: Value) -> Result<(Value, String), Fault> {
        let Some(catcher) = catchers.iter().find(|catcher| fault.matches(&catcher.error_equals)) else { return Err(fault) };
        self.sim.event(|| format!("{}: {at} failed, on to {}: {fault:?}", self.name, catcher.next));
        let Fault::Error { error, cause } = fault else { return Err(fault) };
        Ok((place(&catcher.result_path, input, json!({"Error": error, "Cause": cause}))?, catcher.next.clone()))
    }

    fn choose(&self, choice: &Choice, input: &Value, context: &Value) -> Result<String, Broken> {
        for rule in &choice.choices {
            if holds(rule, input, context)? {
                return rule.next.clone().ok_or_else(|| "a choice leads nowhere".to_owned());
            }
        }
        Ok(choice.default.clone())
    }

    async fn map(&self, map: &super::asl::Map, items: Vec<Value>, input: &Value) -> Result<Value, Fault> {
        let slots = Semaphore::new(map.max_concurrency.max(1));
        let one = |item: Value| {
            let slots = &slots;
            async move {
                let _slot = slots.acquire().await;
                self.events(2);
                let scope = Scope { states: &map.item_processor.states, item: Some(item), outermost: false };
                let selected = fill(&map.item_selector, input, &self.context(&scope, 0))?;
                self.walk(&scope, &map.item_processor.start_at, selected).await
            }
        };
        let results: Result<Vec<Value>, Fault> = join_all(items.into_iter().map(one)).await.into_iter().collect();
        Ok(Value::Array(results?))
    }

    fn events(&self, more: u64) {
        let events = self.sim.executions.add_events(&self.arn, more);
        if events > MOST_EVENTS && events - more <= MOST_EVENTS {
            self.sim.check(Invariant::Payload, false, || {
                format!("the history of {} holds more than {MOST_EVENTS} events", self.name)
            });
        }
    }

    fn measure(&self, what: &str, value: &Value) {
        let (size, _) = weigh(value, SECRET);
        self.sim.check(Invariant::Payload, size <= MOST_PAYLOAD, || format!("{}: {what} has {size} bytes", self.name));
    }
}

/// What a child execution is started with. The input that AWS adds for its own use goes with it.
fn child(parameters: &Value) -> Result<(Kind, String, Value), Broken> {
    let text = |name: &str| parameters[name].as_str().ok_or_else(|| format!("the child's {name} is no text"));
    Ok((Kind::of(text("StateMachineArn")?)?, text("Name")?.to_owned(), parameters["Input"].clone()))
}

fn holds(rule: &Rule, input: &Value, context: &Value) -> Result<bool, Broken> {
    if let Some(all) = &rule.and {
        for rule in all {
            if !holds(rule, input, context)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let variable = rule.variable.as_deref().ok_or("a rule without a variable")?;
    let found = find(variable, input, context)?;
    if let Some(present) = rule.is_present {
        return Ok(found.is_some() == present);
    }
    let found = found.ok_or_else(|| format!("the choice's variable {variable} leads nowhere"))?;
    match (&rule.string_equals, rule.boolean_equals) {
        (Some(text), None) => Ok(found.as_str() == Some(text)),
        (None, Some(value)) => Ok(found.as_bool() == Some(value)),
        _ => Err("a rule that compares nothing, or twice".to_owned()),
    }
}
