//! Which stacks a sweep takes, and why it leaves each of the others. Two steps: [`pick`] judges what the listing shows of
//! every stack, [`settle`] then drops what the rails or the stacks' own states refuse and what somebody else still
//! imports from, and puts the rest in order.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

use super::order::{self, Edge};
use super::request::glob_set;
use super::{RECORD_VERSION, Select, Sweep};
use crate::request::{is_region, is_stack_name};
use crate::state::{Import, Layout, StateDoc, imports_of};
use crate::{Ending, Millis, Refusal, importers, text};

/// A state as the listing found it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The stack, `{parent}~{logicalId}` for a nested one.
    pub stack: String,
    /// Its region; `None` when neither key nor body tell.
    pub region: Option<String>,
    /// What its state says, or why it cannot be read.
    pub facts: Result<Facts, Refusal>,
    /// What it reads of other stacks.
    pub reads: Reads,
}

/// What a selection needs to know of a state. No property values but a due date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the record names a parent.
    pub nested: bool,
    /// When the state was last written.
    pub last_modified: Option<Millis>,
    /// The due date that the asked tag carries.
    pub due: Due,
    /// Whether it has outputs: others may import from it.
    pub exports: bool,
}

/// What states read of other stacks, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// What is known.
    pub known: BTreeSet<Read>,
    /// Why the bucket did not give one of the states out: it may import from anybody.
    pub withheld: Option<Refusal>,
    /// One of the states was given out and does not say what it imports; cdkd passes it over.
    pub odd: bool,
}

impl Reads {
    fn and(self, other: Reads) -> Reads {
        Reads {
            known: self.known.into_iter().chain(other.known).collect(),
            withheld: self.withheld.or(other.withheld),
            odd: self.odd || other.odd,
        }
    }
}

/// A read of another stack's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    /// The stack that is read.
    pub stack: String,
    /// Its region, trimmed and in lower case.
    pub region: String,
    /// An import, which refuses the other's teardown; a weak read only orders them.
    pub strong: bool,
}

/// When a stack is due, by its tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Due {
    /// No resource carries the tag.
    #[default]
    Untagged,
    /// At this instant, the latest of all that were found.
    At(Millis),
    /// At least one value is no date.
    Unreadable,
}

impl Due {
    /// Both have to be due.
    fn and(self, other: Due) -> Due {
        match (self, other) {
            (Due::Unreadable, _) | (_, Due::Unreadable) => Due::Unreadable,
            (Due::At(a), Due::At(b)) => Due::At(a.max(b)),
            (Due::Untagged, due) | (due, Due::Untagged) => due,
        }
    }

    fn of(doc: &StateDoc, tag: &str) -> Due {
        let values = doc.rows().flat_map(|row| row.tag_values(tag));
        values.fold(Due::Untagged, |due, value| due.and(Due::read(value.as_deref())))
    }

    /// From a tag's value: a date (due at its begin, UTC) or an instant with a zone.
    fn read(value: Option<&str>) -> Due {
        let Some(value) = value.map(str::trim) else { return Due::Unreadable };
        let date = Date::parse(value, format_description!("[year]-[month]-[day]")).map(|date| date.midnight().assume_utc());
        let instant = date.or_else(|_| OffsetDateTime::parse(value, &Rfc3339));
        let millis = instant.ok().and_then(|at| Millis::try_from(at.unix_timestamp_nanos() / 1_000_000).ok());
        millis.map_or(Due::Unreadable, Due::At)
    }
}

impl Seen {
    /// What a state's body says; `due_tag` is the key of the tag that carries a due date. A body that is broken elsewhere
    /// still tells whom it imports from.
    pub fn of(stack: String, region: Option<String>, body: &[u8], layout: Layout, due_tag: Option<&str>) -> Seen {
        let doc = StateDoc::parse(body, layout);
        let known = |known| Reads { known, ..Reads::default() };
        let reads = match &doc {
            Ok(doc) => known(Read::all(doc.imports(), true).chain(Read::all(doc.output_reads(), false)).collect()),
            Err(_) => match imports_of(body) {
                Ok(imports) => known(Read::all(imports, true).collect()),
                Err(_) => Reads { odd: true, ..Reads::default() },
            },
        };
        let facts = doc.map(|doc| Facts {
            nested: doc.parent().is_some(),
            last_modified: doc.last_modified(),
            due: due_tag.map_or(Due::Untagged, |tag| Due::of(&doc, tag)),
            exports: !doc.output_names().is_empty(),
        });
        Seen { stack, region, facts, reads }
    }

    fn last_modified(&self) -> Option<Millis> {
        self.facts.as_ref().ok().and_then(|facts| facts.last_modified)
    }

    /// A state that the bucket did not give out.
    pub fn unread(stack: String, region: Option<String>, why: Refusal) -> Seen {
        Seen { stack, region, facts: Err(why.clone()), reads: Reads { withheld: Some(why), ..Reads::default() } }
    }
}

impl Read {
    fn all(imports: Vec<Import>, strong: bool) -> impl Iterator<Item = Read> {
        imports.into_iter().map(move |i| Read { stack: i.source_stack, region: normal(&i.source_region), strong })
    }
}

/// A stack with everything nested in it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root stack.
    pub stack: String,
    /// Its region; empty when it is not known.
    pub region: String,
    /// What the tree's states say together, or why the root's cannot be read.
    pub facts: Result<Facts, Refusal>,
    /// What they read of other stacks.
    pub reads: Reads,
    /// When each of them was last written, by stack; `None` when it does not say so or cannot be read.
    pub written: BTreeMap<String, Option<Millis>>,
}

/// What a chosen stack's teardown will be like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    /// How many resources it has, nested stacks included.
    pub resources: usize,
    /// Into how many levels they fall.
    pub waves: usize,
    /// Typical seconds of the longest chain of deletes.
    pub seconds: u64,
}

/// Who was chosen in a place, in which order, and why the others were not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// [`RECORD_VERSION`] of the release that wrote it.
    pub record_version: u64,
    /// ARN of the sweep's execution: whose selection this is.
    pub execution: String,
    /// The chosen stacks, whoever reads values of others before them.
    pub chosen: Vec<Chosen>,
    /// Everyone else.
    pub left: Vec<Left>,
    /// What a person should know: reads in a circle, states that could not be read.
    pub warnings: Vec<String>,
}

/// A chosen stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chosen {
    /// The stack.
    pub stack: String,
    /// Its region.
    pub region: String,
    /// The group of stacks that are connected by reads.
    pub group: usize,
    /// 0 for those that nobody reads; else one more than the last reader's.
    pub level: usize,
    /// Numbers of the chosen stacks that read values of this one: they go first.
    pub after: Vec<usize>,
    /// When each state of its tree was last written, by stack: one that was written since is not what was chosen.
    pub written: BTreeMap<String, Option<Millis>>,
    /// What its teardown will be like.
    pub forecast: Forecast,
}

/// A stack that was not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The stack; display-safe.
    pub stack: String,
    /// Its region; display-safe, empty when it is not known.
    pub region: String,
    /// Why, for machines: [`Why`] or the name of an [`Ending`].
    pub code: String,
    /// Why, for people.
    pub reason: String,
}

/// Why a stack was not chosen, beside the refusals that a teardown would answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Neither listed nor matched.
    NotNamed,
    /// Matched by an exclusion.
    Excluded,
    /// In a region that was not asked for.
    OtherRegion,
    /// Its state was written too lately, or does not say when.
    TooYoung,
    /// It is not due, carries no due date, or one that cannot be read.
    NotDue,
    /// More were chosen than `limit`.
    OverLimit,
}

impl Left {
    fn new(tree: &Tree, code: &str, reason: &str) -> Left {
        Left {
            stack: text::display(&tree.stack),
            region: text::display(&tree.region),
            code: code.to_owned(),
            reason: text::cut(reason, 400),
        }
    }

    fn why(tree: &Tree, why: Why, reason: &str) -> Left {
        Left::new(tree, &format!("{why:?}"), reason)
    }

    fn refused(tree: &Tree, refusal: &Refusal) -> Left {
        Left::new(tree, refusal.ending.name(), &refusal.message)
    }
}

/// The trees of a listing, by name and region. A nested state whose root is not there is a tree of its own.
pub fn trees(seen: Vec<Seen>) -> Vec<Tree> {
    let roots: BTreeSet<(String, String)> =
        seen.iter().filter(|s| !s.stack.contains('~')).map(|s| (s.stack.clone(), s.region.clone().unwrap_or_default())).collect();
    let mut trees: BTreeMap<(String, String), Tree> = BTreeMap::new();
    let mut children = Vec::new();
    for seen in seen {
        let region = seen.region.clone().unwrap_or_default();
        let root = (root_of(&seen.stack).to_owned(), region.clone());
        if seen.stack.contains('~') && roots.contains(&root) {
            children.push((root, seen));
        } else {
            let key = (seen.stack.clone(), region.clone());
            let written = BTreeMap::from([(seen.stack.clone(), seen.last_modified())]);
            trees.insert(key, Tree { stack: seen.stack, region, facts: seen.facts, reads: seen.reads, written });
        }
    }
    for (root, child) in children {
        let Some(tree) = trees.get_mut(&root) else { continue };
        tree.written.insert(child.stack.clone(), child.last_modified());
        tree.reads = std::mem::take(&mut tree.reads).and(child.reads);
        // A child that cannot be read fails its row, not the tree.
        if let (Ok(tree), Ok(child)) = (&mut tree.facts, child.facts) {
            tree.last_modified = tree.last_modified.max(child.last_modified);
            tree.due = tree.due.and(child.due);
            tree.exports |= child.exports;
        }
    }
    trees.into_values().collect()
}

/// Numbers of the trees that meet every criterion, and everyone else with the first one that they do not meet.
pub fn pick(trees: &[Tree], select: &Select, now: Millis) -> (Vec<usize>, Vec<Left>) {
    let (names, exclude) = (glob_set(&select.names), glob_set(&select.exclude));
    let unnamed = select.stacks.is_empty() && select.names.is_empty();
    let (mut picked, mut left) = (Vec::new(), Vec::new());
    for (n, tree) in trees.iter().enumerate() {
        let named = unnamed || select.stacks.contains(&tree.stack) || names.is_match(&tree.stack);
        match judge(tree, select, named, exclude.is_match(&tree.stack), now) {
            Ok(()) => picked.push(n),
            Err(why) => left.push(why),
        }
    }
    for stack in select.stacks.iter().filter(|stack| !trees.iter().any(|tree| tree.stack == **stack)) {
        let (region, facts, written) = (String::new(), Ok(Facts::default()), BTreeMap::new());
        let tree = Tree { stack: stack.clone(), region, facts, reads: Reads::default(), written };
        left.push(Left::new(&tree, Ending::StackNotFound.name(), Ending::StackNotFound.meaning()));
    }
    (picked, left)
}

fn judge(tree: &Tree, select: &Select, named: bool, excluded: bool, now: Millis) -> Result<(), Left> {
    let why = |why, reason: &str| Err(Left::why(tree, why, reason));
    if !named {
        return why(Why::NotNamed, "neither `stacks` lists it nor `names` matches it");
    }
    if excluded {
        return why(Why::Excluded, "`exclude` matches it");
    }
    if !is_region(&tree.region) || !is_stack_name(&tree.stack) {
        let message =
            "its key is not that of a stack in a region; one whose state names no region is torn down by itself, with `region`";
        return Err(Left::refused(tree, &Refusal::new(Ending::InvalidRequest, message)));
    }
    if !select.regions.is_empty() && !select.regions.contains(&tree.region) {
        return why(Why::OtherRegion, "`regions` does not list its region");
    }
    let facts = tree.facts.as_ref().map_err(|refusal| Left::refused(tree, refusal))?;
    if let Some(why) = &tree.reads.withheld {
        return Err(Left::refused(tree, why));
    }
    if facts.nested || tree.stack.contains('~') {
        let refusal = Refusal::new(Ending::NestedChild, "it is nested in another stack, whose own state is not there");
        return Err(Left::refused(tree, &refusal));
    }
    if let Some(age) = select.older_than {
        match facts.last_modified {
            None => return why(Why::TooYoung, "its state does not say when it was written"),
            Some(at) if now.saturating_sub(at) < age.saturating_mul(1000) => {
                return why(Why::TooYoung, &format!("its state was written at {}, which is not long enough ago", text::iso(at)));
            }
            Some(_) => {}
        }
    }
    if let Some(tag) = &select.due_tag {
        match facts.due {
            Due::Untagged => return why(Why::NotDue, &format!("no resource carries the tag {tag}")),
            Due::Unreadable => return why(Why::NotDue, &format!("a value of the tag {tag} is no date such as 2026-11-30")),
            Due::At(at) if at > now => return why(Why::NotDue, &format!("it is due at {}", text::iso(at))),
            Due::At(_) => {}
        }
    }
    Ok(())
}

/// Puts the picked trees in order, without those that `judged` refuses, that import in a circle, that somebody imports
/// from who stays, or that come after `limit`.
pub fn settle(
    sweep: &Sweep,
    select: &Select,
    trees: &[Tree],
    judged: Vec<(usize, Result<Forecast, Refusal>)>,
    mut left: Vec<Left>,
) -> Selection {
    let mut forecasts: BTreeMap<usize, Forecast> = BTreeMap::new();
    for (n, verdict) in judged {
        match verdict {
            Ok(forecast) => drop(forecasts.insert(n, forecast)),
            Err(refusal) => left.push(Left::refused(&trees[n], &refusal)),
        }
    }
    let edges = edges(trees);
    let strong: Vec<Edge> = edges.iter().filter(|(_, strong)| *strong).map(|(edge, _)| *edge).collect();
    let mut warnings = unreadable(trees, &forecasts);

    // Stacks that import in a circle can only be freed by hand: each would be refused because of the other.
    for circle in order::circles(trees.len(), &among(&strong, &forecasts)) {
        let shown = names(trees, &circle);
        for n in circle {
            forecasts.remove(&n);
            let refusal = Refusal::new(Ending::CircularDependency, format!("these import from one another: {shown}"));
            left.push(Left::refused(&trees[n], &refusal));
        }
    }
    // Who was not given out may import from anybody who has something to give.
    if let Some(refusal) = withheld(trees) {
        let may_be_read = |n: &usize| trees[*n].facts.as_ref().is_ok_and(|facts| facts.exports);
        for n in forecasts.keys().copied().filter(may_be_read).collect::<Vec<usize>>() {
            forecasts.remove(&n);
            left.push(Left::refused(&trees[n], &refusal));
        }
    }
    // Whoever stays holds what it imports from, and so on.
    while let Some((importer, n)) = strong.iter().find(|(a, b)| !forecasts.contains_key(a) && forecasts.contains_key(b)) {
        forecasts.remove(n);
        let message = format!("{} in {} imports from it and stays", trees[*importer].stack, trees[*importer].region);
        left.push(Left::refused(&trees[*n], &Refusal::new(Ending::ActiveImports, message)));
    }

    // A weak read orders, unless it closes a circle.
    let all: Vec<Edge> = edges.iter().map(|(edge, _)| *edge).collect();
    let all = among(&all, &forecasts);
    let circles = order::circles(trees.len(), &all);
    warnings.extend(
        circles
            .iter()
            .map(|circle| format!("these read from one another, so weak reads do not order them: {}", names(trees, circle))),
    );
    let in_one = |(a, b): &Edge| circles.iter().any(|circle| circle.contains(a) && circle.contains(b));
    let strong: BTreeSet<Edge> = strong.into_iter().collect();
    let kept: Vec<Edge> = all.into_iter().filter(|edge| strong.contains(edge) || !in_one(edge)).collect();

    let age = |n: usize| trees[n].facts.as_ref().ok().and_then(|facts| facts.last_modified);
    let nodes: Vec<usize> = forecasts.keys().copied().collect();
    let mut in_order = order::sorted(&nodes, &kept, |n| (age(n), n));
    // Whoever is cut off comes after those that are kept, so nobody who stays imports from one that goes.
    for n in in_order.split_off(select.limit.unwrap_or(usize::MAX).min(in_order.len())) {
        left.push(Left::why(&trees[n], Why::OverLimit, "`limit` is reached"));
    }
    let place: BTreeMap<usize, usize> = in_order.iter().enumerate().map(|(at, n)| (*n, at)).collect();
    let after = |n: usize| {
        let readers = kept.iter().filter(move |(_, b)| *b == n).filter_map(|(a, _)| place.get(a).copied());
        readers.collect::<BTreeSet<usize>>().into_iter().collect::<Vec<usize>>()
    };
    let after: Vec<Vec<usize>> = in_order.iter().map(|n| after(*n)).collect();
    let groups = order::groups(&after);
    let levels = order::levels(&after);
    let chosen = in_order.iter().zip(after).enumerate().map(|(at, (n, after))| Chosen {
        stack: trees[*n].stack.clone(),
        region: trees[*n].region.clone(),
        group: groups[at],
        level: levels[at],
        after,
        written: trees[*n].written.clone(),
        forecast: forecasts.get(n).copied().unwrap_or_default(),
    });
    let chosen = chosen.collect();
    left.sort_by(|a, b| (&a.stack, &a.region).cmp(&(&b.stack, &b.region)));
    Selection { record_version: RECORD_VERSION, execution: sweep.execution.clone(), chosen, left, warnings }
}

impl Selection {
    /// How many groups of connected stacks there are.
    pub fn groups(&self) -> usize {
        self.chosen.iter().map(|chosen| chosen.group + 1).max().unwrap_or(0)
    }
}

/// Who reads whom, and whether the read is an import: the reader goes first.
fn edges(trees: &[Tree]) -> Vec<(Edge, bool)> {
    let by_name: BTreeMap<(&str, String), usize> =
        trees.iter().enumerate().map(|(n, tree)| ((tree.stack.as_str(), normal(&tree.region)), n)).collect();
    let mut strongest: BTreeMap<Edge, bool> = BTreeMap::new();
    for (reader, tree) in trees.iter().enumerate() {
        for read in &tree.reads.known {
            let named = |stack: &str| by_name.get(&(stack, read.region.clone())).copied();
            // A value of a nested stack is a value of its tree.
            let Some(source) = named(&read.stack).or_else(|| named(root_of(&read.stack))) else { continue };
            if source != reader {
                *strongest.entry((reader, source)).or_default() |= read.strong;
            }
        }
    }
    strongest.into_iter().collect()
}

fn among(edges: &[Edge], nodes: &BTreeMap<usize, Forecast>) -> Vec<Edge> {
    edges.iter().copied().filter(|(a, b)| nodes.contains_key(a) && nodes.contains_key(b)).collect()
}

/// The refusal of those that may be imported from by a stack that the bucket did not give out.
fn withheld(trees: &[Tree]) -> Option<Refusal> {
    let mut withheld = trees.iter().filter_map(|tree| Some((tree, tree.reads.withheld.as_ref()?)));
    let (tree, why) = withheld.next()?;
    let region = if tree.region.is_empty() { "a region that it does not tell" } else { &tree.region };
    let more = match withheld.count() {
        0 => String::new(),
        more => format!(" or one of {more} more"),
    };
    Some(importers::not_known(&format!("{} in {region}{more} imports from it", tree.stack), why))
}

/// Stacks that stay and do not say what they import.
fn unreadable(trees: &[Tree], chosen: &BTreeMap<usize, Forecast>) -> Vec<String> {
    let unread = trees.iter().enumerate().filter(|(n, tree)| tree.reads.odd && !chosen.contains_key(n));
    let says = |tree: &Tree| {
        format!(
            "{} in {} could not be read, so what it imports is not known",
            text::display(&tree.stack),
            text::display(&tree.region)
        )
    };
    unread.take(20).map(|(_, tree)| says(tree)).collect()
}

fn names(trees: &[Tree], of: &[usize]) -> String {
    let shown: Vec<String> =
        of.iter().take(12).map(|n| format!("{} in {}", text::display(&trees[*n].stack), trees[*n].region)).collect();
    shown.join(", ")
}

fn root_of(stack: &str) -> &str {
    stack.split('~').next().unwrap_or(stack)
}

/// Regions of reads are compared trimmed and in lower case (cdkd).
fn normal(region: &str) -> String {
    region.trim().to_lowercase()
}

#[cfg(test)]
mod tests;
