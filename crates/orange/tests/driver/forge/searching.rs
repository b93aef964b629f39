//! The supervisor finds pull requests that were opened elsewhere.

use orange_config::clock;
use orange_driver::supervisor::poller::ForgePoller;
use orange_engine::time::Timestamp;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

#[test]
fn one_opened_elsewhere_is_found_at_the_slow_pace() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let branch = format!("orange-tasks/{id}");
    it.stage
        .git_output("repo", &format!("push -q origin {branch}"));
    // A branch of the same name in a fork is another branch.
    it.forge.user("eve");
    it.forge.fork(REPOSITORY, "eve");
    it.forge
        .commit("eve/app", &branch, &[("theirs.txt", "x\n")]);
    it.forge.pull_from_fork(REPOSITORY, "eve", &branch);
    let mut poller = ForgePoller::new(it.stage.driver());
    let start = clock::now();
    let later = |seconds: i64| Timestamp::from_millis(start.millis() + seconds * 1000);
    poller.round(start).unwrap();
    assert_eq!(it.forge.calls().len(), 1, "one list for all tasks");
    assert_eq!(it.stage.task(&id).pull_request, None);
    let number = it.forge.pull(REPOSITORY, &branch);
    for second in 1..=20 {
        if poller.is_due(later(second * 40)) {
            poller.round(later(second * 40)).unwrap();
        }
    }
    assert_eq!(
        it.forge.calls().len(),
        1,
        "not before the slow pace is over"
    );
    poller.round(later(901)).unwrap();
    assert_eq!(it.stage.task(&id).pull_request.unwrap().number, number);
}
