//! A modelled AWS: resources that take their time, lean on each other, linger, vanish, or refuse. It knows from the state's
//! text alone what needs what; how Ebb sees the graph is not asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ebb_core::{Millis, catalogue};
use tokio::sync::oneshot;

use super::scenario::{Sabotage, Scenario};
use super::shapes::Row;
use super::world::{Sim, actor};

/// What is special about a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    None,
    /// Deletion protection is on.
    Protected,
    /// It holds data that a plain delete must not take.
    HoldsData,
    /// Every delete is refused, as a final error.
    Refuses,
    /// Every delete is refused for lack of rights.
    Denied,
    /// Every delete is refused for now, for ever.
    NeverReady,
    /// Somebody deletes it by hand then.
    Vanishes(Millis),
    /// Something outside holds it until then.
    HeldUntil(Millis),
    /// A custom resource's handler answers after this many seconds, perhaps twice.
    AnswersAfter(u64, bool),
    /// A custom resource's handler never answers.
    NeverAnswers,
    /// A custom resource's handler answers that it failed.
    AnswersFailed,
}

impl Quirk {
    /// Whether no patience helps.
    pub fn is_permanent(self) -> bool {
        matches!(
            self,
            Quirk::Protected
                | Quirk::HoldsData
                | Quirk::Refuses
                | Quirk::Denied
                | Quirk::NeverReady
                | Quirk::NeverAnswers
                | Quirk::AnswersFailed
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Alive,
    Going { gone_at: Millis, unseen_at: Millis },
}

/// One resource.
#[derive(Clone, Debug)]
pub struct Thing {
    pub row: Row,
    pub quirk: Quirk,
    /// The deployment that made it.
    pub deployment: u64,
    pub has_snapshot: bool,
    life: Life,
    /// Who needs it.
    users: Vec<String>,
}

impl Thing {
    /// Nobody can delete it any more: it counts as gone with what it was made by.
    pub fn abandon(&mut self, now: Millis) {
        self.life = Life::Going { gone_at: now, unseen_at: now };
    }

    /// Whether it still exists.
    pub fn is_alive(&self, now: Millis) -> bool {
        match (self.life, self.quirk) {
            (Life::Alive, Quirk::Vanishes(at)) => now < at,
            (Life::Alive, _) => true,
            (Life::Going { gone_at, .. }, _) => now < gone_at,
        }
    }
}

/// What a look at a resource shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Alive,
    Going,
    Missing,
}

/// A mutating call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Delete,
    Unprotect,
    Empty,
    Snapshot,
    Ask,
}

/// How AWS refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Missing,
    InUse,
    Protected,
    NotEmpty,
    Denied,
    Invalid,
    NotReady,
    Throttled,
    Busy,
    NoAnswer,
}

/// All resources by `stack/LogicalId`.
#[derive(Default)]
pub struct Aws(Mutex<BTreeMap<String, Thing>>);

impl Aws {
    /// The resources.
    pub fn things(&self) -> MutexGuard<'_, BTreeMap<String, Thing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes every resource of the shape that is not there, as a deployment does.
    pub fn deploy(&self, sim: &Sim, deployment: u64) {
        let (now, shape) = (sim.now(), &sim.scenario.shape);
        let mut things = self.things();
        for row in shape.rows() {
            let alive = things.get(&row.id).is_some_and(|thing| thing.is_alive(now));
            let quirk = match deployment {
                0 => quirk(sim, row, now),
                _ => Quirk::None,
            };
            let thing = things.entry(row.id.clone()).or_insert_with(|| Thing {
                row: row.clone(),
                quirk,
                deployment,
                has_snapshot: false,
                life: Life::Alive,
                users: match sim.scenario.sabotage {
                    // Upside down: what it needs is said to need it.
                    Some(Sabotage::HiddenNeeds) => row.needs.clone(),
                    _ => shape.users(&row.id),
                },
            });
            // What is there is taken over: from now on it belongs to this deployment.
            thing.deployment = deployment;
            if !alive {
                (thing.life, thing.has_snapshot) = (Life::Alive, false);
                if !thing.quirk.is_permanent() {
                    thing.quirk = Quirk::None;
                }
            } else if let Life::Going { .. } = thing.life {
                thing.life = Life::Alive;
            }
        }
    }

    /// Takes every permanent quirk away, as a person does who mends things.
    pub fn mend(&self) {
        for thing in self.things().values_mut().filter(|thing| thing.quirk.is_permanent()) {
            thing.quirk = Quirk::None;
        }
    }

    /// Whether a resource exists.
    pub fn is_alive(&self, id: &str, now: Millis) -> bool {
        self.things().get(id).is_some_and(|thing| thing.is_alive(now))
    }

    /// What Describe shows: a resource that is gone may be seen for a while.
    pub fn show(&self, id: &str, now: Millis) -> (Shown, Quirk) {
        let things = self.things();
        let Some(thing) = things.get(id) else { return (Shown::Missing, Quirk::None) };
        let shown = match thing.life {
            Life::Alive if thing.is_alive(now) => Shown::Alive,
            Life::Going { unseen_at, .. } if now < unseen_at => Shown::Going,
            _ => Shown::Missing,
        };
        (shown, thing.quirk)
    }

    /// Resources that exist and hold this one: what makes AWS refuse.
    fn holders(&self, id: &str, now: Millis) -> Vec<String> {
        let things = self.things();
        let Some(thing) = things.get(id) else { return Vec::new() };
        let holds = |user: &&String| things.get(user.as_str()).is_some_and(|user| user.is_alive(now) && !user.row.stays());
        thing.users.iter().filter(holds).cloned().collect()
    }

    /// One mutating call of a step: noted, on its way for a while, answered or not. It goes its way even when its caller
    /// is killed.
    pub async fn call(&self, sim: &Arc<Sim>, id: &str, call: Call) -> Result<(), Refused> {
        let (rates, rng) = (&sim.scenario.rates, &sim.rng.aws);
        sim.count("AWS calls");
        sim.truth.call_starts(sim, id, call);
        sim.event(|| format!("#{} calls {call:?} {id}", actor().invocation));
        if rng.chance(sim.odds(rates.aws_throttled)) {
            sim.fault("AWS: throttled");
            sim.sleep(rng.millis(200, 8_000)).await;
            sim.truth.call_ends(sim, id);
            return Err(Refused::Throttled);
        }
        if rng.chance(sim.odds(rates.aws_busy)) {
            sim.fault("AWS: internal error");
            sim.sleep(rng.millis(100, 5_000)).await;
            sim.truth.call_ends(sim, id);
            return Err(Refused::Busy);
        }
        let slow = rng.chance(sim.odds(rates.aws_slow));
        let lost = rng.chance(sim.odds(rates.aws_reply_lost));
        if slow {
            sim.fault("AWS: slow");
        }
        let most = if slow { 8_500 } else { 250 };
        let (there, back) = (rng.millis(20, most), rng.millis(10, most));
        let (done, answer) = oneshot::channel();
        let (world, of, acts) = (sim.clone(), id.to_owned(), actor());
        tokio::spawn(super::world::ACTOR.scope(acts, async move {
            world.sleep(there).await;
            let result = world.aws.effect(&world, &of, call);
            world.event(|| format!("{call:?} {of} takes effect: {result:?}"));
            world.truth.call_ends(&world, &of);
            let _ = done.send(result);
        }));
        let result = answer.await.unwrap_or(Err(Refused::NoAnswer));
        if lost {
            sim.fault("AWS: reply lost");
            sim.sleep(Duration::from_millis(2_000)).await;
            return Err(Refused::NoAnswer);
        }
        sim.sleep(back).await;
        result
    }

    /// A call reaches its resource.
    fn effect(&self, sim: &Sim, id: &str, call: Call) -> Result<(), Refused> {
        let now = sim.now();
        let holders = self.holders(id, now);
        sim.truth.call_reaches(sim, id, call, &holders);
        let mut things = self.things();
        let thing = things.get_mut(id).filter(|thing| thing.is_alive(now)).ok_or(Refused::Missing)?;
        match (call, thing.quirk) {
            (Call::Unprotect | Call::Empty, _) => {
                if matches!(thing.quirk, Quirk::Protected | Quirk::HoldsData) {
                    thing.quirk = Quirk::None;
                }
                return Ok(());
            }
            (Call::Snapshot, _) => {
                thing.has_snapshot = true;
                return Ok(());
            }
            (Call::Ask, _) => return Ok(()),
            (Call::Delete, Quirk::Protected) => return Err(Refused::Protected),
            (Call::Delete, Quirk::HoldsData) => return Err(Refused::NotEmpty),
            (Call::Delete, Quirk::Denied) => return Err(Refused::Denied),
            (Call::Delete, Quirk::Refuses) => return Err(Refused::Invalid),
            (Call::Delete, Quirk::NeverReady) => return Err(Refused::NotReady),
            (Call::Delete, Quirk::HeldUntil(until)) if now < until => return Err(Refused::InUse),
            (Call::Delete, _) => {}
        }
        if !holders.is_empty() {
            return Err(Refused::InUse);
        }
        if let Life::Alive = thing.life {
            let known = catalogue::lookup(&thing.row.resource_type, thing.row.in_vpc);
            let most = known.deadline().as_millis() as u64 * 3 / 4;
            let takes = ((sim.rng.aws.log_normal(known.p50_s, known.p90_s) * 1000.0) as u64).min(most);
            let seen = if sim.rng.aws.chance(sim.odds(30)) { sim.rng.aws.between(500, 40_000) } else { 0 };
            thing.life = Life::Going { gone_at: now + takes, unseen_at: now + takes + seen };
        }
        Ok(())
    }

    /// A custom resource's handler has done its work.
    pub fn gone(&self, sim: &Sim, id: &str) {
        if let Some(thing) = self.things().get_mut(id) {
            thing.abandon(sim.now());
        }
    }
}

/// What is special about a resource of the first deployment.
fn quirk(sim: &Sim, row: &Row, now: Millis) -> Quirk {
    let (rng, scenario): (_, &Scenario) = (&sim.rng.aws, &sim.scenario);
    if !rng.chance(scenario.rates.quirks) {
        return Quirk::None;
    }
    let kinds: &[Quirk] = match row.resource_type.as_str() {
        _ if row.is_custom => &[
            Quirk::AnswersAfter(40, false),
            Quirk::AnswersAfter(300, false),
            Quirk::AnswersAfter(5, true),
            Quirk::AnswersAfter(90, true),
            Quirk::NeverAnswers,
            Quirk::AnswersFailed,
        ],
        "AWS::DynamoDB::Table"
        | "AWS::Logs::LogGroup"
        | "AWS::RDS::DBInstance"
        | "AWS::RDS::DBCluster"
        | "AWS::Cognito::UserPool" => &[Quirk::Protected],
        "AWS::S3::Bucket" | "AWS::ECR::Repository" => &[Quirk::HoldsData],
        "AWS::EC2::VPC" | "AWS::EC2::Subnet" | "AWS::EC2::SecurityGroup" | "AWS::IAM::Role" => &[Quirk::HeldUntil(0)],
        _ => &[Quirk::Vanishes(0), Quirk::Vanishes(0), Quirk::HeldUntil(0), Quirk::Refuses, Quirk::Denied, Quirk::NeverReady],
    };
    let quirk = match *rng.pick(kinds) {
        Quirk::Vanishes(_) => Quirk::Vanishes(now + rng.between(0, 600) * 1000),
        Quirk::HeldUntil(_) => Quirk::HeldUntil(now + rng.between(10, 900) * 1000),
        // Half a day of looks every two minutes tells nothing that half an hour does not.
        Quirk::NeverReady if catalogue::lookup(&row.resource_type, row.in_vpc).deadline_min > 60 => Quirk::Refuses,
        quirk => quirk,
    };
    if quirk.is_permanent() {
        sim.fault("AWS: a resource refuses");
    } else {
        sim.fault("AWS: a resource has its own ways");
    }
    quirk
}
