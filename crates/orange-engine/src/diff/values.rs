//! Sets of field values, as guards describe them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::language::intervals::{LOWEST, TooComplicated, split};
use crate::language::when::When;
use crate::names::FieldName;

/// More parts than this are not worked out.
const MAX_PARTS: usize = 256;

/// More parts than this nobody would read.
const MAX_SHOWN: usize = 6;

/// Inclusive ranges, in order and apart from each other.
type Ranges = Vec<(i64, i64)>;

const ALL: (i64, i64) = (LOWEST, i64::MAX);

/// The values of the fields for which something holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(Vec<Part>);

/// What one conjunction allows; a field that is not named may have any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Part(BTreeMap<FieldName, Ranges>);

impl Values {
    /// No value at all.
    pub(super) fn none() -> Values {
        Values(Vec::new())
    }

    /// Where a guard holds; without one that is everywhere.
    pub(super) fn of(when: Option<&When>) -> Values {
        let mut part = Part::default();
        for comparison in when.into_iter().flat_map(When::comparisons) {
            let before = part.ranges(&comparison.field);
            let holding = before
                .into_iter()
                .flat_map(|range| split(range, comparison).0)
                .collect();
            if !part.restrict(&comparison.field, holding) {
                return Values::none();
            }
        }
        Values(vec![part])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every value is among these.
    pub(super) fn is_any(&self) -> bool {
        let any = Values(vec![Part::default()]);
        any.without(self).is_ok_and(|rest| rest.is_empty())
    }

    /// Whether some values are in both.
    pub(super) fn meets(&self, other: &Values) -> bool {
        let pairs = self
            .0
            .iter()
            .flat_map(|one| other.0.iter().map(move |two| (one, two)));
        pairs.into_iter().any(|(one, two)| one.and(two).is_some())
    }

    /// The values that are in both.
    pub(super) fn and(&self, other: &Values) -> Values {
        let pairs = self
            .0
            .iter()
            .flat_map(|one| other.0.iter().map(move |two| (one, two)));
        Values(pairs.filter_map(|(one, two)| one.and(two)).collect()).tidy()
    }

    /// The values that are in one of both.
    pub(super) fn or(mut self, other: Values) -> Values {
        self.0.extend(other.0);
        self.tidy()
    }

    /// The values that are not among the others.
    pub(super) fn without(&self, others: &Values) -> Result<Values, TooComplicated> {
        let mut parts = self.0.clone();
        for other in &others.0 {
            let mut rest = Vec::new();
            for part in parts {
                rest.extend(part.without(other));
                if rest.len() > MAX_PARTS {
                    return Err(TooComplicated);
                }
            }
            parts = rest;
        }
        Ok(Values(parts).tidy())
    }

    /// Whether both are the same values, however they are written.
    pub(super) fn is_same(&self, other: &Values) -> bool {
        match (self.without(other), other.without(self)) {
            (Ok(more), Ok(less)) => more.is_empty() && less.is_empty(),
            _ => self == other,
        }
    }

    /// Joins parts that differ in one field only, so that fewer words say the same.
    fn tidy(mut self) -> Values {
        let mut place = if self.0.len() > MAX_PARTS {
            self.0.len()
        } else {
            0
        };
        while place < self.0.len() {
            let mut parts = self.0.iter().enumerate().skip(place + 1);
            let found = parts.find_map(|(index, part)| Some((index, self.0[place].joined(part)?)));
            match found {
                Some((index, joined)) => {
                    self.0.swap_remove(index);
                    self.0[place] = joined;
                    place = 0;
                }
                None => place += 1,
            }
        }
        self
    }
}

impl Part {
    fn ranges(&self, field: &FieldName) -> Ranges {
        self.0.get(field).cloned().unwrap_or_else(|| vec![ALL])
    }

    /// Keeps only these values of a field; says whether any are left.
    fn restrict(&mut self, field: &FieldName, ranges: Ranges) -> bool {
        let is_left = !ranges.is_empty();
        if ranges == [ALL] {
            self.0.remove(field);
        } else {
            self.0.insert(field.clone(), ranges);
        }
        is_left
    }

    fn and(&self, other: &Part) -> Option<Part> {
        let mut both = self.clone();
        for (field, ranges) in &other.0 {
            let common = common(&both.ranges(field), ranges);
            if !both.restrict(field, common) {
                return None;
            }
        }
        Some(both)
    }

    /// What is left of this part: where a first field is outside, then where only a second is.
    fn without(&self, other: &Part) -> Vec<Part> {
        if self.and(other).is_none() {
            return vec![self.clone()];
        }
        let mut rest = Vec::new();
        let mut inside = self.clone();
        for (field, ranges) in &other.0 {
            let own = inside.ranges(field);
            let mut outside = inside.clone();
            if outside.restrict(field, common(&own, &complement(ranges))) {
                rest.push(outside);
            }
            inside.restrict(field, common(&own, ranges));
        }
        rest
    }

    /// Both parts as one, if they differ in one field at most.
    fn joined(&self, other: &Part) -> Option<Part> {
        let fields = self.0.keys().chain(other.0.keys());
        let mut differing = fields.filter(|field| self.0.get(*field) != other.0.get(*field));
        let mut joined = self.clone();
        if let Some(field) = differing.next() {
            if differing.any(|another| another != field) {
                return None;
            }
            let neither = common(
                &complement(&self.ranges(field)),
                &complement(&other.ranges(field)),
            );
            joined.restrict(field, complement(&neither));
        }
        Some(joined)
    }
}

fn common(one: &Ranges, other: &Ranges) -> Ranges {
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    let mut found = Vec::new();
    while let (Some(a), Some(b)) = (ones.peek(), others.peek()) {
        let (low, high) = (a.0.max(b.0), a.1.min(b.1));
        if low <= high {
            found.push((low, high));
        }
        if a.1 < b.1 {
            ones.next();
        } else {
            others.next();
        }
    }
    found
}

fn complement(ranges: &Ranges) -> Ranges {
    let mut outside = Vec::new();
    let mut next = Some(LOWEST);
    for (low, high) in ranges {
        if let Some(start) = next.filter(|start| start < low) {
            outside.push((start, low - 1));
        }
        next = high.checked_add(1);
    }
    outside.extend(next.map(|start| (start, i64::MAX)));
    outside
}

impl fmt::Display for Values {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().take(MAX_SHOWN).map(ToString::to_string);
        formatter.write_str(&shown.collect::<Vec<_>>().join(" or "))?;
        match self.0.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(formatter, " or in {more} other cases"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = self.0.len() == 1;
        let fields = self
            .0
            .iter()
            .map(|(field, ranges)| shown(field, ranges, alone));
        formatter.write_str(&fields.collect::<Vec<_>>().join(" and "))
    }
}

/// The values of one field as a guard would write them.
fn shown(field: &FieldName, ranges: &Ranges, is_alone: bool) -> String {
    let outside = complement(ranges);
    if ranges.len() > 1 && outside.iter().all(|(low, high)| low == high) {
        let not = outside
            .iter()
            .map(|(value, _)| format!("{field} != {value}"));
        return not.collect::<Vec<_>>().join(" and ");
    }
    let shown: Vec<String> = ranges
        .iter()
        .map(|(low, high)| match (*low, *high) {
            (low, high) if low == high => format!("{field} == {low}"),
            (LOWEST, high) => format!("{field} <= {high}"),
            (low, i64::MAX) => format!("{field} >= {low}"),
            (low, high) => format!("{field} >= {low} and {field} <= {high}"),
        })
        .collect();
    match shown.as_slice() {
        [_, _, ..] if !is_alone => format!("({})", shown.join(" or ")),
        _ => shown.join(" or "),
    }
}

crate::text_schema::written_as_text!(Values);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::language::when::Limits;

    fn values(text: &str) -> Values {
        Values::of(Some(&When::parse(text, &Limits::new()).unwrap()))
    }

    fn has(values: &Values, a: i64, b: i64) -> bool {
        values.0.iter().any(|part| {
            part.0.iter().all(|(field, ranges)| {
                let value = if field.as_str() == "a" { a } else { b };
                ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&value))
            })
        })
    }

    #[test]
    fn a_guard_is_shown_as_short_as_it_can_be() {
        for (text, expected) in [
            ("a < 2", "a <= 1"),
            ("a < 1", "a == 0"),
            ("a >= 0", ""),
            ("a > 3 and a <= 4", "a == 4"),
            ("a != 2", "a != 2"),
            ("a != 2 and a != 4", "a != 2 and a != 4"),
            ("a > 1 and a < 5", "a >= 2 and a <= 4"),
            ("a > 1 and b == 0", "a >= 2 and b == 0"),
            ("a != 0", "a >= 1"),
        ] {
            assert_eq!(values(text).to_string(), expected, "{text}");
        }
        assert!(values("a < 0").is_empty());
        assert!(values("a >= 0").is_any());
        assert!(!values("a >= 1").is_any());
    }

    #[test]
    fn what_is_left_is_shown_by_its_values() {
        for (one, other, expected) in [
            ("a < 3", "a < 2", "a == 2"),
            ("a < 3", "a < 9", ""),
            ("a >= 0", "a >= 2 and a <= 4", "a <= 1 or a >= 5"),
            (
                "b == 1",
                "a >= 2 and a <= 4",
                "(a <= 1 or a >= 5) and b == 1",
            ),
            ("a >= 0", "a < 2 and b < 2", "a >= 2 or a <= 1 and b >= 2"),
        ] {
            let rest = values(one).without(&values(other)).unwrap();
            assert_eq!(rest.to_string(), expected, "{one} without {other}");
        }
        let joined = values("a == 2").or(values("a == 3")).or(values("a == 7"));
        assert_eq!(joined.to_string(), "a >= 2 and a <= 3 or a == 7");
    }

    #[test]
    fn what_nobody_would_read_is_not_shown() {
        let many = (0..8).map(|value| values(&format!("a == {value} and b == {}", value * 2)));
        let many = many.fold(Values::none(), Values::or);
        let shown = many.to_string();
        assert!(shown.starts_with("a == 0 and b == 0 or "), "{shown}");
        assert!(shown.ends_with(" or in 2 other cases"), "{shown}");
    }

    #[test]
    fn what_takes_too_long_is_given_up() {
        let fields: Vec<String> = (0..20).map(|number| format!("f{number} == 1")).collect();
        let most = values(&fields.join(" and "));
        let mut rest = Ok(Values::of(None));
        for value in 0..20 {
            let text = fields.join(" and ").replace("== 1", &format!("== {value}"));
            rest = rest.and_then(|rest| rest.without(&values(&text)));
        }
        assert_eq!(rest, Err(TooComplicated));
        assert!(most.is_same(&most.clone()));
    }

    fn guard() -> impl Strategy<Value = String> {
        let comparison = (
            select(vec!["a", "b"]),
            select(vec!["<", "<=", ">", ">=", "==", "!="]),
            0..5i64,
        );
        let comparison =
            comparison.prop_map(|(field, sign, value)| format!("{field} {sign} {value}"));
        prop::collection::vec(comparison, 1..4).prop_map(|all| all.join(" and "))
    }

    proptest! {
        #[test]
        fn laws_of_sets(one in guard(), other in guard(), third in guard()) {
            let (one, other, third) = (values(&one), values(&other), values(&third));
            let either = one.clone().or(other.clone());
            let both = one.and(&other);
            let rest = either.without(&third).unwrap();
            for a in 0..7 {
                for b in 0..7 {
                    let (in_one, in_other) = (has(&one, a, b), has(&other, a, b));
                    prop_assert_eq!(has(&either, a, b), in_one || in_other);
                    prop_assert_eq!(has(&both, a, b), in_one && in_other);
                    let expected = (in_one || in_other) && !has(&third, a, b);
                    prop_assert_eq!(has(&rest, a, b), expected);
                }
            }
            prop_assert_eq!(one.meets(&other), !both.is_empty());
            prop_assert!(either.is_same(&other.or(one)));
        }
    }
}
