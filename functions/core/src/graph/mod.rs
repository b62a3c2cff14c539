//! What has to go before what. A row that needs another one is deleted before it. Recorded edges come first and always
//! win; edges that Ebb adds (type rules, computed edges, compensations) never close a cycle.

mod computed;
pub(crate) use computed::is_custom;
mod order;
mod references;
mod rules;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::ending::{Ending, Refusal};
use crate::state::Row;
use crate::text;
use order::Order;

/// A row of a stack, as a node of the run's graph.
#[derive(Debug, Clone)]
pub struct Node {
    /// `stack/LogicalId`.
    pub id: String,
    /// The stack that records it.
    pub stack: String,
    /// The row.
    pub row: Row,
}

/// The nodes of a run and who needs whom.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    /// `needs[a]` holds every `b` that must outlive `a`.
    needs: Vec<Vec<usize>>,
    needed_by: Vec<Vec<usize>>,
    order: Order,
    /// What a person should know about the edges.
    pub warnings: Vec<String>,
}

/// An edge: `earlier` is deleted before `later`.
type Edge = (usize, usize);

impl Graph {
    /// The graph of a stack and its nested ones. Fails on a cycle of recorded edges, naming it.
    pub fn build(nodes: Vec<Node>) -> Result<Graph, Refusal> {
        let mut warnings = Vec::new();
        let index = Index::of(&nodes);

        let mut edges = Edges::new(nodes.len());
        for edge in index.recorded(&nodes, &mut warnings) {
            edges.add(edge);
        }
        let order = Order::of(&edges.needs, &edges.needed_by).map_err(|cycle| {
            let names: Vec<String> = cycle.iter().map(|&i| text::display(&nodes[i].id)).collect();
            let shown = names.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(" -> ");
            let message = format!("Circular dependency detected: {shown} -> {}", names.first().map_or("", String::as_str));
            Refusal::new(Ending::CircularDependency, message)
        })?;

        let mut graph = Graph { needs: edges.needs, needed_by: edges.needed_by, order, warnings, nodes };
        let type_rules = rules::edges(&graph.nodes, &index);
        let computed = computed::edges(&graph.nodes, &index);
        graph.add_implicit(type_rules, &mut edges.known);
        graph.add_implicit(computed, &mut edges.known);
        Ok(graph)
    }

    /// Adds edges in (later, earlier) order of their ids; one that would close a cycle is left out with a warning.
    fn add_implicit(&mut self, mut implicit: Vec<Edge>, known: &mut HashSet<Edge>) {
        implicit.sort_by(|a, b| {
            let key = |e: &Edge| (&self.nodes[e.1].id, &self.nodes[e.0].id);
            key(a).cmp(&key(b))
        });
        for (earlier, later) in implicit {
            if earlier == later || known.contains(&(earlier, later)) {
                continue;
            }
            if self.order.admit(earlier, later, &self.needs, &self.needed_by) {
                known.insert((earlier, later));
                self.needs[earlier].push(later);
                self.needed_by[later].push(earlier);
            } else {
                let name = |i: usize| text::display(&self.nodes[i].id);
                self.warnings.push(format!(
                    "the rule that {} goes before {} would close a cycle of recorded dependencies and is left out",
                    name(earlier),
                    name(later)
                ));
            }
        }
    }

    /// The nodes, in the order they were given.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// What must outlive the node.
    pub fn needs(&self, node: usize) -> &[usize] {
        &self.needs[node]
    }

    /// What must be gone before the node.
    pub fn needed_by(&self, node: usize) -> &[usize] {
        &self.needed_by[node]
    }

    /// Every node after all that need it.
    pub fn in_order(&self) -> &[usize] {
        self.order.nodes()
    }

    /// All edges by id, `(earlier, later)`, sorted: for tests and golden files.
    pub fn edges(&self) -> Vec<(&str, &str)> {
        let mut all: Vec<(&str, &str)> = (0..self.nodes.len())
            .flat_map(|a| self.needs[a].iter().map(move |&b| (self.nodes[a].id.as_str(), self.nodes[b].id.as_str())))
            .collect();
        all.sort_unstable();
        all
    }

    /// cdkd's levels: a wave each, dependents first, every wave waiting for the one before. For comparison.
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let mut level = vec![0usize; self.nodes.len()];
        for &node in self.in_order().iter().rev() {
            level[node] = self.needs[node].iter().map(|&n| level[n] + 1).max().unwrap_or(0);
        }
        let depth = level.iter().max().map_or(0, |m| m + 1);
        let mut waves = vec![Vec::new(); depth];
        for (node, &l) in level.iter().enumerate() {
            waves[depth - 1 - l].push(node);
        }
        waves
    }
}

/// Adjacency under construction.
struct Edges {
    needs: Vec<Vec<usize>>,
    needed_by: Vec<Vec<usize>>,
    known: HashSet<Edge>,
}

impl Edges {
    fn new(nodes: usize) -> Self {
        Edges { needs: vec![Vec::new(); nodes], needed_by: vec![Vec::new(); nodes], known: HashSet::new() }
    }

    fn add(&mut self, (earlier, later): Edge) {
        if self.known.insert((earlier, later)) {
            self.needs[earlier].push(later);
            self.needed_by[later].push(earlier);
        }
    }
}

/// Finding rows by what others call them.
pub(crate) struct Index {
    /// stack → logical id → node.
    by_logical: HashMap<String, HashMap<String, usize>>,
    /// stack → type → nodes.
    by_type: HashMap<String, HashMap<String, Vec<usize>>>,
}

impl Index {
    fn of(nodes: &[Node]) -> Self {
        let mut index = Index { by_logical: HashMap::new(), by_type: HashMap::new() };
        for (i, node) in nodes.iter().enumerate() {
            index.by_logical.entry(node.stack.clone()).or_default().insert(node.row.logical_id.clone(), i);
            index.by_type.entry(node.stack.clone()).or_default().entry(node.row.resource_type.clone()).or_default().push(i);
        }
        index
    }

    /// The row of that name in that stack.
    pub(crate) fn logical(&self, stack: &str, logical_id: &str) -> Option<usize> {
        self.by_logical.get(stack)?.get(logical_id).copied()
    }

    /// The rows of a type in a stack.
    pub(crate) fn of_type(&self, stack: &str, resource_type: &str) -> &[usize] {
        self.by_type.get(stack).and_then(|types| types.get(resource_type)).map_or(&[], Vec::as_slice)
    }

    /// All rows of a stack, in the order they were given.
    pub(crate) fn members(&self, stack: &str) -> Vec<usize> {
        let mut members: Vec<usize> = self.by_type.get(stack).into_iter().flat_map(HashMap::values).flatten().copied().collect();
        members.sort_unstable();
        members
    }

    /// The stacks.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = &str> {
        self.by_type.keys().map(String::as_str)
    }

    /// `dependencies`, intrinsics that were left in properties, and the nesting of stacks.
    fn recorded(&self, nodes: &[Node], warnings: &mut Vec<String>) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            for wanted in &node.row.dependencies {
                match self.logical(&node.stack, wanted) {
                    Some(j) if j == i => warnings.push(format!("{} depends on itself; ignored", text::display(&node.id))),
                    Some(j) => edges.push((i, j)),
                    None => warnings.push(format!(
                        "{} depends on {}, which is not in the stack any more; ignored",
                        text::display(&node.id),
                        text::display(wanted)
                    )),
                }
            }
            for wanted in references::intrinsics(&node.row.properties) {
                edges.extend(self.logical(&node.stack, &wanted).filter(|&j| j != i).map(|j| (i, j)));
            }
        }
        self.nest(nodes, &mut edges);
        edges
    }

    /// A nested stack's rows go after everything that needs the nested row, and before the nested row itself.
    fn nest(&self, nodes: &[Node], edges: &mut Vec<Edge>) {
        let mut needed_in_stack: HashSet<usize> = HashSet::new();
        // Who needs a nested row; grows while the levels above hand their users down.
        let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
        for &(a, b) in edges.iter() {
            if nodes[a].stack == nodes[b].stack {
                needed_in_stack.insert(b);
            }
            if nodes[b].row.is_nested_stack() {
                users.entry(b).or_default().push(a);
            }
        }
        let mut rows: Vec<usize> = (0..nodes.len()).filter(|&n| nodes[n].row.is_nested_stack()).collect();
        rows.sort_by_key(|&n| nodes[n].stack.matches('~').count());
        for row in rows {
            let node = &nodes[row];
            let Some(children) = self.by_logical.get(&format!("{}~{}", node.stack, node.row.logical_id)) else { continue };
            let mut children: Vec<usize> = children.values().copied().collect();
            children.sort_unstable();
            let above = users.get(&row).cloned().unwrap_or_default();
            for &child in &children {
                edges.push((child, row));
                // The others follow their siblings that need them.
                if !needed_in_stack.contains(&child) {
                    edges.extend(above.iter().map(|&user| (user, child)));
                    if nodes[child].row.is_nested_stack() {
                        users.entry(child).or_default().extend(&above);
                    }
                }
            }
        }
    }
}
