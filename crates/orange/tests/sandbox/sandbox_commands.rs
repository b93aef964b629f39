//! `orange sandbox`: explain, shell, port and try.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};

use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::stories::{PROVE, stage};
use crate::support::{Stage, log, wait_for};

/// Answers every connection to a port with a line.
const SERVER: &str = "perl -MIO::Socket::INET -e '
my $server = IO::Socket::INET->new(LocalAddr => \"127.0.0.1:3456\", Listen => 5, ReuseAddr => 1) or die;
while (my $client = $server->accept) { my $line = <$client>; print $client \"inside got $line\"; close $client }' &
";

fn limit_network(stage: &Stage, network: &str) {
    let settings = format!("[sandbox]\nmode = \"required\"\nnetwork = \"{network}\"\n");
    fs::write(stage.home().settings(), settings).unwrap();
}

/// A task whose worker runs a script.
fn started(stage: &Stage, script: &str) -> TaskId {
    stage.script(
        "worker-1",
        &format!("{PROVE}give ready < /dev/null\n{script}"),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the agent", || stage.path("scripts/ready").exists());
    id
}

/// A running `orange sandbox port`, and the address that it opened.
struct OpenPort {
    child: Child,
    answer: Value,
}

impl OpenPort {
    fn open(stage: &Stage, id: &TaskId) -> OpenPort {
        let mut command = stage.orange(&["sandbox", "port", id.as_str(), "3456", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let answer = serde_json::from_str(&line).unwrap();
        OpenPort { child, answer }
    }

    fn ask(&self, text: &str) -> String {
        let url = self.answer["url"].as_str().unwrap();
        let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        let _closed = stream.read_to_string(&mut answer);
        answer
    }
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

#[test]
fn a_port_leads_to_a_server_inside_and_nowhere_else() {
    let stage = stage("default");
    limit_network(&stage, "none");
    let swap = "pause swap\nrm /run/orange/ports/socket\n\
                ln -s \"$VICTIM\" /run/orange/ports/socket\ngive swapped < /dev/null\n";
    let victim = stage.path("v");
    let listener = UnixListener::bind(&victim).unwrap();
    let swap = swap.replace("\"$VICTIM\"", &victim.display().to_string());
    let id = started(&stage, &format!("{SERVER}{swap}"));
    let port = OpenPort::open(&stage, &id);
    wait_for("the server", || port.ask("hello\n") == "inside got hello\n");
    assert_eq!(port.ask("again\n"), "inside got again\n");
    // A second one gets another port of this machine.
    let second = OpenPort::open(&stage, &id);
    assert_ne!(second.answer["url"], port.answer["url"]);
    assert_eq!(second.answer["has_server"], true);
    assert_eq!(second.ask("hello\n"), "inside got hello\n");

    // A link of the agent leads nowhere.
    stage.script("swap", "");
    wait_for("the link", || stage.path("scripts/swapped").exists());
    assert_eq!(port.ask("hello\n"), "");
    let third = OpenPort::open(&stage, &id);
    assert_eq!(third.answer["has_server"], false);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the link was followed");
}

#[test]
fn a_port_needs_a_live_agent_with_a_network_of_its_own() {
    let stage = stage("default");
    let id = started(&stage, "");
    let refused = |code: &str| {
        let (exit, answer) = stage.json(&["sandbox", "port", id.as_str(), "3456", "--json"]);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        exit
    };
    assert_eq!(refused("network-shared"), 3);
    stage.run_ok(&["task", "stop", id.as_str()]);
    assert_eq!(refused("no-sandboxed-run"), 4);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let stage = stage("default");
    limit_network(&stage, "none");
    let id = started(&stage, "");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let (exit, answer) = stage.json(&[
        "sandbox",
        "port",
        id.as_str(),
        "80",
        "--listen",
        &taken,
        "--json",
    ]);
    assert_eq!(
        (exit, &answer["error"]["code"]),
        (3, &"port-not-opened".into())
    );
}

#[test]
fn a_shell_is_where_the_agent_works_and_its_commits_count() {
    let stage = stage("default");
    let id = started(&stage, "echo mine > ~/note\ngive noted < /dev/null\n");
    wait_for("the note", || stage.path("scripts/noted").exists());
    let shell = |script: &str| {
        stage.call(&[
            "sandbox",
            "shell",
            id.as_str(),
            "--",
            "/bin/sh",
            "-c",
            script,
        ])
    };
    let (code, text) = shell("uname -n; cat ~/note; ls ~/repo ~/secret; exit 7");
    assert_eq!(code, 7, "{text}");
    assert!(text.starts_with("orange\nmine\n"), "{text}");
    assert!(
        !text.contains("canary") && !text.contains("README"),
        "{text}"
    );
    let (code, text) = shell(
        "echo text > new.txt && git add new.txt && git commit -qm 'by hand' && orange task show",
    );
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains("only an agent's own calls are answered"),
        "{text}"
    );
    stage.run_ok(&["task", "diff", id.as_str()]);
    assert_eq!(log(&stage, &id), ["by hand"]);
    // Nothing is left of the shells.
    let directory = stage.home().path().join("tasks");
    let mut left = walkdir(&directory);
    left.retain(|path| path.contains("/shell-"));
    assert_eq!(left, [] as [&str; 0]);
    let (_, text) = shell("kill -TERM $$");
    assert_eq!(text, "");
    let words = ["sandbox", "shell", id.as_str(), "--json", "--", "nosuch"];
    let (code, answer) = stage.json(&words);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (4, &"not-in-sandbox-path".into())
    );
    let other = stage.create(&["Not started"]);
    let (code, answer) = stage.json(&["sandbox", "shell", other.as_str(), "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (4, &"no-sandboxed-run".into())
    );
}

/// Every path below a folder.
fn walkdir(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        found.push(path.display().to_string());
        if entry.file_type().unwrap().is_dir() {
            found.extend(walkdir(&path));
        }
    }
    found
}

#[test]
fn what_an_agent_sees_is_explained_before_and_while_it_runs() {
    let stage = stage("default");
    let id = stage.create(&["Add a line"]);
    let explain = |id: &TaskId| {
        let (code, answer) = stage.json(&["sandbox", "explain", id.as_str(), "--json"]);
        assert_eq!(code, 0, "{answer}");
        answer
    };
    let before = explain(&id);
    assert_eq!(before["level"], "full");
    assert_eq!(before["run"], Value::Null);
    assert_eq!(before["inside"]["network"], "open");
    let id = started(&stage, "");
    let during = explain(&id);
    assert_ne!(during["run"], Value::Null);
    let worktree = stage.worktree(&id).display().to_string();
    let writes = during["inside"]["writes"].as_array().unwrap();
    assert!(writes.iter().any(|it| it == &worktree), "{during}");
    // A change counts for the next agent, and the explanation of a live one stays true.
    limit_network(&stage, "none");
    assert_eq!(explain(&id)["inside"], during["inside"]);
    stage.run_ok(&["task", "stop", id.as_str()]);
    let after = explain(&id);
    assert_eq!(after["run"], Value::Null);
    assert_eq!(after["inside"]["network"], "none");
    assert_eq!(
        after["inside"]["writes"].as_array().unwrap().len(),
        writes.len() - 1
    );
    let text = stage.run_ok(&["sandbox", "explain", id.as_str()]);
    for line in [
        "agent      the next worker, with script",
        "level      full",
        "network    none",
        "repository private; commits are imported into yours",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let words = stage.run_ok(&["sandbox", "explain", id.as_str(), "--argv"]);
    assert!(words.contains("--unshare-net\n"), "{words}");
    let profile = stage.run_ok(&["sandbox", "explain", id.as_str(), "--seatbelt"]);
    assert!(
        profile.starts_with("(version 1)\n(deny default)\n"),
        "{profile}"
    );
    let worktree = stage.worktree(&id).display().to_string();
    for (rule, path) in [
        ("(allow file-read* file-write* (subpath", worktree.clone()),
        ("(deny file-write* (subpath", format!("{worktree}/.git")),
    ] {
        // On macOS, what is in `/tmp` is in `/private/tmp`.
        let end = format!("{path}\"))");
        let mut lines = profile.lines();
        let is_rule = |line: &str| line.starts_with(rule) && line.ends_with(&end);
        assert!(lines.any(is_rule), "{rule} {path}: {profile}");
    }
    assert!(!profile.contains("(remote ip"), "{profile}");
    let nowhere = stage.path("nowhere").display().to_string();
    let root = stage.path("").display().to_string();
    let scripts = stage.path("scripts").display().to_string();
    let listed = [&nowhere, &root, &scripts];
    let settings = format!("[sandbox]\nmode = \"required\"\nread = {listed:?}\n");
    fs::write(stage.home().settings(), settings).unwrap();
    let not_shown = &explain(&id)["inside"]["not_shown"];
    assert_eq!(not_shown, &json!([nowhere, root]));
    fs::write(stage.home().settings(), "[sandbox]\nmode = \"off\"\n").unwrap();
    let off = explain(&id);
    assert_eq!(
        (&off["level"], &off["mode"]),
        (&"none".into(), &"off".into())
    );
    assert_eq!(off["inside"], Value::Null);
}

#[test]
fn a_workflow_can_require_a_sandbox() {
    let stage = stage("minimal");
    let text = stage.run_ok(&["workflow", "show", "minimal"]);
    let text = text.replacen("name: minimal", "name: guarded\nsandbox: full", 1);
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/guarded.yml"), text).unwrap();
    fs::write(stage.home().settings(), "[sandbox]\nmode = \"off\"\n").unwrap();
    stage.script("worker-1", &format!("{PROVE}give ready < /dev/null\n"));
    let id = stage.create(&["Add a line", "--workflow", "guarded"]);
    stage.call(&["task", "spawn", id.as_str()]);
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    let text = stage.run_ok(&["sandbox", "explain", id.as_str()]);
    assert!(
        text.contains("because the workflow needs a sandbox"),
        "{text}"
    );
    let reason = "the workflow `guarded` needs one, and `sandbox.mode` is \"off\"";
    assert!(shown.contains(reason), "{shown}");
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert!(!stage.path("scripts/ready").exists());
    // With a sandbox, it starts.
    fs::write(stage.home().settings(), "[sandbox]\nmode = \"auto\"\n").unwrap();
    stage.run_ok(&["task", "retry", id.as_str()]);
    wait_for("the agent", || stage.path("scripts/ready").exists());
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    assert!(shown.contains("sandbox     worker: full\n"), "{shown}");
}

#[test]
fn attempts_succeed_without_a_sandbox_and_fail_inside() {
    let stage = stage("default");
    let tried = |code: i32| {
        let (exit, answer) = stage.json(&["sandbox", "try", "--json"]);
        assert_eq!(exit, code, "{answer}");
        answer["attempts"].as_array().unwrap().clone()
    };
    let is_root = rustix::process::geteuid().is_root();
    for attempt in tried(0) {
        let name = attempt["attempt"].as_str().unwrap();
        let is_port = name == "connect-port";
        assert_eq!(attempt["succeeds_inside"], is_port, "{attempt}");
        let needs_root = ["write-system", "have-capability"].contains(&name);
        assert_eq!(
            attempt["succeeds_without"],
            is_root || !needs_root,
            "{attempt}"
        );
    }
    limit_network(&stage, "list");
    let attempts = tried(0);
    assert!(attempts.len() >= 13);
    for attempt in attempts {
        assert_eq!(attempt["succeeds_inside"], false, "{attempt}");
    }
    let left = fs::read_dir(stage.home().path()).unwrap();
    let mut left = left.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert!(!left.any(|name| name.starts_with("attempts")));
}

#[test]
fn what_is_required_does_not_share_the_users_repository() {
    let stage = stage("minimal");
    // git ignores the comment, but grafts may come to stand there.
    let grafts = stage.path("repo/.git/info/grafts");
    fs::create_dir_all(grafts.parent().unwrap()).unwrap();
    fs::write(grafts, "# none\n").unwrap();
    stage.script("worker-1", &format!("{PROVE}give ready < /dev/null\n"));
    let id = stage.create(&["Add a line"]);
    let (_, said) = stage.call(&["task", "spawn", id.as_str()]);
    let (_, why) = stage.json(&["task", "why", id.as_str(), "--json"]);
    let why = format!("{said}{why}");
    for words in [
        "`sandbox.mode` is \\\"required\\\"",
        "would share your repository: it has replace refs or grafts",
        "set `sandbox.mode` to \\\"auto\\\"",
    ] {
        assert!(why.contains(words), "{why}");
    }
    assert!(!stage.path("scripts/ready").exists());
    let settings = "[sandbox]\nmode = \"auto\"\n";
    fs::write(stage.home().settings(), settings).unwrap();
    stage.run_ok(&["task", "retry", id.as_str()]);
    wait_for("the agent", || stage.path("scripts/ready").exists());
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    let shared = &shown["sandboxes"][0]["shared_repository"];
    assert_eq!(shared, "it has replace refs or grafts", "{shown}");
}
