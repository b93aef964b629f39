//! Which harness takes over from a parked one.

use crate::names::HarnessName;
use crate::parking::Parking;

/// The first harness of `order` that is not parked, if `parking` lasts long enough to change the
/// agent: another agent knows only what is in TASK.md and in the worktree.
pub fn stand_in<'a>(
    parking: &Parking,
    order: &'a [HarnessName],
    parked: &[Parking],
) -> Option<&'a HarnessName> {
    let is_usable = |name: &&HarnessName| {
        **name != parking.harness && parked.iter().all(|it| it.harness != **name)
    };
    order.iter().find(is_usable).filter(|_| parking.is_long())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::time::Timestamp;

    fn parked(name: &str, until: Option<i64>) -> Parking {
        let harness = HarnessName::new(name);
        let until = until.map(Timestamp::from_millis);
        let evidence = Evidence::Quota { until };
        let now = Timestamp::from_millis(0);
        Parking::from_evidence(&harness, &evidence, None, now, None).unwrap()
    }

    #[test]
    fn the_first_usable_harness_takes_over() {
        let order = ["a", "b", "c"].map(HarnessName::new);
        let (a, b, c) = (parked("a", None), parked("b", None), parked("c", None));
        let next = |parked: &[Parking]| stand_in(&a, &order, parked).map(HarnessName::as_str);
        assert_eq!(next(std::slice::from_ref(&a)), Some("b"));
        assert_eq!(next(&[a.clone(), b.clone()]), Some("c"));
        assert_eq!(next(&[a.clone(), b, c]), None);
        let first = stand_in(&parked("x", None), &order, &[]).map(HarnessName::as_str);
        assert_eq!(first, Some("a"));
    }

    #[test]
    fn a_short_wait_changes_nothing() {
        let order = [HarnessName::new("b")];
        for (until, takes_over) in [(60_000, false), (299_000, false), (300_000, true)] {
            let parking = parked("a", Some(until));
            assert_eq!(
                stand_in(&parking, &order, &[]).is_some(),
                takes_over,
                "{until}"
            );
        }
    }
}
