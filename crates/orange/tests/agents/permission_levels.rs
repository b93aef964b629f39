//! At every permission level, an agent runs `orange` without asking.
//!
//! The stories show this for a worker with all permissions and for a reviewer. Here a worker with
//! reduced permissions commits and hands off; a single question would block the task.

use std::fs;

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::Stage;

const MINIMAL: &str = include_str!("../../../../workflows/minimal.yml");

const WORK: &str = r"
write greet.sh echo Bonjour\n
run git add greet.sh
run git commit -qm 'Greet in French'
read TASK.md
edit TASK.md Say Bonjour. => Say Bonjour.\n\n## Handoff\n\nDONE: greet.sh says Bonjour
run orange task update --status reviewing
";

fn work(agent: Agent) {
    let stage = Stage::new(&[agent]);
    let careful = MINIMAL
        .replace("name: minimal", "name: careful")
        .replace("permissions: full", "permissions: reduced");
    let workflows = stage.path("person/orange/workflows");
    fs::create_dir_all(&workflows).unwrap();
    fs::write(workflows.join("careful.yml"), careful).unwrap();
    stage.script("greet", "worker-1", WORK);
    let options = ["--workflow", "careful", "--context", "Say Bonjour."];
    let id = stage.create(
        "greet",
        &[&options[..], &["--harness", agent.name()]].concat(),
    );
    stage.wait_for(&id, "reviewing");
    assert_eq!(
        stage.git_text("log --reverse --format=%s main..greet"),
        "Greet in French\n"
    );
    stage.assert_clean(&format!("{} with reduced permissions", agent.name()));
}

macro_rules! levels {
    ($($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                run_in_namespace(concat!(module_path!(), "::", stringify!($name)), &[Agent::$agent], || {
                    work(Agent::$agent);
                });
            }
        )+
    };
}

levels! {
    claude_with_reduced_permissions: Claude;
    codex_with_reduced_permissions: Codex;
    gemini_with_reduced_permissions: Gemini;
    opencode_with_reduced_permissions: Opencode;
    pi_with_reduced_permissions: Pi;
}
