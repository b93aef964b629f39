//! Runs a test in a namespace that has only loopback.
//!
//! The test restarts itself under `unshare`, with an empty environment. Every process it starts
//! there ends with the PID namespace, even if it detaches.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;

use crate::agent::{Agent, installed, prefix};
use crate::report;

/// Set in the process inside the namespace.
const INSIDE_NAMESPACE: &str = "ORANGE_TEST_IS_APART";

/// A marker in the tester's home and environment that no agent may ever reveal.
pub const CANARY: &str = "canary-6e1f0c";

/// The time limit for one test; a loaded machine is slow.
const LONGEST: Duration = Duration::from_mins(8);

/// How much longer the outer process waits, so that the test itself can report what was missing.
const GRACE: Duration = Duration::from_mins(1);

/// Runs `body` in isolation. `name` is the test's own name, used to start it again, with or
/// without the crate.
///
/// On a developer's machine a test whose agents are not installed is skipped and says so; in CI it
/// fails.
pub fn run_in_namespace(name: &str, agents: &[Agent], body: impl FnOnce()) {
    run_in_namespace_for(LONGEST, name, agents, body);
}

/// The same with a different time limit.
pub fn run_in_namespace_for(longest: Duration, name: &str, agents: &[Agent], body: impl FnOnce()) {
    if std::env::var_os(INSIDE_NAMESPACE).is_some() {
        return body();
    }
    let name = name.strip_prefix("agents::").unwrap_or(name);
    let prefix = prefix();
    if let Err(missing) = installed(&prefix, agents) {
        let is_ci = std::env::var_os("CI").is_some();
        assert!(!is_ci, "{missing}: run `.ci/agents`");
        println!("SKIPPED {name}: {missing}; run `.ci/agents`");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    // Processes that end with the namespace may write until then, so their files are removed
    // afterwards.
    let files = tempfile::tempdir().unwrap();
    fs::write(home.path().join("canary.txt"), CANARY).unwrap();
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.arg("--map-root-user");
    }
    unshare
        .args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", r#"ip link set lo up && exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.path())
        .env("TMPDIR", files.path())
        .env("ORANGE_AGENTS", &prefix)
        .env(INSIDE_NAMESPACE, "1")
        .env("TESTER_CANARY", CANARY)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = unshare.spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let out = thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    let err = thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).map(|_| text)
    });
    let ended = Deadline::after(longest + GRACE).wait_for(|| child.try_wait().unwrap().is_some());
    if !ended {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let said = [out, err].map(|it| it.join().unwrap().unwrap_or_default());
    println!("{}", said.concat());
    assert!(ended, "`{name}` took longer than {longest:?}");
    assert!(status.success(), "`{name}` failed apart: {status}");
    assert!(said[0].contains("1 passed"), "`{name}` did not run apart");
    report::record_pass(name, agents);
}
