//! Who goes before whom among stacks: an edge is a reader and the stack that it reads, and readers go first.

use std::collections::{BTreeMap, BTreeSet};

/// `(reader, source)`: the reader goes before the source.
pub type Edge = (usize, usize);

/// The sets of nodes that can all be reached from one another, each with more than one member, by their first one.
pub fn circles(nodes: usize, edges: &[Edge]) -> Vec<Vec<usize>> {
    let mut forth = vec![Vec::new(); nodes];
    let mut back = vec![Vec::new(); nodes];
    for &(a, b) in edges {
        forth[a].push(b);
        back[b].push(a);
    }
    // Kosaraju: in the reverse order of finishing, whoever reaches a node backwards is in its circle.
    let mut seen = vec![false; nodes];
    let mut finished = Vec::with_capacity(nodes);
    for start in 0..nodes {
        walk(start, &forth, &mut seen, &mut finished);
    }
    let mut seen = vec![false; nodes];
    let mut circles = Vec::new();
    for &start in finished.iter().rev() {
        let mut circle = Vec::new();
        walk(start, &back, &mut seen, &mut circle);
        if circle.len() > 1 {
            circle.sort_unstable();
            circles.push(circle);
        }
    }
    circles.sort_unstable();
    circles
}

/// Depth first from `start`; appends nodes as they are finished.
fn walk(start: usize, next: &[Vec<usize>], seen: &mut [bool], finished: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((node, at)) = path.last_mut() {
        match next[*node].get(*at) {
            Some(&child) => {
                *at += 1;
                if !std::mem::replace(&mut seen[child], true) {
                    path.push((child, 0));
                }
            }
            None => {
                finished.push(*node);
                path.pop();
            }
        }
    }
}

/// The nodes in an order that every edge holds in; among those that are free the smallest key first. Nodes of a circle
/// are left out: callers have opened them.
pub fn sorted<K: Ord>(nodes: &[usize], edges: &[Edge], key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut before: BTreeMap<usize, usize> = nodes.iter().map(|n| (*n, 0)).collect();
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (a, b) in edges {
        if let Some(count) = before.get_mut(b) {
            *count += 1;
            next.entry(*a).or_default().push(*b);
        }
    }
    let mut free: BTreeSet<(K, usize)> = before.iter().filter(|(_, count)| **count == 0).map(|(n, _)| (key(*n), *n)).collect();
    let mut sorted = Vec::with_capacity(nodes.len());
    while let Some((_, node)) = free.pop_first() {
        sorted.push(node);
        for source in next.get(&node).into_iter().flatten() {
            if let Some(count) = before.get_mut(source) {
                *count -= 1;
                if *count == 0 {
                    free.insert((key(*source), *source));
                }
            }
        }
    }
    sorted
}

/// The number of each node's group: nodes that edges connect, whichever way. `after` lists earlier nodes only.
pub fn groups(after: &[Vec<usize>]) -> Vec<usize> {
    fn root(parent: &mut [usize], mut node: usize) -> usize {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    }
    let mut parent: Vec<usize> = (0..after.len()).collect();
    for (node, readers) in after.iter().enumerate() {
        for &reader in readers {
            let (a, b) = (root(&mut parent, node), root(&mut parent, reader));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut numbers = BTreeMap::new();
    (0..after.len())
        .map(|node| {
            let root = root(&mut parent, node);
            let next = numbers.len();
            *numbers.entry(root).or_insert(next)
        })
        .collect()
}

/// 0 for nodes that come after none, else one more than the last they come after. `after` lists earlier nodes only.
pub fn levels(after: &[Vec<usize>]) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(after.len());
    for readers in after {
        levels.push(readers.iter().map(|reader| levels[*reader] + 1).max().unwrap_or(0));
    }
    levels
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn circles_are_named_once_and_chains_are_none() {
        assert_eq!(circles(3, &[(0, 1), (1, 2)]), Vec::<Vec<usize>>::new());
        assert_eq!(circles(6, &[(0, 1), (1, 0), (1, 2), (3, 4), (4, 5), (5, 3)]), [vec![0, 1], vec![3, 4, 5]]);
        // Longer than any call stack.
        let long: Vec<Edge> = (0..200_000).map(|n| (n, (n + 1) % 200_000)).collect();
        assert_eq!(circles(200_000, &long)[0].len(), 200_000);
    }

    #[test]
    fn readers_go_first_and_the_smallest_key_among_the_free() {
        assert_eq!(sorted(&[0, 1, 2, 3], &[(3, 0), (2, 1)], |n| n), [2, 1, 3, 0]);
        assert_eq!(sorted(&[1, 3], &[(3, 0), (2, 1)], |n| n).len(), 1, "an edge from outside holds");
    }

    #[test]
    fn groups_are_what_hangs_together_and_levels_what_waits() {
        let after = [vec![], vec![], vec![0, 1], vec![], vec![2], vec![3]];
        assert_eq!(groups(&after), [0, 0, 0, 1, 0, 1]);
        assert_eq!(levels(&after), [0, 0, 1, 0, 2, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn without_circles_every_edge_holds_in_the_order(edges in prop::collection::vec((0usize..20, 0usize..20), 0..60)) {
            // Against the numbers there are no circles.
            let edges: Vec<Edge> = edges.into_iter().filter(|(a, b)| a > b).collect();
            prop_assert!(circles(20, &edges).is_empty());
            let order = sorted(&(0..20).collect::<Vec<_>>(), &edges, |n| n);
            prop_assert_eq!(order.len(), 20);
            let at = |n: usize| order.iter().position(|m| *m == n);
            for (a, b) in edges {
                prop_assert!(at(a) < at(b));
            }
        }

        #[test]
        fn a_graph_is_sorted_whole_exactly_when_it_has_no_circle(edges in prop::collection::vec((0usize..12, 0usize..12), 0..30)) {
            let edges: Vec<Edge> = edges.into_iter().filter(|(a, b)| a != b).collect();
            let whole = sorted(&(0..12).collect::<Vec<_>>(), &edges, |n| n).len() == 12;
            prop_assert_eq!(whole, circles(12, &edges).is_empty());
        }
    }
}
