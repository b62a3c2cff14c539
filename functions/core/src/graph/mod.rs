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
use crate::state::{Row, StateDoc};
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

impl Node {
    /// A row of a stack.
    pub fn new(stack: &str, row: Row) -> Node {
        Node { id: [stack, "/", &row.logical_id].concat(), stack: stack.to_owned(), row }
    }

    /// The rows of stacks' states, in their order.
    pub fn all<'a>(states: impl IntoIterator<Item = (&'a str, &'a StateDoc)>) -> Vec<Node> {
        let states: Vec<_> = states.into_iter().collect();
        let mut nodes = Vec::with_capacity(states.iter().map(|(_, state)| state.resource_count()).sum());
        for (stack, state) in states {
            nodes.extend(state.rows().map(|row| Node::new(stack, row)));
        }
        nodes
    }
}

/// The nodes of a run and who needs whom.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Nodes sorted by their ids.
    by_id: Vec<usize>,
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
        let mut by_id: Vec<usize> = (0..nodes.len()).collect();
        by_id.sort_by(|&a, &b| nodes[a].id.cmp(&nodes[b].id));
        let (mut warnings, index) = (Vec::new(), Index::of(&nodes));

        let (mut needs, mut needed_by) = (vec![Vec::new(); nodes.len()], vec![Vec::new(); nodes.len()]);
        for (earlier, later) in distinct(index.recorded(&nodes, &mut warnings)) {
            needs[earlier].push(later);
            needed_by[later].push(earlier);
        }
        let order = Order::of(&needs, &needed_by).map_err(|cycle| {
            let names: Vec<String> = cycle.iter().map(|&i| text::display(&nodes[i].id)).collect();
            let shown = names.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(" -> ");
            let message = format!("Circular dependency detected: {shown} -> {}", names.first().map_or("", String::as_str));
            Refusal::new(Ending::CircularDependency, message)
        })?;

        let (type_rules, computed) = (rules::edges(&nodes, &index), computed::edges(&nodes, &index));
        let mut graph = Graph { needs, needed_by, order, warnings, by_id, nodes };
        graph.add_implicit(type_rules);
        graph.add_implicit(computed);
        Ok(graph)
    }

    /// Adds edges in (later, earlier) order of their ids; one that would close a cycle is left out with a warning.
    fn add_implicit(&mut self, mut implicit: Vec<Edge>) {
        let mut rank = vec![0; self.nodes.len()];
        self.by_id.iter().enumerate().for_each(|(place, &node)| rank[node] = place);
        implicit.sort_unstable_by_key(|&(earlier, later)| (rank[later], rank[earlier]));
        // For each node, the last one that it is known to go before.
        let mut goes_before = vec![usize::MAX; self.nodes.len()];
        for same in implicit.chunk_by(|a, b| a.1 == b.1) {
            self.needed_by[same[0].1].iter().for_each(|&known| goes_before[known] = same[0].1);
            for &(earlier, later) in same {
                if earlier == later || goes_before[earlier] == later {
                    continue;
                }
                if self.order.admit(earlier, later, &self.needs, &self.needed_by) {
                    goes_before[earlier] = later;
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
    }

    /// The nodes, in the order they were given.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes, sorted by their ids.
    pub(crate) fn by_id(&self) -> &[usize] {
        &self.by_id
    }

    /// What belongs to each node, of things that are sorted by the ids of nodes.
    pub(crate) fn by_node<'t, T>(&self, sorted: impl IntoIterator<Item = (&'t String, T)>) -> Vec<Option<T>> {
        let mut found: Vec<Option<T>> = self.nodes.iter().map(|_| None).collect();
        let mut sorted = sorted.into_iter().peekable();
        for &node in &self.by_id {
            let id = &self.nodes[node].id;
            while sorted.next_if(|(other, _)| *other < id).is_some() {}
            found[node] = sorted.next_if(|(other, _)| *other == id).map(|(_, thing)| thing);
        }
        found
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

/// Every edge once, in the order they came.
fn distinct(edges: Vec<Edge>) -> impl Iterator<Item = Edge> {
    let mut places: Vec<(Edge, usize)> = edges.into_iter().zip(0..).collect();
    places.sort_unstable();
    places.dedup_by_key(|&mut (edge, _)| edge);
    places.sort_unstable_by_key(|&(_, place)| place);
    places.into_iter().map(|(edge, _)| edge)
}

/// Finding rows by what others call them. Names are borrowed from the nodes.
pub(crate) struct Index<'a> {
    stacks: Vec<Stack<'a>>,
    /// Which of them each node is in.
    stack_of: Vec<usize>,
    by_name: HashMap<&'a str, usize>,
}

/// The rows of one stack.
#[derive(Default)]
struct Stack<'a> {
    /// In the order they were given.
    members: Vec<usize>,
    by_logical: HashMap<&'a str, usize>,
    by_type: HashMap<&'a str, Vec<usize>>,
}

impl Stack<'_> {
    /// The row of that name.
    fn logical(&self, logical_id: &str) -> Option<usize> {
        self.by_logical.get(logical_id).copied()
    }

    /// The rows of a type.
    fn of_type(&self, resource_type: &str) -> &[usize] {
        self.by_type.get(resource_type).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Index<'a> {
    fn of(nodes: &'a [Node]) -> Self {
        let mut index = Index { stacks: Vec::new(), stack_of: Vec::with_capacity(nodes.len()), by_name: HashMap::new() };
        for (i, node) in nodes.iter().enumerate() {
            let at = *index.by_name.entry(&node.stack).or_insert(index.stacks.len());
            if at == index.stacks.len() {
                index.stacks.push(Stack::default());
            }
            let stack = &mut index.stacks[at];
            stack.members.push(i);
            stack.by_type.entry(&node.row.resource_type).or_default().push(i);
            index.stack_of.push(at);
        }
        for stack in &mut index.stacks {
            stack.by_logical = stack.members.iter().map(|&i| (nodes[i].row.logical_id.as_str(), i)).collect();
        }
        index
    }

    /// `dependencies`, intrinsics that were left in properties, and the nesting of stacks.
    fn recorded(&self, nodes: &[Node], warnings: &mut Vec<String>) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            let stack = &self.stacks[self.stack_of[i]];
            for wanted in &node.row.dependencies {
                match stack.logical(wanted) {
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
                edges.extend(stack.logical(&wanted).filter(|&j| j != i).map(|j| (i, j)));
            }
        }
        self.nest(nodes, &mut edges);
        edges
    }

    /// A nested stack's rows go after everything that needs the nested row, and before the nested row itself.
    fn nest(&self, nodes: &[Node], edges: &mut Vec<Edge>) {
        let mut rows: Vec<usize> = (0..nodes.len()).filter(|&n| nodes[n].row.is_nested_stack()).collect();
        if rows.is_empty() {
            return;
        }
        let mut needed_in_stack: HashSet<usize> = HashSet::new();
        // Who needs a nested row; grows while the levels above hand their users down.
        let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
        for &(a, b) in edges.iter() {
            if self.stack_of[a] == self.stack_of[b] {
                needed_in_stack.insert(b);
            }
            if nodes[b].row.is_nested_stack() {
                users.entry(b).or_default().push(a);
            }
        }
        rows.sort_by_key(|&n| nodes[n].stack.matches('~').count());
        for row in rows {
            let node = &nodes[row];
            let Some(&nested) = self.by_name.get(&*format!("{}~{}", node.stack, node.row.logical_id)) else { continue };
            let above = users.get(&row).cloned().unwrap_or_default();
            for &child in &self.stacks[nested].members {
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
