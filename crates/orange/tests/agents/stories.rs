//! The whole lifecycle of a task, with each agent.

mod github;

use orange_engine::names::TaskId;
use serde_json::Value;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::{Around, Stage};

const PLAN_AND_WORK: &str = r"
run cat ~/canary.txt; env | sort
run printf '\n## Plan\n\nAPPROACH: add a script\nTOUCHING: greet.sh\n' >> TASK.md
run orange task update --status working
write greet.sh echo Bonjour\n
run git add greet.sh && git commit -qm 'Greet in French'
run printf '\n## Handoff\n\nDONE: greet.sh says Bonjour\n' >> TASK.md
run orange task update --status agent-review
say I wait for the review.
";

/// What gives the canaries away without a sandbox.
const READ_SECRETS: &str = r"
run cat ~/.ssh/id_ed25519 ~/.netrc ~/notes.txt; uname -n | sed s,^,host-is-,
run cat /proc/*/environ | tr '\0' '\n'
";

/// The same for an agent whose home is elsewhere, from its worktree.
const READ_OUTSIDE: &str = r"
run cd ../../..; cat .ssh/id_ed25519 .netrc notes.txt; ls .; ls orange
run cat /proc/*/environ | tr '\0' '\n'
";

const FAIL: &str = r"
run orange task diff
read TASK.md
edit TASK.md DONE: greet.sh says Bonjour => DONE: greet.sh says Bonjour\n\n## Review\n\nVerdict: FAIL\n\nIt greets only once.
run orange task update --status working
";

const FIX: &str = r"
run orange inbox
read greet.sh
edit greet.sh echo Bonjour => echo Bonjour\necho Salut
run git commit -qam 'Greet twice'
read TASK.md
edit TASK.md DONE: greet.sh says Bonjour => DONE: greet.sh greets twice
run orange task update --status agent-review
say I wait for the review.
";

const PASS: &str = r"
run orange task diff
read TASK.md
edit TASK.md DONE: greet.sh greets twice => DONE: greet.sh greets twice\n\n## Review\n\nVerdict: PASS\n\nIt greets twice.
run orange task update --status reviewing
";

const CHANGE: &str = r"
run orange inbox
run git rebase -q main
read TASK.md
edit TASK.md DONE: greet.sh greets twice => DONE: greet.sh greets as often as was asked
run orange task update --status agent-review
say I wait for the review.
";

/// All requests of a turn, joined.
fn turn_requests(requests: &[Value], role: &str, turn: u64) -> String {
    let is_it = |it: &&Value| it["role"] == role && it["turn"] == turn;
    let found = requests.iter().filter(is_it);
    found.map(|it| it["body"].to_string()).collect()
}

/// Plan, work, handoff, a failed review, the message, the fix, a passed review, a rebase, the merge.
fn run_story(around: Around, worker: Agent, reviewer: Agent) {
    let stage = Stage::around(around, &[worker, reviewer]);
    let before = match around {
        Around::Nothing | Around::Freezable => "",
        Around::Sandbox => READ_SECRETS,
        Around::Partial => READ_OUTSIDE,
    };
    stage.script("greet", "worker-1", &format!("{before}{PLAN_AND_WORK}"));
    stage.script("greet", "reviewer-1", FAIL);
    stage.script("greet", "worker-2", FIX);
    stage.script("greet", "reviewer-2", PASS);
    let agents = [
        "--harness",
        worker.name(),
        "--review-harness",
        reviewer.name(),
    ];
    let id = stage.create("greet", &agents);
    stage.wait_for(&id, "reviewing");
    let diagnostics = || stage.diagnostics(&id);
    assert_eq!(
        stage.way(&id),
        [
            "planning",
            "working",
            "agent-review",
            "working",
            "agent-review",
            "reviewing"
        ],
        "{}",
        diagnostics()
    );
    request_long_changes(&stage, &id);
    let requests = stage.requests();
    for (role, turn, words) in [
        ("worker", 1, "ORANGE_TASK_ID="),
        ("worker", 1, "You are the worker of this task"),
        ("worker", 2, "The review of round 1 did not pass"),
        ("reviewer", 1, "You judge work that another agent did"),
        ("reviewer", 1, "+echo Bonjour"),
        ("reviewer", 2, "+echo Salut"),
        ("worker", 3, "line 1 of what is asked"),
        ("worker", 3, "line 200 of what is asked"),
    ] {
        let body = turn_requests(&requests, role, turn);
        assert!(
            body.contains(words),
            "{role} {turn}: {words}\n{}",
            diagnostics()
        );
    }
    let inbox = stage.store().inbox(&id).unwrap();
    assert!(inbox.iter().all(|it| it.read_at.is_some()), "{inbox:?}");
    let runs = stage.store().runs(&id).unwrap().len();
    assert_eq!(runs, 4, "one worker lasts, and each round has a reviewer");

    stage.orange(&["task", "merge", "greet"]);
    stage.wait_for(&id, "done");
    let log = stage.git_text("log --reverse --format=%s main");
    assert_eq!(log, "first\nmoved\nGreet in French\nGreet twice\n");
    // Files that the agents get in their worktree are not part of the work.
    assert_eq!(stage.git_text("ls-tree -r --name-only main"), "greet.sh\n");
    stage.assert_around(around, &["worker"]);
    stage.assert_clean(&format!("{} by {}", worker.name(), reviewer.name()));
}

/// The user asks for changes in two hundred lines: the same worker reads all of them.
fn request_long_changes(stage: &Stage, id: &TaskId) {
    let lines = (1..=200).map(|number| format!("line {number} of what is asked\n"));
    let pass = PASS.replace("greets twice", "greets as often as was asked");
    stage.script("greet", "worker-3", CHANGE);
    stage.script("greet", "reviewer-1", &pass);
    let lines: String = lines.collect();
    let moved = stage.git("commit -q --allow-empty -m moved");
    assert!(moved.status.success());
    stage.orange(&["task", "request-changes", "greet", "-m", &lines]);
    stage.wait_for_step(id, "worker", 3, 0);
    stage.wait_for(id, "reviewing");
}

macro_rules! stories {
    ($($around:ident $name:ident: $worker:ident, $reviewer:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let agents = [Agent::$worker, Agent::$reviewer];
                run_in_namespace(concat!("stories::", stringify!($name)), &agents, || {
                    run_story(Around::$around, Agent::$worker, Agent::$reviewer);
                });
            }
        )+
    };
}

// Each agent is a worker once, with all permissions, and a reviewer once, with a reviewer's.
stories! {
    Nothing claude_works_and_codex_reviews: Claude, Codex;
    Nothing codex_works_and_gemini_reviews: Codex, Gemini;
    Nothing gemini_works_and_opencode_reviews: Gemini, Opencode;
    Nothing opencode_works_and_pi_reviews: Opencode, Pi;
    Nothing pi_works_and_claude_reviews: Pi, Claude;
    Sandbox claude_works_in_a_sandbox_and_codex_reviews: Claude, Codex;
    Sandbox codex_works_in_a_sandbox_and_gemini_reviews: Codex, Gemini;
    Sandbox gemini_works_in_a_sandbox_and_opencode_reviews: Gemini, Opencode;
    Sandbox opencode_works_in_a_sandbox_and_pi_reviews: Opencode, Pi;
    Sandbox pi_works_in_a_sandbox_and_claude_reviews: Pi, Claude;
    Partial claude_works_without_namespaces_and_codex_reviews: Claude, Codex;
    // gemini runs commands in terminals that it makes, which are refused there.
    Partial codex_works_without_namespaces_and_pi_reviews: Codex, Pi;
    Partial pi_works_without_namespaces_and_opencode_reviews: Pi, Opencode;
}
