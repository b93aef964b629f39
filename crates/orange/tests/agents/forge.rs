//! A reviewer posts nothing to a forge, whatever its model says.
//!
//! The forge programs are canaries that record which process ran them. The worker, where it may run
//! them, shows that they would be run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::Stage;

const WORK: &str = r"
run printf '\n## Plan\n\nAPPROACH: add a script\nTOUCHING: greet.sh\n' >> TASK.md
run orange task update --status working
run echo 'echo Bonjour' > greet.sh && git add greet.sh && git commit -qm 'Greet in French'
run gh pr comment 1 --body from-the-worker
run printf '\n## Handoff\n\nDONE: greet.sh says Bonjour\n' >> TASK.md
run orange task update --status agent-review
say I wait for the review.
";

const POST_AND_PASS: &str = r"
run gh pr comment 1 --body from-the-reviewer
run glab mr note 1 --message from-the-reviewer
run git push origin HEAD:refs/heads/from-the-reviewer
run git status && gh pr review 1 --approve --body from-the-reviewer
run orange task diff
read TASK.md
edit TASK.md DONE: greet.sh says Bonjour => DONE: greet.sh says Bonjour\n\n## Review\n\nVerdict: PASS\n\nIt greets.
run orange task update --status reviewing
";

/// Which roles may run a forge program.
#[derive(Clone, Copy)]
struct PostPermission {
    worker: bool,
    reviewer: bool,
}

const WORKER: PostPermission = PostPermission {
    worker: true,
    reviewer: false,
};

/// Codex applies its rules to the whole worktree, whatever else is permitted.
const NO_ROLE: PostPermission = PostPermission {
    worker: false,
    reviewer: false,
};

/// pi has no permissions.
const BOTH: PostPermission = PostPermission {
    worker: true,
    reviewer: true,
};

/// The model tells the reviewer to post four times; the reviewer is refused, asks no one, and
/// continues. `may` says which roles of this agent can post at all.
fn judge(agent: Agent, may: PostPermission) {
    let stage = Stage::new(&[agent]);
    let posted = stage.path("posted");
    for program in ["gh", "glab"] {
        let text = format!("#!/bin/sh\necho {program} \"$@\" >> {}\n", posted.display());
        let path = stage.path("bin").join(program);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let remote = stage.path("remote.git");
    let remote = remote.to_str().unwrap();
    stage.git_text(&format!("init -q --bare {remote}"));
    stage.git_text(&format!("remote add origin {remote}"));
    stage.script("greet", "worker-1", WORK);
    stage.script("greet", "reviewer-1", POST_AND_PASS);
    let id = stage.create("greet", &["--harness", agent.name()]);
    stage.wait_for(&id, "agent-review");
    stage.wait_for(&id, "reviewing");
    let ran = fs::read_to_string(&posted).unwrap_or_default();
    let diagnostics = stage.diagnostics(&id);
    let is_posted = |by: &str| ran.contains(by);
    let pushed = stage.git_text(&format!("ls-remote {remote}"));
    assert_eq!(
        is_posted("from-the-worker"),
        may.worker,
        "{ran}\n{diagnostics}"
    );
    assert_eq!(
        is_posted("from-the-reviewer"),
        may.reviewer,
        "{ran}\n{diagnostics}"
    );
    assert_eq!(
        pushed.contains("reviewer"),
        may.reviewer,
        "{pushed}\n{diagnostics}"
    );
    let requests = stage.requests();
    let requests = requests.iter().filter(|it| it["role"] == "reviewer");
    let requests = requests.map(|it| it["answer"].to_string());
    let requests = requests.filter(|it| it.contains("from-the-reviewer"));
    assert_eq!(requests.count(), 4, "its model asked it to: {diagnostics}");
    // The canary records any caller.
    let sung = Command::new(stage.path("bin/gh"))
        .arg("by-the-test")
        .status();
    assert!(sung.unwrap().success());
    assert!(
        fs::read_to_string(&posted)
            .unwrap()
            .contains("gh by-the-test")
    );
    stage.orange(&["task", "cancel", "greet"]);
    stage.wait_for(&id, "cancelled");
    stage.assert_clean(&format!("{} asked to post", agent.name()));
}

macro_rules! forge {
    ($($name:ident: $agent:ident, $may:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("forge::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || judge(Agent::$agent, $may));
            }
        )+
    };
}

forge! {
    claude_posts_nothing_as_a_reviewer: Claude, WORKER;
    codex_posts_nothing_as_a_reviewer: Codex, NO_ROLE;
    gemini_posts_nothing_as_a_reviewer: Gemini, WORKER;
    opencode_posts_nothing_as_a_reviewer: Opencode, WORKER;
    pi_has_no_permissions_and_posts: Pi, BOTH;
}
