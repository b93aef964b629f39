//! A follower of the list sees its content, commit by commit.

use std::collections::BTreeMap;

use orange_driver::{Driver, Follower, ListFilter, TaskRow};
use orange_engine::names::TaskId;

use crate::support::Stage;

/// A list that is kept up to date from a follower's changes.
struct FollowedList {
    driver: Driver,
    follower: Follower,
    rows: BTreeMap<TaskId, TaskRow>,
}

impl FollowedList {
    fn of(stage: &Stage) -> FollowedList {
        let driver = stage.driver();
        FollowedList {
            follower: driver.views.follower(),
            driver,
            rows: BTreeMap::new(),
        }
    }

    /// Applies the changes, which must be complete; returns how much was reported.
    fn catch_up(&mut self) -> (bool, usize, usize) {
        let change = self.follower.change().unwrap();
        let change = change.unwrap_or_else(|| panic!("nothing was written"));
        if change.is_whole {
            self.rows.clear();
        }
        let told = (change.is_whole, change.rows.len(), change.gone.len());
        for id in &change.gone {
            self.rows.remove(id);
        }
        let rows = change.rows.into_iter();
        self.rows.extend(rows.map(|row| (row.id.clone(), row)));
        let filter = ListFilter {
            include_finished: true,
            ..ListFilter::default()
        };
        let listed = self.driver.views.list(&filter).unwrap();
        assert_eq!(listed.sequence, change.sequence);
        let listed = listed.tasks.into_iter();
        let listed: BTreeMap<_, _> = listed.map(|row| (row.id.clone(), row)).collect();
        assert_eq!(self.rows, listed);
        told
    }
}

#[test]
fn a_follower_sees_the_same_as_the_list() {
    let stage = Stage::new("default");
    let one = stage.create(&["one", "Fix the roof"]);
    let two = stage.create(&["two", "Paint the door"]);
    let mut followed = FollowedList::of(&stage);
    assert_eq!(followed.catch_up(), (true, 2, 0));
    assert_eq!(
        followed.follower.change().unwrap(),
        None,
        "nothing was written"
    );
    stage.run_ok(&["task", "cancel", one.as_str(), "--yes"]);
    stage.wait_until_idle(&one);
    assert_eq!(followed.catch_up(), (false, 1, 0));
    stage.run_ok(&["task", "delete", one.as_str(), "--yes"]);
    assert_eq!(followed.catch_up(), (false, 0, 1));
    stage.run_ok(&["task", "delete", one.as_str(), "--undo"]);
    assert_eq!(followed.catch_up(), (false, 1, 0));
    stage.rebuild(&two);
    assert_eq!(followed.catch_up(), (true, 2, 0), "another database");
}

#[test]
fn a_home_without_a_database_has_nothing_to_follow() {
    let stage = Stage::new("default");
    assert!(!stage.home().database().exists());
    assert_eq!(stage.driver().views.follower().change().unwrap(), None);
    assert!(!stage.home().database().exists(), "looking makes none");
}
