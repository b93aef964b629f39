//! Which requests for child tasks are accepted, and in which order.

use std::collections::BTreeSet;

use crate::report::Delegation;

/// How many child tasks one report may request.
pub const MAX_DELEGATIONS: usize = 8;

/// How many ancestors a child task of a report may have.
pub const MAX_DEPTH: u32 = 2;

/// Why the requests of a task with this many ancestors are refused; `None` if they are accepted.
pub(super) fn find_problem(delegations: &[Delegation], ancestors: u32) -> Option<String> {
    let count = delegations.len();
    if count == 0 {
        return None;
    }
    if ancestors >= MAX_DEPTH {
        return Some(format!(
            "the task is a child of a child, and no further generation is allowed; it requests \
             {count}"
        ));
    }
    if count > MAX_DELEGATIONS {
        return Some(format!(
            "the report requests {count}, and at most {MAX_DELEGATIONS} are allowed"
        ));
    }
    creation_order(delegations).err()
}

/// The indexes of the requests, each behind those that it starts after; in the order of the report
/// where that leaves a choice. Fails with a sentence if there is no such order.
pub fn creation_order(delegations: &[Delegation]) -> Result<Vec<usize>, String> {
    let after: Vec<BTreeSet<usize>> = (0..delegations.len())
        .map(|index| predecessors(delegations, index))
        .collect::<Result<_, _>>()?;
    let mut order: Vec<usize> = Vec::new();
    while order.len() < delegations.len() {
        let is_next = |index: &usize| {
            let mut earlier = after[*index].iter();
            !order.contains(index) && earlier.all(|it| order.contains(it))
        };
        let next = (0..delegations.len()).find(is_next);
        let Some(next) = next else {
            let waiting = (0..delegations.len()).filter(|index| !order.contains(index));
            let waiting: Vec<String> = waiting.map(|index| index.to_string()).collect();
            return Err(format!(
                "delegations {} start after each other in a circle",
                waiting.join(", ")
            ));
        };
        order.push(next);
    }
    Ok(order)
}

/// The indexes of the requests that this one starts after.
pub fn predecessors(delegations: &[Delegation], index: usize) -> Result<BTreeSet<usize>, String> {
    let count = delegations.len();
    let after = delegations.get(index).map(|it| it.after.as_slice());
    let after = after.unwrap_or_default().iter();
    let parsed = after.map(|word| {
        let found = word.trim().parse::<usize>().ok();
        found.filter(|found| *found < count).ok_or_else(|| {
            let word: String = word.trim().chars().take(40).collect();
            format!(
                "delegation {index} starts after `{word}`, which is not the index of a delegation; \
                 the indexes are 0 to {}",
                count - 1
            )
        })
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests, each with the indexes that it starts after.
    fn requests(after: &[&[&str]]) -> Vec<Delegation> {
        let requests = after.iter().map(|after| Delegation {
            after: after.iter().map(|word| String::from(*word)).collect(),
            ..Delegation::default()
        });
        requests.collect()
    }

    #[test]
    fn a_request_comes_behind_those_it_starts_after() {
        let order = |after: &[&[&str]]| creation_order(&requests(after)).unwrap();
        assert_eq!(order(&[&[], &[], &[]]), [0, 1, 2]);
        assert_eq!(order(&[&["2"], &[" 0 "], &[]]), [2, 0, 1]);
        assert_eq!(order(&[&["1", "1"], &[]]), [1, 0]);
        assert_eq!(order(&[]), [] as [usize; 0]);
    }

    #[test]
    fn a_circle_and_an_unknown_index_are_refused_with_words() {
        for (after, problem) in [
            (
                &[&["0"][..]][..],
                "delegations 0 start after each other in a circle",
            ),
            (
                &[&[], &["2"], &["1"]],
                "delegations 1, 2 start after each other in a circle",
            ),
            (
                &[&[], &["2"]],
                "delegation 1 starts after `2`, which is not the index of a delegation; the \
                 indexes are 0 to 1",
            ),
            (
                &[&["-1"]],
                "delegation 0 starts after `-1`, which is not the index of a delegation; the \
                 indexes are 0 to 0",
            ),
            (
                &[&["the first"]],
                "delegation 0 starts after `the first`, which is not the index of a delegation; \
                 the indexes are 0 to 0",
            ),
        ] {
            let requests = requests(after);
            assert_eq!(creation_order(&requests), Err(String::from(problem)));
            assert_eq!(find_problem(&requests, 0).as_deref(), Some(problem));
        }
    }

    #[test]
    fn too_many_requests_and_too_many_generations_are_refused() {
        let many = |count: usize| requests(&vec![&[][..]; count]);
        assert_eq!(find_problem(&many(MAX_DELEGATIONS), 1), None);
        let nine = find_problem(&many(MAX_DELEGATIONS + 1), 0).unwrap();
        assert_eq!(nine, "the report requests 9, and at most 8 are allowed");
        let deep = find_problem(&many(1), 2).unwrap();
        assert!(deep.contains("a child of a child"), "{deep}");
        assert_eq!(find_problem(&[], 7), None, "nothing is requested");
    }
}
