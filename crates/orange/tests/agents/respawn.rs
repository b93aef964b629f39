//! An agent killed during its turn comes back.

use std::fs;
use std::process::Command;

use orange_engine::names::TaskId;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::{Around, Stage, running};

const PLAN: &str = r"
run uname -n | sed s,^,host-is-,; cat ~/.ssh/id_ed25519 ~/.netrc; printf '\n## Plan\n\nAPPROACH: add a script\nTOUCHING: greet.sh\n' >> TASK.md
run orange task update --status working
slow 300
run echo this is never run
";

/// It comes back with reduced permissions, and must not ask for approval.
const CONTINUE: &str = r"
write greet.sh echo Bonjour\n
run git add greet.sh
run git commit -qm 'Greet in French'
read TASK.md
edit TASK.md TOUCHING: greet.sh => TOUCHING: greet.sh\n\n## Handoff\n\nDONE: greet.sh says Bonjour
run orange task update --status agent-review
say I wait for the review.
";

const PASS: &str = r"
read TASK.md
edit TASK.md DONE: greet.sh says Bonjour => DONE: greet.sh says Bonjour\n\n## Review\n\nVerdict: PASS\n\nIt greets.
run orange task update --status reviewing
";

/// Kills the worker while the model answers, and respawns it; it remembers the conversation.
fn kill_and_respawn(around: Around, agent: Agent) {
    let stage = Stage::around(around, &[agent]);
    stage.script("greet", "worker-1", PLAN);
    stage.script("greet", "resumed-1", CONTINUE);
    stage.script("greet", "reviewer-1", PASS);
    let id = stage.create("greet", &["--harness", agent.name()]);
    stage.wait_for_step(&id, "worker", 1, 2);
    // Some agents are a program inside another one, so kill both, or the other would continue.
    let agent_processes = running().into_keys().map(|pid| pid.to_string());
    let killed = Command::new("kill")
        .arg("-9")
        .args(agent_processes)
        .status();
    assert!(killed.unwrap().success());
    stage.respawn(&id);
    stage.wait_for(&id, "reviewing");
    let requests = stage.requests();
    let resumed = requests.iter().find(|it| it["role"] == "resumed").unwrap();
    let output = resumed["body"].to_string();
    assert!(output.contains("An earlier session of this task ended"));
    for history in ["You are the worker of this task", "APPROACH: add a script"] {
        assert!(
            output.contains(history),
            "{history}\n{}",
            stage.diagnostics(&id)
        );
    }
    assert_same_start(&stage, &id, agent);
    assert_usage(&stage, &id);
    let log = stage.git_text("log --reverse --format=%s main..greet");
    assert_eq!(log, "Greet in French\n");
    stage.orange(&["task", "merge", "greet"]);
    stage.wait_for(&id, "done");
    stage.assert_around(around, &["worker"]);
    stage.assert_clean(&format!("{} killed in its turn", agent.name()));
}

/// What the killed agent used is not counted again for the one that resumed its conversation.
fn assert_usage(stage: &Stage, id: &TaskId) {
    let shown = stage.orange(&["task", "show", id.as_str(), "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let usage = &shown["usage"];
    let read = usage["input_tokens"].as_u64().unwrap_or_default();
    let most = 100 * stage.requests().len() as u64;
    // The planner's two requests, and at least six after the respawn.
    assert!((800..=most).contains(&read), "{usage}, at most {most}");
    assert_eq!(usage["runs"], 3, "{usage}");
}

/// The argument for reduced permissions; one agent has no permissions to reduce.
fn reduced_argument(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "--permission-mode=acceptEdits",
        Agent::Codex => "--ask-for-approval\0on-request",
        Agent::Gemini => "--approval-mode=auto_edit",
        Agent::Opencode => r#""bash":{"*":"ask""#,
        Agent::Pi => "--extension",
    }
}

/// The respawned worker runs where the first one ran, with its variables and the permissions its
/// workflow grants.
fn assert_same_start(stage: &Stage, id: &TaskId, agent: Agent) {
    let runs = stage.store().runs(id).unwrap();
    let mut workers = runs.iter().filter(|it| it.role.as_str() == "worker");
    let (first, second) = (workers.next().unwrap(), workers.next().unwrap());
    let [first_setup, setup] = [first, second].map(|run| run.setup.as_ref().unwrap());
    let mut variables = first_setup.environment.iter();
    assert!(variables.all(|it| setup.environment.contains(it)));
    let mark = format!("ORANGE_RUN_ID={}", second.id);
    let found = running().into_keys().find_map(|pid| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let environ = String::from_utf8_lossy(&environ).into_owned();
        let is_it = environ.split('\0').any(|it| it == mark);
        let at = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        (is_it && at == first_setup.directory).then_some(environ)
    });
    let environ = found.unwrap_or_else(|| panic!("{:?}", running()));
    // Some agents change their process title, so look at the arguments they were started with.
    let started_with = setup.argv.join("\0") + &environ;
    let reduced = reduced_argument(agent);
    assert!(started_with.contains(reduced), "{reduced}\n{started_with}");
}

macro_rules! deaths {
    ($($around:ident $name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!(module_path!(), "::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || {
                    kill_and_respawn(Around::$around, Agent::$agent);
                });
            }
        )+
    };
}

deaths! {
    Nothing lesson_28_claude_comes_back_as_it_was_and_remembers: Claude;
    Nothing lesson_28_gemini_comes_back_as_it_was_and_remembers: Gemini;
    Nothing lesson_28_pi_comes_back_as_it_was_and_remembers: Pi;
    Nothing lesson_28_codex_comes_back_as_it_was_and_remembers: Codex;
    Nothing lesson_28_opencode_comes_back_as_it_was_and_remembers: Opencode;
    Sandbox claude_comes_back_in_a_sandbox: Claude;
    Sandbox gemini_comes_back_in_a_sandbox: Gemini;
    Sandbox pi_comes_back_in_a_sandbox: Pi;
    Sandbox codex_comes_back_in_a_sandbox: Codex;
    Sandbox opencode_comes_back_in_a_sandbox: Opencode;
}
