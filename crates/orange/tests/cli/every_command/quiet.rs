//! `--quiet` prints only answers and errors.

use crate::support::Stage;

#[test]
fn quiet_leaves_answers_and_errors() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    let both = |arguments: &[&str]| {
        let output = stage.orange(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    let (answer, narration) = both(&["task", "delete", "fix", "--yes"]);
    assert!(narration.contains("--undo"), "{narration}");
    stage.run_ok(&["task", "delete", id.as_str(), "--undo"]);
    for quiet in [
        &["--quiet", "task", "delete", "fix", "--yes"][..],
        &["task", "delete", "fix", "--yes", "-q"],
    ] {
        assert_eq!(both(quiet), (answer.clone(), String::new()));
        stage.run_ok(&["task", "delete", id.as_str(), "--undo"]);
    }
    let (answer, said) = both(&["task", "spawn", "fix", "-q"]);
    assert_eq!(answer, "");
    assert!(said.starts_with("error: cannot "), "{said}");
    assert!(
        said.contains("\nhint: "),
        "an error says what to do: {said}"
    );
}
