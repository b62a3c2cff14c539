//! What a seed draws: the stacks, the request, how much goes wrong and what, who else is at work, whose clock is off.

use serde_json::{Value, json};

use super::rng::Rng;
use super::shapes::{self, Shape};

/// How often things go wrong, in a thousand.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    pub bucket_slow: u64,
    pub bucket_unavailable: u64,
    pub bucket_lost: u64,
    pub bucket_conflict: u64,
    pub aws_throttled: u64,
    pub aws_busy: u64,
    pub aws_reply_lost: u64,
    pub aws_slow: u64,
    pub function_refused: u64,
    pub function_reply_lost: u64,
    pub function_twice: u64,
    pub function_killed: u64,
    pub function_slow: u64,
    pub describe_error: u64,
    pub describe_unknown: u64,
    pub describe_stale: u64,
    /// Resources with a will of their own.
    pub quirks: u64,
}

/// Access that is denied for a while or for good.
#[derive(Clone, Debug)]
pub struct Denial {
    pub operation: &'static str,
    pub suffix: &'static str,
    pub from: u64,
    pub until: Option<u64>,
}

/// How the rule for dead teardowns works today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    Prompt,
    Late,
    Twice,
    Never,
}

/// What somebody does to the run, or beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// StopExecution of the teardown, with or without its drive.
    Stop {
        drive_too: bool,
    },
    StopDrive,
    StopKeeper,
    /// RedriveExecution.
    Redrive,
    /// The same input under another name.
    Restart,
    /// The same name in another region's app.
    SameNameElsewhere,
    /// cdkd as it is now deploys the stack.
    Deploy,
    /// cdkd of old: never renews, releases whatever lock is there.
    OldDeploy {
        minutes: u64,
    },
    /// Somebody writes the state as it once was, without any lock.
    WriteUnlocked,
    /// An operator forces the lock open, waits and deploys.
    ForceUnlock,
    /// A payload of an earlier invocation of planner, worker or finalizer is delivered again, however late.
    LateDelivery,
}

/// A fault built into the simulated steps, to see that the invariants find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Calls go out some time after the look at the fence.
    SlowStart,
    /// A resource is said to be gone while its delete is still under way.
    TooEarly,
    /// A handler is asked without a look at the mark.
    NoMark,
    /// An error's code repeats a secret.
    Leak,
    /// AWS knows of needs that no state records.
    HiddenNeeds,
    /// The keeper and the rule for dead teardowns are asleep.
    NoKeeper,
}

/// One seed's draw.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub shape: Shape,
    pub bucket: String,
    pub versioned: bool,
    pub request: Value,
    pub rates: Rates,
    /// Milliseconds from the start; after that nothing new goes wrong.
    pub calm_after: u64,
    pub denials: Vec<Denial>,
    pub notice: Notice,
    /// Milliseconds by which planner, worker, lock-keeper and finalizer are ahead.
    pub skews: [i64; 4],
    /// The same for cdkd.
    pub cdkd_skew: i64,
    /// Seconds from the start, and what is done then.
    pub deeds: Vec<(u64, Deed)>,
    pub sabotage: Option<Sabotage>,
}

impl Scenario {
    /// Whether somebody works here whom the protocol does not bind.
    pub fn has_old_cdkd(&self) -> bool {
        self.deeds.iter().any(|(_, deed)| matches!(deed, Deed::OldDeploy { .. }))
    }

    /// Whether clocks are off by more than the protocol bears: two minutes, for a closed lock's lease is five.
    pub fn has_wild_clocks(&self) -> bool {
        self.skews.iter().chain([&self.cdkd_skew]).any(|by| by.abs() > TOLERATED_SKEW)
    }

    /// Whether access stays denied.
    pub fn is_denied_for_good(&self) -> bool {
        self.denials.iter().any(|denial| denial.until.is_none())
    }

    /// The draw of a seed.
    pub fn draw(seed: u64) -> Scenario {
        let rng = Rng::new(seed, "scenario");
        let shape = shapes::draw(&rng);
        // A third of the seeds is nearly without faults.
        let storm = match rng.below(6) {
            0 | 1 => 0,
            2 | 3 => 1,
            _ => 2,
        };
        let request = request(&rng, &shape);
        let rates = rates(&rng, storm);
        Scenario {
            seed,
            bucket: "cdkd-state-123456789012".into(),
            versioned: rng.chance(500),
            request,
            rates,
            calm_after: rng.between(60, 3_600) * 1000,
            denials: if storm > 0 && rng.chance(200) { vec![denial(&rng)] } else { Vec::new() },
            notice: if storm == 0 {
                Notice::Prompt
            } else {
                *rng.pick(&[Notice::Prompt, Notice::Late, Notice::Twice, Notice::Never])
            },
            skews: skews(&rng, storm),
            cdkd_skew: if storm > 0 && rng.chance(300) { skew(&rng, TOLERATED_SKEW) } else { 0 },
            deeds: deeds(&rng, storm),
            shape,
            sabotage: None,
        }
    }
}

/// Two minutes.
pub const TOLERATED_SKEW: i64 = 120_000;

fn skew(rng: &Rng, most: i64) -> i64 {
    rng.between(0, 2 * most as u64) as i64 - most
}

fn skews(rng: &Rng, storm: u32) -> [i64; 4] {
    let mut skews = [0; 4];
    if storm > 0 && rng.chance(300) {
        let most = if rng.chance(150) { 10 * 60_000 } else { TOLERATED_SKEW };
        skews = std::array::from_fn(|_| if rng.chance(600) { skew(rng, most) } else { 0 });
    }
    skews
}

fn request(rng: &Rng, shape: &Shape) -> Value {
    let mut request = json!({"stack": shape.stack, "region": shape.region, "confirm": shape.stack});
    for option in ["removeProtection", "deleteData", "skipGuarded", "skipFinalSnapshot", "purgeEvents"] {
        if rng.chance(if matches!(option, "removeProtection" | "deleteData") { 500 } else { 150 }) {
            request[option] = true.into();
        }
    }
    if shape.nested_by_itself {
        request["allowNestedChild"] = true.into();
    }
    if rng.chance(300) {
        request["lockWait"] = rng.between(30, 1_800).into();
    }
    if rng.chance(40) {
        request["dryRun"] = true.into();
    }
    request
}

fn rates(rng: &Rng, storm: u32) -> Rates {
    let quirks = *rng.pick(&[0, 20, 80]);
    if storm == 0 {
        // Nearly fault-free: now and then one bad moment.
        return Rates { quirks: if rng.chance(300) { quirks } else { 0 }, aws_throttled: 2, ..Rates::default() };
    }
    let most = if storm == 1 { 8 } else { 40 };
    let rate = |scale: u64| if rng.chance(450) { rng.between(1, most * scale) } else { 0 };
    Rates {
        bucket_slow: rate(2),
        bucket_unavailable: rate(1),
        bucket_lost: rate(1),
        bucket_conflict: rate(1),
        aws_throttled: rate(2),
        aws_busy: rate(2),
        aws_reply_lost: rate(2),
        aws_slow: rate(2),
        function_refused: rate(2),
        function_reply_lost: rate(2),
        function_twice: rate(2),
        function_killed: rate(1),
        function_slow: rate(1),
        describe_error: rate(2),
        describe_unknown: rate(2),
        describe_stale: rate(2) * 10,
        quirks,
    }
}

fn denial(rng: &Rng) -> Denial {
    let (operation, suffix) = *rng.pick(&[
        ("GetObject", "lock.json"),
        ("PutObject", "lock.json"),
        ("DeleteObject", "lock.json"),
        ("GetObject", "state.json"),
        ("PutObject", "state.json"),
        ("DeleteObject", "state.json"),
        ("GetObject", ".json"),
        ("PutObject", ".json"),
        ("DeleteObject", ".json"),
        ("ListObjectsV2", ""),
        ("ListObjectVersions", ""),
        ("DeleteObject", "create-tokens.json"),
        ("PutObject", ".jsonl"),
        ("PutObject", ".html"),
    ]);
    let from = rng.between(0, 600) * 1000;
    Denial { operation, suffix, from, until: (!rng.chance(150)).then(|| from + rng.between(5, 900) * 1000) }
}

fn deeds(rng: &Rng, storm: u32) -> Vec<(u64, Deed)> {
    let count = match storm {
        0 => usize::from(rng.chance(100)),
        1 => rng.below(3),
        _ => rng.below(5),
    };
    let mut deeds: Vec<(u64, Deed)> = (0..count)
        .map(|_| {
            let at = rng.between(0, *rng.pick(&[10, 120, 900, 3_000]));
            let deed = *rng.pick(&[
                Deed::Stop { drive_too: true },
                Deed::Stop { drive_too: false },
                Deed::StopDrive,
                Deed::StopKeeper,
                Deed::Redrive,
                Deed::Restart,
                Deed::Restart,
                Deed::SameNameElsewhere,
                Deed::Deploy,
                Deed::Deploy,
                Deed::OldDeploy { minutes: rng.between(1, 45) },
                Deed::WriteUnlocked,
                Deed::ForceUnlock,
                Deed::LateDelivery,
                Deed::LateDelivery,
            ]);
            (at, deed)
        })
        .collect();
    deeds.sort_by_key(|(at, _)| *at);
    deeds
}
