//! Other tools' failures, tried with the real agents.

use std::fs;
use std::process::Command;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::{Stage, running};

/// Variables that one agent sets for its child processes and that no other agent may see.
const NESTED: [&str; 8] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "OPENCODE",
    "PI_CODING_AGENT",
    "GEMINI_CLI",
    "AI_AGENT",
];

/// The value of such a variable when it comes from another agent.
const NOISE: &str = "noise-of-another-agent";

/// A prompt that begins like a flag stays a prompt, and the agent does not see outer variables.
fn check_start(agent: Agent) {
    let stage = Stage::with(&[agent], &NESTED.map(|name| (name, NOISE)));
    stage.make_careful();
    let workflow = stage.path("person/orange/workflows/careful.yml");
    let text = fs::read_to_string(&workflow).unwrap();
    let odd = "worker: |\n    --version; -p is no flag here\n    # Task:";
    let text = text.replacen("worker: |\n    # Task:", odd, 1);
    assert!(text.contains("is no flag here"));
    fs::write(&workflow, text).unwrap();
    stage.script("greet", "worker-1", "say Done.\n");
    let id = stage.create(
        "greet",
        &["--workflow", "careful", "--harness", agent.name()],
    );
    stage.wait_for_step(&id, "worker", 1, 0);
    let output = stage
        .requests()
        .into_iter()
        .map(|it| it["body"].to_string());
    let output: String = output.collect();
    assert!(
        output.contains("--version; -p is no flag here"),
        "{}",
        stage.diagnostics(&id)
    );
    let environments = running().into_keys().map(|pid| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environ).into_owned()
    });
    let environments: Vec<String> = environments.collect();
    assert!(environments.iter().any(|it| it.contains("ORANGE_RUN_ID=")));
    assert!(environments.iter().all(|it| !it.contains(NOISE)));
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("{} with an odd prompt", agent.name()));
}

/// Two agents that start at the same moment each resume their own conversation.
fn resume(agent: Agent) {
    let stage = Stage::new(&[agent]);
    let branches = ["one", "two"];
    let mut tasks = Vec::new();
    for branch in branches {
        let work = format!("run echo only {branch} knows\nslow 300\nrun echo never\n");
        stage.script(branch, "worker-1", &work);
        stage.script(branch, "resumed-1", "say I continued.\n");
        tasks.push(stage.create(
            branch,
            &["--workflow", "minimal", "--harness", agent.name()],
        ));
    }
    let is_slow = |branch: &str| {
        let requests = stage.requests();
        requests
            .iter()
            .any(|it| it["branch"] == branch && it["step"] == 1)
    };
    for (branch, id) in branches.iter().zip(&tasks) {
        stage.wait_until(id, "the slow answer", || is_slow(branch));
    }
    let all = running().into_keys().map(|pid| pid.to_string());
    let killed = Command::new("kill").arg("-9").args(all).status();
    assert!(killed.unwrap().success());
    for (branch, id) in branches.iter().zip(&tasks) {
        stage.respawn(id);
        let resumed = || {
            let mut requests = stage.requests().into_iter();
            requests.find(|it| it["branch"] == *branch && it["role"] == "resumed")
        };
        stage.wait_until(id, "its return", || resumed().is_some());
        let output = resumed().unwrap()["body"].to_string();
        for other in branches {
            let knows = output.contains(&format!("only {other} knows"));
            assert_eq!(
                knows,
                other == *branch,
                "{branch} of {other}\n{}",
                stage.diagnostics(id)
            );
        }
    }
    for branch in branches {
        stage.orange(&["task", "cancel", branch]);
    }
    stage.assert_clean(&format!("two of {} killed at once", agent.name()));
}

macro_rules! lessons {
    ($act:ident: $($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("lessons::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || $act(Agent::$agent));
            }
        )+
    };
}

// With reduced permissions, so that the allow lists come before the prompt.
lessons! { check_start:
    lessons_27_and_29_claude_reads_its_prompt_and_nothing_around_it: Claude;
    lessons_27_and_29_codex_reads_its_prompt_and_nothing_around_it: Codex;
    lessons_27_and_29_gemini_reads_its_prompt_and_nothing_around_it: Gemini;
    lessons_27_and_29_opencode_reads_its_prompt_and_nothing_around_it: Opencode;
    lessons_27_and_29_pi_reads_its_prompt_and_nothing_around_it: Pi;
}

lessons! { resume:
    lesson_30_claude_goes_on_with_its_own_conversation: Claude;
    lesson_30_codex_goes_on_with_its_own_conversation: Codex;
    lesson_30_gemini_goes_on_with_its_own_conversation: Gemini;
    lesson_30_opencode_goes_on_with_its_own_conversation: Opencode;
    lesson_30_pi_goes_on_with_its_own_conversation: Pi;
}
