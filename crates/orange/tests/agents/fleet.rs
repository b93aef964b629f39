//! Twenty tasks at once, with five agents.

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_engine::names::TaskId;

use crate::agent::Agent;
use crate::namespace::run_in_namespace_for;
use crate::stage::Stage;

const TASKS: usize = 20;

/// The time limit for all of them; alone on two cores they take a few minutes.
const LONGEST: Duration = Duration::from_mins(18);

const AGENTS: [Agent; 5] = [
    Agent::Claude,
    Agent::Codex,
    Agent::Gemini,
    Agent::Opencode,
    Agent::Pi,
];

const WORK: &str = r"
run printf '\n## Plan\n\nAPPROACH: add a file\nTOUCHING: that file\n' >> TASK.md
run orange task update --status working
run echo Bonjour > $ORANGE_TASK_ID.txt && git add . && git commit -qm 'Add a greeting'
run printf '\n## Handoff\n\nDONE: a file that greets\n' >> TASK.md
run orange task update --status agent-review
say I wait for the review.
";

const PASS: &str = r"
run orange task diff
read TASK.md
edit TASK.md DONE: a file that greets => DONE: a file that greets\n\n## Review\n\nVerdict: PASS\n\nIt greets.
run orange task update --status reviewing
";

fn run_fleet() {
    let stage = Stage::new(&AGENTS);
    stage.script("any", "worker-1", WORK);
    stage.script("any", "reviewer-1", PASS);
    stage.orange(&["project", "add", "--harness", "claude"]);
    stage.orange(&["serve", "--detach"]);
    let watch = Stopwatch::start();
    let mut tasks = BTreeMap::new();
    for number in 0..TASKS {
        let [worker, reviewer] = [0, 1].map(|next| AGENTS[(number + next) % AGENTS.len()].name());
        let agents = ["--harness", worker, "--review-harness", reviewer];
        let branch = format!("fleet-{number}");
        tasks.insert(branch.clone(), stage.create(&branch, &agents));
    }
    let status = |id: &TaskId| stage.store().require(id).unwrap().task.status;
    let all_done = Deadline::after(LONGEST).wait_for(|| {
        // The user merges whatever is ready.
        for (branch, id) in &tasks {
            if status(id).as_str() == "reviewing" {
                let _next_time =
                    stage.orange_unchecked(&["task", "merge", branch, "--strategy", "merge"]);
            }
        }
        std::thread::sleep(Duration::from_millis(500));
        tasks.values().all(|id| status(id).as_str() == "done")
    });
    let took = watch.elapsed();
    let slow = tasks.values().find(|id| status(id).as_str() != "done");
    assert!(
        all_done,
        "{}",
        slow.map_or_else(String::new, |id| stage.diagnostics(id))
    );
    for id in tasks.values() {
        // A task that found no workspace at first has been back in the queue.
        let way = stage.way(id);
        let last = way.iter().rposition(|status| status == "planning").unwrap();
        assert_eq!(
            way[last..],
            ["planning", "working", "agent-review", "reviewing", "done"],
            "{}",
            stage.diagnostics(id)
        );
    }
    let files = stage.git_text("ls-tree -r --name-only main");
    assert_eq!(files.lines().count(), TASKS, "{files}");
    let runs = tasks
        .values()
        .flat_map(|id| stage.store().runs(id).unwrap());
    let lives = runs.map(|run| run.ended_at.unwrap().millis() - run.created_at.millis());
    println!(
        "{TASKS} tasks: {} s, in which agents lived {} s",
        took.as_secs(),
        lives.sum::<i64>() / 1000
    );
    stage.assert_clean("a mixed fleet");
}

#[test]
fn twenty_tasks_with_five_agents_finish() {
    let name = "fleet::twenty_tasks_with_five_agents_finish";
    run_in_namespace_for(LONGEST, name, &AGENTS, run_fleet);
}
