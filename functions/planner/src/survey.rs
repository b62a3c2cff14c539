//! Reading a stack and the stacks nested in it, with every refusal that comes before the first delete. Check does it
//! before the lock, the first plan again under it.

use std::collections::BTreeMap;

use ebb_core::rails::Rails;
use ebb_core::state::{Policy, RegionNote, Row};
use ebb_core::{Ending, Graph, Node, Refusal, Run, text};
use ebb_store::state_file::{self, StateFile};
use ebb_store::{Bucket, find_consumers};

/// How deep stacks nest (CloudFormation's own templates rarely pass two).
const MAX_DEPTH: usize = 5;

/// A stack and its nested ones, fit to be torn down.
#[derive(Debug)]
pub(crate) struct Survey {
    /// State files by stack.
    pub(crate) files: BTreeMap<String, StateFile>,
    /// Who goes before whom.
    pub(crate) graph: Graph,
    /// Nested rows whose own state cannot be used: they fail, their children are not touched.
    pub(crate) broken: Vec<(String, Refusal)>,
    /// `stack/LogicalId` of orphans.
    pub(crate) orphans: Vec<String>,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
}

/// `None` when there is no state. `region_given` says whether the request named the region: a record without one may be
/// deleted only where a person said it lives.
pub(crate) async fn survey(bucket: &dyn Bucket, run: &Run, rails: &Rails, region_given: bool) -> Result<Option<Survey>, Refusal> {
    let Some(mut survey) = tree(bucket, run, rails, region_given).await? else { return Ok(None) };
    refuse_imported(bucket, run, &survey.files, &mut survey.warnings).await?;
    Ok(Some(survey))
}

/// The same without a look at who imports from it: a sweep has read everybody's imports already.
pub(crate) async fn tree(bucket: &dyn Bucket, run: &Run, rails: &Rails, region_given: bool) -> Result<Option<Survey>, Refusal> {
    let Some(root) = state_file::read(bucket, &run.key()).await? else { return Ok(None) };
    run.refuse_fresh(root.doc.last_modified())?;
    if root.doc.check_region(&run.region)? == RegionNote::Regionless && !region_given {
        let message = "the state names no region; say with `region` where the stack lives, or not-found answers would empty it";
        return Err(Refusal::new(Ending::InvalidRequest, message));
    }
    root.doc.refuse_nested(run.options.allow_nested_child)?;
    rails.admits_stack(&run.stack)?;
    rails.admits_region(&run.region)?;

    let mut broken = Vec::new();
    let mut files = BTreeMap::from([(run.stack.clone(), root)]);
    nested(bucket, run, rails, &mut files, &mut broken).await?;
    let docs: Vec<_> = files.values().map(|file| &file.doc).collect();
    rails.admits_state(&docs)?;

    let nodes = Node::all(files.iter().map(|(stack, file)| (stack.as_str(), &file.doc)));
    refuse_own(&nodes, run, rails)?;
    let orphans = files
        .iter()
        .flat_map(|(stack, file)| file.doc.orphans().iter().map(move |id| format!("{stack}/{}", text::display(id))))
        .collect();
    let graph = Graph::build(nodes)?;
    Ok(Some(Survey { files, graph, broken, orphans, warnings: Vec::new() }))
}

/// Nested stacks' states, level by level. A child without state is done; a child whose state cannot be used fails its row.
async fn nested(
    bucket: &dyn Bucket,
    run: &Run,
    rails: &Rails,
    files: &mut BTreeMap<String, StateFile>,
    broken: &mut Vec<(String, Refusal)>,
) -> Result<(), Refusal> {
    let mut level = vec![run.stack.clone()];
    for depth in 0.. {
        let mut rows = Vec::new();
        for stack in &level {
            let children = files.get(stack).into_iter().flat_map(|file| file.doc.rows());
            // What stays is not taken apart, nor what has a policy that is not known.
            let goes = |row: &Row| matches!(row.policy(), Policy::Delete | Policy::Snapshot);
            let children = children.filter(|row| row.is_nested_stack() && goes(row));
            rows.extend(children.map(|row| (stack.clone(), row.logical_id)));
        }
        if rows.is_empty() {
            return Ok(());
        }
        if depth == MAX_DEPTH {
            let message = format!("stacks are nested more than {MAX_DEPTH} deep under {}", text::display(&run.stack));
            return Err(Refusal::new(Ending::MalformedState, message));
        }
        level.clear();
        for (parent, logical_id) in rows {
            let child = format!("{parent}~{logical_id}");
            let key = run.key().sibling(&child);
            let file = match state_file::read(bucket, &key).await {
                Ok(None) => continue,
                Ok(Some(file)) => file.doc.check_region(&run.region).map(|_| file),
                Err(refusal) => Err(refusal),
            };
            match file {
                Ok(file) => {
                    rails.admits_stack(&child)?;
                    files.insert(child.clone(), file);
                    level.push(child);
                }
                Err(refusal) if is_about_the_record(refusal.ending) => broken.push((format!("{parent}/{logical_id}"), refusal)),
                Err(refusal) => return Err(refusal),
            }
        }
    }
    Ok(())
}

/// Whether a state cannot be used for what it says, not because it was not given out.
pub(crate) fn is_about_the_record(ending: Ending) -> bool {
    matches!(ending, Ending::MalformedState | Ending::UnsupportedVersion | Ending::RegionMismatch)
}

/// A run never deletes what it runs on.
fn refuse_own(nodes: &[Node], run: &Run, rails: &Rails) -> Result<(), Refusal> {
    let own = rails.own(&run.bucket, run.target.as_ref().map(|target| target.role_arn.as_str()));
    for node in nodes {
        if let Some(reason) = own.reason(&node.row) {
            let message = format!("{} is {reason}: a run never deletes what it runs on", text::display(&node.id));
            return Err(Refusal::new(Ending::Refused, message));
        }
    }
    Ok(())
}

/// A stack whose exports others import is not torn down; there is no switch to force it (cdkd).
async fn refuse_imported(
    bucket: &dyn Bucket,
    run: &Run,
    files: &BTreeMap<String, StateFile>,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal> {
    for (stack, file) in files.iter().filter(|(_, file)| !file.doc.output_names().is_empty()) {
        let found = find_consumers(bucket, &file.key).await?;
        warnings.extend(found.warnings);
        let outside: Vec<String> = found
            .consumers
            .iter()
            .filter(|consumer| !(consumer.region == run.region && files.contains_key(&consumer.stack)))
            .map(|consumer| format!("{} in {} imports {}", consumer.stack, consumer.region, consumer.export))
            .collect();
        if !outside.is_empty() {
            let message = format!("{} is imported: {}", text::display(stack), outside.join("; "));
            return Err(Refusal::new(Ending::ActiveImports, message));
        }
    }
    Ok(())
}
