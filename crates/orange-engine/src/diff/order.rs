//! Which of several ways is tried first, where that matters.

use super::change::{Change, Difference, Way};
use super::passages::{self, Passage, QUEUED, Queue};
use super::ways::Both;
use crate::language::workflow::{Target, Trigger};

/// Ways that changed places, and the places of new ones.
pub(super) fn orders(both: &Both<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    for (before, state) in both.states() {
        let Some(before) = before else {
            continue;
        };
        for trigger in QUEUED {
            let old = passages::queue(both.old, before, trigger);
            let new = passages::queue(both.new, state, trigger);
            let changes = inversions(&old, &new, Some(trigger));
            found.extend(changes.into_iter().map(|change| Difference {
                status: Some(state.name.clone()),
                way: None,
                change,
            }));
        }
    }
    let entries = (passages::entries(both.old), passages::entries(both.new));
    let changes = inversions(&entries.0, &entries.1, None);
    found.extend(changes.into_iter().map(|change| Difference {
        status: None,
        way: None,
        change,
    }));
    found
}

/// Pairs of ways that are there in both, may be open at once, and changed places.
fn inversions(old: &Queue, new: &Queue, trigger: Option<Trigger>) -> Vec<Change> {
    let kept: Vec<(Kept<'_>, usize, usize)> = old
        .iter()
        .enumerate()
        .flat_map(|(was, (to, before))| {
            let same = new.iter().enumerate();
            let same = same.filter(move |(_, (now, after))| now == to && before.meets(after));
            same.map(move |(is, (_, after))| (Kept { to, before, after }, was, is))
        })
        .collect();
    let mut changes = Vec::new();
    for (one, one_was, one_is) in &kept {
        for (two, two_was, two_is) in &kept {
            let is_inverted = one_was < two_was && two_is < one_is;
            if is_inverted && one.to != two.to && one.meets(two) {
                let change = Change::OrderChanged {
                    trigger,
                    first: two.to.clone(),
                    then: one.to.clone(),
                };
                if !changes.contains(&change) {
                    changes.push(change);
                }
            }
        }
    }
    changes
}

/// A way that is there in both workflows.
struct Kept<'a> {
    to: &'a Target,
    before: &'a Passage,
    after: &'a Passage,
}

impl Kept<'_> {
    fn meets(&self, other: &Kept<'_>) -> bool {
        let was = self.before.values.and(&other.before.values);
        let is = self.after.values.and(&other.after.values);
        self.before.meets(other.before) && self.after.meets(other.after) && was.meets(&is)
    }
}

/// What a new way is tried before, and may keep from being taken.
pub(super) fn tried_before(both: &Both<'_>, differences: &mut [Difference]) {
    for difference in differences {
        let Difference {
            status: Some(status),
            way: Some(Way::Leaving {
                to, trigger, who, ..
            }),
            change: Change::Opened { before, .. },
        } = difference
        else {
            continue;
        };
        let Some(state) = both.new.state(status).filter(|_| who.by.is_empty()) else {
            continue;
        };
        if !QUEUED.contains(trigger) {
            continue;
        }
        let queue = passages::queue(both.new, state, *trigger);
        for (place, (target, passage)) in queue.iter().enumerate() {
            let later = queue.iter().skip(place + 1);
            let kept_out = later.filter(|(other, it)| other != target && it.meets(passage));
            for (other, _) in kept_out.filter(|_| target == to) {
                if !before.contains(other) {
                    before.push(other.clone());
                }
            }
        }
    }
}
