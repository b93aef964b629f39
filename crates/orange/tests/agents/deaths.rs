//! An agent that is killed in its turn comes back.

use std::process::Command;

use crate::agent::Agent;
use crate::apart::apart;
use crate::stage::{Stage, running};

const PLAN: &str = r"
run printf '\n## Plan\n\nAPPROACH: add a script\nTOUCHING: greet.sh\n' >> TASK.md
run orange task update --status working
slow 300
run echo this is never run
";

/// It comes back with reduced permissions, and is asked nothing.
const GO_ON: &str = r"
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

/// Kills the worker while the model answers, and brings it back; all but one remember what was said.
fn die(agent: Agent) {
    let stage = Stage::new(&[agent]);
    stage.script("greet", "worker-1", PLAN);
    stage.script("greet", "resumed-1", GO_ON);
    stage.script("greet", "reviewer-1", PASS);
    let id = stage.create("greet", &["--harness", agent.name()]);
    stage.wait_for_step(&id, "worker", 1, 2);
    // Some are a program within another one, which would go on without it.
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
    let said = resumed["body"].to_string();
    assert!(said.contains("An earlier session of this task ended"));
    for history in ["You are the worker of this task", "APPROACH: add a script"] {
        let knows = agent != Agent::Opencode;
        assert_eq!(
            said.contains(history),
            knows,
            "{history}\n{}",
            stage.told(&id)
        );
    }
    let log = stage.git_text("log --reverse --format=%s main..greet");
    assert_eq!(log, "Greet in French\n");
    stage.orange(&["task", "merge", "greet"]);
    stage.wait_for(&id, "done");
    stage.leave(&format!("{} killed in its turn", agent.name()));
}

macro_rules! deaths {
    ($($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("deaths::", stringify!($name));
                apart(name, &[Agent::$agent], || die(Agent::$agent));
            }
        )+
    };
}

// The last one takes no prompt when it goes on with a conversation, so that it begins anew.
deaths! {
    claude_comes_back_and_remembers: Claude;
    gemini_comes_back_and_remembers: Gemini;
    pi_comes_back_and_remembers: Pi;
    codex_comes_back_and_remembers: Codex;
    opencode_comes_back: Opencode;
}
