//! `orange job add`.

use std::fs;

use crate::support::Stage;

#[test]
fn a_job_is_added_to_the_users_file() {
    let stage = Stage::new("default");
    let path = stage.home().jobs();
    fs::write(&path, "# mine\n").unwrap();
    let added = stage.run_ok(&["job", "add", "0 9 * * 1-5", "Write the report"]);
    assert!(
        added.starts_with("write-the-report: added; next at "),
        "{added}"
    );
    let options = [
        "--zone",
        "Europe/Berlin",
        "--name",
        "night",
        "--missed",
        "all",
    ];
    let words = [&["job", "add", "@daily", "--command", "true"][..], &options].concat();
    stage.run_ok(&words);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# mine\n"), "{text}");
    assert!(text.contains("zone = \"Europe/Berlin\""), "{text}");
}

#[test]
fn what_is_no_job_is_refused_and_not_written() {
    let stage = Stage::new("default");
    let cases: [(&[&str], &str); 8] = [
        (&["@daily"], "usage"),
        (&["@daily", "x", "--workflow", "nothing"], "job-invalid"),
        (&["@daily", "x", "--harness", "nothing"], "job-invalid"),
        (&["0 0 31 2 *", "x"], "job-invalid"),
        (&["0 0 * * * *", "x"], "job-invalid"),
        (&["@daily", "x", "--zone", "Mars"], "job-invalid"),
        (&["@daily", "x", "--window", "900h"], "job-invalid"),
        (&["@daily", "x", "--name", "../up"], "job-invalid"),
    ];
    for (words, code) in cases {
        let words = [&["job", "add"][..], words, &["--json"]].concat();
        let (_, answer) = stage.json(&words);
        assert_eq!(answer["error"]["code"], code, "{words:?}: {answer}");
    }
    assert!(!stage.home().jobs().exists());
    stage.run_ok(&["job", "add", "@daily", "Look"]);
    let (_, answer) = stage.json(&["job", "add", "@hourly", "Look", "--json"]);
    assert_eq!(answer["error"]["code"], "job-exists", "{answer}");
    fs::write(stage.home().jobs(), "[[job]\n").unwrap();
    let (_, answer) = stage.json(&["job", "add", "@hourly", "Look", "--json"]);
    assert_eq!(answer["error"]["code"], "jobs-unreadable", "{answer}");
}
