//! What scripted agents do, and the resulting statuses.

use orange_engine::event::Fact;
use orange_engine::names::TaskId;

use crate::support::Stage;

pub const PLAN_AND_WORK: &str = "\
printf 'APPROACH: add a line\\nTOUCHING: work.txt\\n' | section Plan
ask task update --status working
commit one
echo 'DONE: a line' | section Handoff
ask task update --status agent-review
";

pub const WORK: &str = "\
commit one
echo 'DONE: a line' | section Handoff
ask task update --status agent-review
";

pub const FIX: &str = "\
ask inbox
commit two
echo 'DONE: two lines' | section Handoff
ask task update --status agent-review
";

pub const PASS: &str = "\
printf 'Verdict: PASS\\nfine\\n' | section Review
ask task update --status reviewing
";

pub const FAIL: &str = "\
printf 'Verdict: FAIL\\none line is not enough\\n' | section Review
ask task update --status working
";

/// The statuses a task went through.
pub fn way(stage: &Stage, id: &TaskId) -> Vec<String> {
    let events = stage.store().events(id, 0).unwrap();
    let changes = events.iter().filter_map(|it| match &it.event.fact {
        Fact::StatusChanged(changed) => Some(changed.to.to_string()),
        _ => None,
    });
    changes.collect()
}

pub fn log(stage: &Stage, id: &TaskId) -> Vec<String> {
    let log = stage.git(&format!(
        "log --reverse --format=%s main..orange-tasks/{id}"
    ));
    let text = String::from_utf8(log.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}
