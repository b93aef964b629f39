//! A hint brings the next look forward, within what the quota allows.

use orange_driver::supervisor::poller::ForgePoller;
use orange_engine::time::Timestamp;
use scripted_forge::Resource;

use super::figures::{later, open_tasks, requests_per_round, warm_poller};
use crate::support::forge_stage::{ForgeStage, REPOSITORY};

/// A poller that has nothing to do for a while, and when it last looked.
fn resting_poller(it: &ForgeStage) -> (ForgePoller, Timestamp) {
    let (mut poller, start) = warm_poller(it);
    // What the first look showed was recorded, which makes another round.
    poller.round(later(start, 1)).unwrap();
    (poller, start)
}

fn hint(it: &ForgeStage) {
    let url = format!("https://github.com/{REPOSITORY}");
    assert!(it.stage.driver().forge.note_hint(&url).unwrap());
}

#[test]
fn a_hint_makes_the_next_look_come_sooner_and_not_at_once_again() {
    let it = ForgeStage::in_memory("minimal");
    open_tasks(&it, 1);
    let (mut poller, start) = resting_poller(&it);
    assert!(!poller.is_due(later(start, 20)));
    hint(&it);
    assert_eq!(requests_per_round(&it, &mut poller, later(start, 5)), 0);
    assert!(!poller.is_due(later(start, 9)), "it waits for its time");
    assert_eq!(requests_per_round(&it, &mut poller, later(start, 11)), 1);
    assert!(!poller.is_due(later(start, 30)), "a hint counts once");
    hint(&it);
    assert_eq!(requests_per_round(&it, &mut poller, later(start, 31)), 1);
    assert!(poller.is_due(later(start, 92)), "without hints as before");
}

#[test]
fn hints_do_not_spend_more_than_the_share_of_the_quota() {
    let it = ForgeStage::in_memory("minimal");
    open_tasks(&it, 1);
    it.forge.set_remaining("ada", Resource::Graphql, 20);
    let (mut poller, start) = resting_poller(&it);
    hint(&it);
    poller.round(later(start, 2)).unwrap();
    assert!(!poller.is_due(later(start, 61)), "the quota has to last");
}

#[test]
fn a_hint_about_a_repository_without_open_tasks_is_no_reason_to_look() {
    let it = ForgeStage::in_memory("minimal");
    open_tasks(&it, 1);
    let (mut poller, start) = resting_poller(&it);
    let (_, listed) = it.stage.json(&["task", "list", "--all", "--json"]);
    let id = listed["tasks"][0]["id"].as_str().unwrap();
    it.stage.run_ok(&["task", "cancel", id]);
    poller.round(later(start, 2)).unwrap();
    hint(&it);
    assert!(!poller.is_due(later(start, 3)));
}
