//! `orange inbox`.

use std::fs;
use std::process::Stdio;

use crate::task_tell::start_waiting_task;

#[test]
fn a_message_that_could_not_be_printed_is_not_read() {
    let (stage, id) = start_waiting_task(
        "echo $ORANGE_RUN_ID > $SCRIPTS/run\necho $ORANGE_RUN_PROOF > $SCRIPTS/proof\ndialog",
    );
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    stage.wait_until_idle(&id);
    let kept = |name: &str| {
        let text = fs::read_to_string(stage.path("scripts").join(name)).unwrap();
        text.trim().to_owned()
    };
    let read = |out: Stdio| {
        let mut inbox = stage.orange(&["inbox"]);
        inbox.env("ORANGE_RUN_ID", kept("run"));
        inbox.env("ORANGE_RUN_PROOF", kept("proof"));
        inbox.env("ORANGE_TASK_ID", id.as_str()).stdout(out);
        inbox.output().unwrap()
    };
    let is_read = || {
        let inbox = stage.store().inbox(&id).unwrap();
        inbox.iter().any(|entry| entry.read_at.is_some())
    };
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    assert!(!read(full.into()).status.success());
    assert!(!is_read());
    let output = read(Stdio::piped());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("two lines"), "{output:?}");
    assert!(is_read());
}

#[test]
fn a_message_names_its_author() {
    let (stage, id) = start_waiting_task("swallow 0\nask inbox");
    stage.run_ok(&["task", "tell", id.as_str(), "-m", "use tabs"]);
    stage.wait_for_turn("worker-1");
    let read = stage.calls();
    assert!(read.contains(" from the user to the worker:"), "{read}");
    let shown = stage.run_ok(&["inbox", id.as_str()]);
    assert!(shown.starts_with("from you to the worker, "), "{shown}");
    assert!(shown.ends_with(":\nuse tabs\n"), "{shown}");
}
