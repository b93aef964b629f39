//! Proves guards disjoint or exhaustive, with a witness when they are not.

use std::collections::{BTreeMap, BTreeSet};

use super::when::{Comparison, Operator, When};
use crate::names::FieldName;

/// Values of the fields for which a claim fails.
pub type Witness = BTreeMap<FieldName, i64>;

/// Fields count things, so no value is below zero.
const LOWEST: i64 = 0;

/// With more pieces than this, give up on the proof instead of waiting for it.
const MAX_PIECES: usize = 4096;

/// The guards split the values into too many pieces to prove anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooComplicated;

/// Values for which both guards hold, or `None` when there are none. An absent guard always holds.
pub fn find_overlap(one: Option<&When>, other: Option<&When>) -> Option<Witness> {
    let mut ranges: BTreeMap<FieldName, Range> = BTreeMap::new();
    let comparisons = [one, other]
        .into_iter()
        .flatten()
        .flat_map(When::comparisons);
    for comparison in comparisons {
        ranges
            .entry(comparison.field.clone())
            .or_default()
            .keep(comparison);
    }
    ranges
        .into_iter()
        .map(|(field, range)| range.smallest().map(|value| (field, value)))
        .collect()
}

/// Values for which none of the guards holds, or `None` when every value is covered.
pub fn find_uncovered(guards: &[&When]) -> Result<Option<Witness>, TooComplicated> {
    let mut pieces: Vec<Piece> = vec![Piece::new()];
    for guard in guards {
        let mut rest = Vec::new();
        for piece in pieces {
            subtract(piece, guard, &mut rest)?;
        }
        pieces = rest;
    }
    Ok(pieces.into_iter().next().map(|piece| {
        piece
            .into_iter()
            .map(|(field, bounds)| (field, bounds.0))
            .collect()
    }))
}

/// A box: inclusive bounds for the fields that are bounded at all.
type Piece = BTreeMap<FieldName, (i64, i64)>;

/// Adds to `rest` the parts of `piece` where `guard` does not hold.
///
/// Subtracting `a and b` leaves the part where `a` fails, and the part where `a` holds but `b`
/// fails.
fn subtract(mut piece: Piece, guard: &When, rest: &mut Vec<Piece>) -> Result<(), TooComplicated> {
    for comparison in guard.comparisons() {
        let bounds = piece
            .get(&comparison.field)
            .copied()
            .unwrap_or((LOWEST, i64::MAX));
        let (holding, failing) = split(bounds, comparison);
        for outside in failing {
            let mut remains = piece.clone();
            remains.insert(comparison.field.clone(), outside);
            rest.push(remains);
            if rest.len() > MAX_PIECES {
                return Err(TooComplicated);
            }
        }
        // `x != 5` holds on both sides of five, so each side is continued separately.
        let Some((last, others)) = holding.split_last() else {
            return Ok(());
        };
        for inside in others {
            let mut side = piece.clone();
            side.insert(comparison.field.clone(), *inside);
            subtract(side, guard, rest)?;
        }
        piece.insert(comparison.field.clone(), *last);
    }
    Ok(())
}

type Bounds = (i64, i64);

/// The parts of the bounds where a comparison holds, and where it fails.
fn split(bounds: Bounds, comparison: &Comparison) -> (Vec<Bounds>, Vec<Bounds>) {
    let (low, high) = bounds;
    let value = comparison.value;
    let below = |end: Option<i64>| end.map(|end| (low, end.min(high)));
    let above = |start: Option<i64>| start.map(|start| (start.max(low), high));
    let keep = |parts: Vec<Option<Bounds>>| -> Vec<Bounds> {
        parts
            .into_iter()
            .flatten()
            .filter(|(start, end)| start <= end)
            .collect()
    };
    let less = keep(vec![below(value.checked_sub(1))]);
    let less_or_equal = keep(vec![below(Some(value))]);
    let greater = keep(vec![above(value.checked_add(1))]);
    let greater_or_equal = keep(vec![above(Some(value))]);
    let exactly = keep(vec![Some((value.max(low), value.min(high)))]);
    let elsewhere = || less.iter().chain(&greater).copied().collect();
    match comparison.operator {
        Operator::Less => (less, greater_or_equal),
        Operator::LessOrEqual => (less_or_equal, greater),
        Operator::Greater => (greater, less_or_equal),
        Operator::GreaterOrEqual => (greater_or_equal, less),
        Operator::Equal => (exactly, elsewhere()),
        Operator::NotEqual => (elsewhere(), exactly),
    }
}

/// The values of one field that a conjunction allows.
struct Range {
    low: i64,
    high: i64,
    excluded: BTreeSet<i64>,
    empty: bool,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            low: LOWEST,
            high: i64::MAX,
            excluded: BTreeSet::new(),
            empty: false,
        }
    }
}

impl Range {
    fn keep(&mut self, comparison: &Comparison) {
        let value = comparison.value;
        match comparison.operator {
            Operator::Less => match value.checked_sub(1) {
                Some(end) => self.high = self.high.min(end),
                None => self.empty = true,
            },
            Operator::LessOrEqual => self.high = self.high.min(value),
            Operator::Greater => match value.checked_add(1) {
                Some(start) => self.low = self.low.max(start),
                None => self.empty = true,
            },
            Operator::GreaterOrEqual => self.low = self.low.max(value),
            Operator::Equal => {
                self.low = self.low.max(value);
                self.high = self.high.min(value);
            }
            Operator::NotEqual => {
                self.excluded.insert(value);
            }
        }
    }

    fn smallest(&self) -> Option<i64> {
        if self.empty || self.low > self.high {
            return None;
        }
        let mut candidate = self.low;
        while self.excluded.contains(&candidate) {
            candidate = candidate.checked_add(1)?;
        }
        (candidate <= self.high).then_some(candidate)
    }
}
