//! When to look again, and what to do first: weights from the catalogue, longest remaining path first.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Millis;
use crate::catalogue::{self, Entry};
use crate::graph::Graph;
use crate::state::Policy;

/// Looks are never closer than this, nor further apart than [`LONGEST`].
const SHORTEST: Millis = 1_000;
const LONGEST: Millis = 120_000;

/// How long until the next look is worth it, in milliseconds: what the step asked for, at least a tenth of what has
/// passed (1 s to 120 s), jittered by a tenth so that looks do not march in step. A step that asks for no wait at all (more
/// pages to empty) gets none.
pub fn look_again(id: &str, step: u64, elapsed: Millis, asked: Option<Millis>, known: &Entry) -> Millis {
    let spaced = (elapsed / 10).clamp(SHORTEST, LONGEST);
    let wait = match asked {
        Some(0) => return 0,
        Some(asked) => asked.max(spaced),
        None if elapsed < (known.p50_s * 1000.0) as Millis => ((known.p50_s * 1000.0) as Millis - elapsed).max(spaced),
        None => spaced,
    };
    let mut hasher = DefaultHasher::new();
    (id, step).hash(&mut hasher);
    wait - wait / 20 + hasher.finish() % (wait / 10).max(1)
}

/// For each node, the typical seconds from its start until the last resource that it holds up is gone.
#[derive(Debug)]
pub struct Weights {
    remaining: Vec<f64>,
}

impl Weights {
    /// The remaining paths of a graph.
    pub fn of(graph: &Graph) -> Self {
        let mut remaining = vec![0.0; graph.nodes().len()];
        for &node in graph.in_order().iter().rev() {
            let behind = graph.needs(node).iter().map(|&n| remaining[n]).fold(0.0, f64::max);
            remaining[node] = behind + own(graph, node);
        }
        Weights { remaining }
    }

    /// Seconds of the longest chain of the graph.
    pub fn longest(&self) -> f64 {
        self.remaining.iter().copied().fold(0.0, f64::max)
    }

    /// Longest remaining path first; equal ones by id, so that a plan is the same every time.
    pub fn sort(&self, nodes: &mut [(usize, &str)]) {
        nodes.sort_by(|a, b| self.remaining[b.0].total_cmp(&self.remaining[a.0]).then_with(|| a.1.cmp(b.1)));
    }
}

fn own(graph: &Graph, node: usize) -> f64 {
    let row = &graph.nodes()[node].row;
    if row.policy() == Policy::Retain || row.is_nested_stack() {
        return 0.0;
    }
    catalogue::lookup(&row.resource_type, row.properties.contains_key("VpcConfig")).p50_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_spread_out_with_what_has_passed() {
        let known = catalogue::lookup("AWS::SQS::Queue", false);
        let near = |wait: Millis, want: Millis| wait.abs_diff(want) <= want / 20;
        assert_eq!(look_again("a", 1, 5_000, Some(0), &known), 0);
        assert!(near(look_again("a", 1, 5_000, Some(3_000), &known), 3_000));
        assert!(near(look_again("a", 1, 100_000, Some(3_000), &known), 10_000));
        assert!(near(look_again("a", 1, 100_000_000, None, &known), 120_000));
    }

    #[test]
    fn the_first_look_without_advice_is_when_it_is_likely_done() {
        let nat = catalogue::lookup("AWS::EC2::NatGateway", false);
        let first = look_again("a", 1, 0, None, &nat);
        assert!(first.abs_diff(90_000) <= 4_500, "{first}");
    }
}
