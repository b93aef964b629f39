//! Canaries work: a leak would be noticed.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::agent::Agent;
use crate::namespace::{CANARY, run_in_namespace};
use crate::network::rejected_packets;
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
