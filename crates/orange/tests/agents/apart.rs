//! Runs a test in a namespace that has nothing but loopback.
//!
//! The test starts itself again behind `unshare`, with an empty environment. Everything that it
//! starts there, however it detaches itself, ends with the namespace of processes.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;

use crate::agent::{Agent, installed, prefix};
use crate::report;

/// Says that this process is the one inside.
const INSIDE: &str = "ORANGE_TEST_IS_APART";

/// What the tester has at home and in the environment, and no agent may ever tell.
pub const CANARY: &str = "canary-6e1f0c";

/// How long one test may take; a loaded machine is slow.
const LONGEST: Duration = Duration::from_mins(8);

/// How much longer whoever waits for it waits, so that it can say itself what was missing.
const GRACE: Duration = Duration::from_mins(1);

/// Runs `body` apart. `name` is the test's own, by which it is started again.
///
/// On a developer's machine a test whose agents are not installed is skipped and says so; in CI it
/// fails.
pub fn apart(name: &str, agents: &[Agent], body: impl FnOnce()) {
    apart_for(LONGEST, name, agents, body);
}

/// The same for a test that may take another while.
pub fn apart_for(longest: Duration, name: &str, agents: &[Agent], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let prefix = prefix();
    if let Err(missing) = installed(&prefix, agents) {
        let is_ci = std::env::var_os("CI").is_some();
        assert!(!is_ci, "{missing}: run `.ci/agents`");
        println!("SKIPPED {name}: {missing}; run `.ci/agents`");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    // What ends with the namespace may write to the last, so that its files go after that.
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
        .env(INSIDE, "1")
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
    report::passed(name, agents);
}
