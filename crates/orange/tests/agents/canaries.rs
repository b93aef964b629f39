//! Canaries work: a leak would be noticed.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::time::Duration;

use orange_config::clock::Deadline;

use crate::agent::Agent;
use crate::namespace::{CANARY, run_in_namespace};
use crate::network::rejected_packets;
use crate::secret_watch::{SecretWatch, files_with};
use crate::stage::Stage;

const TELL: &str = r"
run env | sort
run git commit -q --allow-empty -m 'Tell'
run printf '\n## Handoff\n\nDONE: told everything\n' >> TASK.md
run orange task update --status reviewing
";

#[test]
fn outgoing_connections_are_rejected_and_counted() {
    let name = "canaries::outgoing_connections_are_rejected_and_counted";
    run_in_namespace(name, &[], || {
        let before = rejected_packets();
        // An address reserved for documentation.
        let outside = SocketAddr::from(([192, 0, 2, 1], 80));
        let tried = TcpStream::connect_timeout(&outside, Duration::from_secs(5));
        assert!(tried.is_err(), "the connection left loopback");
        assert!(rejected_packets() > before, "it was not counted");
    });
}

#[test]
fn a_variable_passed_by_a_definition_reaches_the_agent() {
    let name = "canaries::a_variable_passed_by_a_definition_reaches_the_agent";
    run_in_namespace(name, &[Agent::Pi], || {
        let stage = Stage::new(&[Agent::Pi]);
        let shipped = include_str!("../../../../harnesses/pi.toml");
        let leaky = shipped.replace("pass = [", "pass = [\"PERSON_CANARY\", ");
        assert_ne!(leaky, shipped);
        let folder = stage.path("person/orange/harnesses");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("pi.toml"), leaky).unwrap();
        stage.script("greet", "worker-1", TELL);
        let id = stage.create("greet", &["--harness", "pi", "--workflow", "minimal"]);
        stage.wait_for(&id, "reviewing");
        let log = fs::read_to_string(stage.path("requests")).unwrap();
        assert!(log.contains(CANARY), "{}", stage.diagnostics(&id));
        let left = catch_unwind(AssertUnwindSafe(|| stage.assert_clean("a leak")));
        assert!(left.is_err(), "the leak was not noticed");
    });
}

/// A process that sleeps, with these variables and a name in its arguments.
fn sleeping(name: &str, variables: &[(&str, &str)]) -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 1; true", name]);
    shell
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    shell.envs(variables.iter().copied()).spawn().unwrap()
}

#[test]
fn a_secret_is_found_in_processes_and_files() {
    let name = "canaries::a_secret_is_found_in_processes_and_files";
    run_in_namespace(name, &[], || {
        let watch = SecretWatch::start(CANARY);
        let mut children = [
            // Of an agent: it and what it starts have the secret.
            sleeping("agent", &[("ORANGE_RUN_ID", "1"), ("SECRET", CANARY)]),
            // Of the user: only a secret in its arguments counts.
            sleeping("user", &[("SECRET", CANARY)]),
            sleeping(CANARY, &[]),
        ];
        let ended = || {
            let mut ended = children.iter_mut().map(|it| it.try_wait().unwrap());
            ended.all(|it| it.is_some())
        };
        assert!(Deadline::after(Duration::from_secs(20)).wait_for(ended));
        let seen = watch.finish();
        let leaks: Vec<&str> = seen.leaks.iter().map(String::as_str).collect();
        assert_eq!(
            leaks,
            [
                "arguments of sh",
                "environment of sh: sh -c sleep 1; true agent ",
                "environment of sleep: sleep 1 ",
            ]
        );
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/file"), format!("\0{CANARY}\n")).unwrap();
        fs::write(folder.path().join("a/other"), "nothing").unwrap();
        let found = files_with(CANARY, folder.path());
        assert_eq!(
            found,
            [folder.path().join("a/b/file").display().to_string()]
        );
    });
}
