//! `orange job list`.

use std::fs;

use crate::support::Stage;

#[test]
fn jobs_are_listed_with_their_next_time_and_their_mistakes() {
    let stage = Stage::new("default");
    let none = stage.run_ok(&["job", "list"]);
    assert!(none.contains("no jobs"), "{none}");
    stage.run_ok(&["job", "add", "0 9 * * *", "Look at it", "--name", "good"]);
    let path = stage.home().jobs();
    let text = fs::read_to_string(&path).unwrap();
    let broken = "\n[[job]]\nname = \"bad\"\nschedule = \"soon\"\nproject = \"app\"\n";
    fs::write(&path, format!("{text}{broken}summary = \"x\"\n")).unwrap();
    let listed = stage.run_ok(&["job", "list"]);
    assert!(listed.starts_with("good 0 9 * * *; next at "), "{listed}");
    assert!(listed.contains("task in `app`: Look at it"), "{listed}");
    assert!(
        listed.contains("bad cannot run: jobs.toml, line "),
        "{listed}"
    );
    let (_, answer) = stage.json(&["job", "list", "--json"]);
    assert_eq!(answer["jobs"][0]["state"], "enabled");
    assert_eq!(answer["problems"][0]["name"], "bad");
    // What a job names may be gone later.
    fs::write(
        &path,
        text.replace("project = \"app\"", "project = \"gone\""),
    )
    .unwrap();
    let listed = stage.run_ok(&["job", "list"]);
    assert!(listed.contains("cannot run: "), "{listed}");
    let (code, told) = stage.call(&["doctor"]);
    assert_ne!(code, 0, "{told}");
    assert!(told.contains("job good"), "{told}");
}
