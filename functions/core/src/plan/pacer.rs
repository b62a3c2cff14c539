//! Quotas of an account: what would begin a delete over its quota waits for its turn. When it comes follows from the
//! record, which says when the others began.

use std::collections::HashMap;

use super::board::Board;
use super::schedule::Weights;
use crate::Millis;
use crate::catalogue::Pace;

pub(super) struct Pacer<'a> {
    weights: &'a Weights,
    at: Millis,
    /// By key: when deletes began that still count, the oldest first.
    began: HashMap<&'static str, Vec<Millis>>,
}

impl<'a> Pacer<'a> {
    pub(super) fn of(board: &Board<'a>) -> Self {
        let (weights, at) = (board.weights, board.record.at);
        let mut began: HashMap<&'static str, Vec<Millis>> = HashMap::new();
        for n in 0..board.graph.nodes().len() {
            let Some(Pace { key, per_ms, .. }) = weights.known(n).pace else { continue };
            let started = board.row(n).map(|r| r.started_at).filter(|&started| started > 0);
            began.entry(key).or_default().extend(started.filter(|started| started + per_ms > at));
        }
        began.values_mut().for_each(|began| began.sort_unstable());
        Pacer { weights, at, began }
    }

    /// Takes out what is over its quota, the last ones first, and answers when the next of them may begin.
    pub(super) fn hold_back(mut self, free: &mut Vec<usize>) -> Option<Millis> {
        let mut next = None;
        free.retain(|&n| {
            let Some(Pace { key, most, per_ms }) = self.weights.known(n).pace else { return true };
            let began = self.began.entry(key).or_default();
            if began.len() < most {
                began.push(self.at);
                return true;
            }
            let turn = began[began.len() - most] + per_ms;
            next = Some(next.map_or(turn, |next: Millis| next.min(turn)));
            false
        });
        next
    }
}
