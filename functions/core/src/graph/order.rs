//! A topological order that is kept while edges come in (Pearce and Kelly, 2006): an edge that fits the order costs
//! nothing, another one reorders only what lies between its ends, and one that would close a cycle is told apart.

/// Positions of nodes such that whatever needs a node stands before it.
#[derive(Debug)]
pub(super) struct Order {
    at: Vec<usize>,
    position: Vec<usize>,
}

impl Order {
    /// The order of a graph, stable by index; or one of its cycles.
    pub(super) fn of(needs: &[Vec<usize>], needed_by: &[Vec<usize>]) -> Result<Order, Vec<usize>> {
        let mut waiting: Vec<usize> = needed_by.iter().map(Vec::len).collect();
        let mut at: Vec<usize> = (0..needs.len()).filter(|&n| waiting[n] == 0).collect();
        let mut next = 0;
        while next < at.len() {
            for &later in &needs[at[next]] {
                waiting[later] -= 1;
                if waiting[later] == 0 {
                    at.push(later);
                }
            }
            next += 1;
        }
        if at.len() < needs.len() {
            return Err(cycle(needed_by, &waiting));
        }
        let mut position = vec![0; at.len()];
        for (place, &node) in at.iter().enumerate() {
            position[node] = place;
        }
        Ok(Order { at, position })
    }

    pub(super) fn nodes(&self) -> &[usize] {
        &self.at
    }

    /// Makes room for the edge `earlier → later`; `false` when it would close a cycle, and then nothing changes.
    pub(super) fn admit(&mut self, earlier: usize, later: usize, needs: &[Vec<usize>], needed_by: &[Vec<usize>]) -> bool {
        let (low, high) = (self.position[later], self.position[earlier]);
        if high < low {
            return true;
        }
        // What `later` reaches within the region must move behind what reaches `earlier`.
        let Some(mut behind) = self.reach(later, needs, |p| p <= high, earlier) else { return false };
        let mut ahead = self.reach(earlier, needed_by, |p| p >= low, usize::MAX).unwrap_or_default();
        behind.sort_unstable_by_key(|&n| self.position[n]);
        ahead.sort_unstable_by_key(|&n| self.position[n]);
        let moved: Vec<usize> = ahead.into_iter().chain(behind).collect();
        let mut places: Vec<usize> = moved.iter().map(|&n| self.position[n]).collect();
        places.sort_unstable();
        for (node, place) in moved.into_iter().zip(places) {
            self.at[place] = node;
            self.position[node] = place;
        }
        true
    }

    /// The nodes that `start` reaches inside the region, itself included; `None` when `forbidden` is one of them.
    fn reach(&self, start: usize, next: &[Vec<usize>], inside: impl Fn(usize) -> bool, forbidden: usize) -> Option<Vec<usize>> {
        let mut found = vec![start];
        let mut seen = std::collections::HashSet::from([start]);
        let mut i = 0;
        while i < found.len() {
            for &n in &next[found[i]] {
                if n == forbidden {
                    return None;
                }
                if inside(self.position[n]) && seen.insert(n) {
                    found.push(n);
                }
            }
            i += 1;
        }
        Some(found)
    }
}

/// One cycle among the nodes that still wait: go back along who needs whom until a node comes again.
fn cycle(needed_by: &[Vec<usize>], waiting: &[usize]) -> Vec<usize> {
    let Some(start) = waiting.iter().position(|&w| w > 0) else { return Vec::new() };
    let mut path = vec![start];
    let mut seen_at = vec![usize::MAX; waiting.len()];
    let mut node = start;
    loop {
        seen_at[node] = path.len() - 1;
        let Some(&back) = needed_by[node].iter().find(|&&n| waiting[n] > 0) else { return path };
        if seen_at[back] != usize::MAX {
            let mut cycle = path.split_off(seen_at[back]);
            cycle.reverse();
            return cycle;
        }
        path.push(back);
        node = back;
    }
}

#[cfg(test)]
mod tests {
    use super::Order;
    use proptest::prelude::*;

    fn graph(nodes: usize, edges: &[(usize, usize)]) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let (mut needs, mut needed_by) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for &(a, b) in edges {
            needs[a].push(b);
            needed_by[b].push(a);
        }
        (needs, needed_by)
    }

    fn reaches(needs: &[Vec<usize>], from: usize, to: usize) -> bool {
        let (mut stack, mut seen) = (vec![from], vec![false; needs.len()]);
        while let Some(n) = stack.pop() {
            if n == to {
                return true;
            }
            if !std::mem::replace(&mut seen[n], true) {
                stack.extend(&needs[n]);
            }
        }
        false
    }

    #[test]
    fn a_cycle_is_named_in_the_direction_of_need() {
        let (needs, needed_by) = graph(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        let cycle = Order::of(&needs, &needed_by).unwrap_err();
        assert_eq!(cycle.len(), 2);
        for (i, &a) in cycle.iter().enumerate() {
            assert!(needs[a].contains(&cycle[(i + 1) % cycle.len()]), "{cycle:?}");
        }
    }

    proptest! {
        /// An edge is refused exactly when its reverse is already implied, and the order always fits every edge.
        #[test]
        fn admits_what_closes_no_cycle(edges in proptest::collection::vec((0usize..12, 0usize..12), 0..60)) {
            let (mut needs, mut needed_by) = graph(12, &[]);
            let mut order = Order::of(&needs, &needed_by).unwrap();
            for (a, b) in edges.into_iter().filter(|(a, b)| a != b) {
                let closes = reaches(&needs, b, a);
                prop_assert_eq!(order.admit(a, b, &needs, &needed_by), !closes);
                if !closes {
                    needs[a].push(b);
                    needed_by[b].push(a);
                }
                for (n, later) in needs.iter().enumerate() {
                    prop_assert!(later.iter().all(|&l| order.position[n] < order.position[l]));
                }
            }
        }
    }
}
