//! `orange report`.

use std::fs;

use crate::support::Stage;

#[test]
fn a_report_counts_what_happened_and_invents_nothing() {
    let stage = Stage::new("default");
    let (code, empty) = stage.json(&["report", "--json"]);
    assert_eq!(code, 0, "{empty}");
    assert_eq!(empty["created"], serde_json::Value::Null);
    assert_eq!(empty["throughput"]["created"], 0);
    assert!(empty["costs"]["total"]["cost_usd"].is_null(), "{empty}");
    let one = stage.create(&["Add a line", "--no-spawn"]);
    stage.create(&["two", "Add another line", "--no-spawn"]);
    stage.run_ok(&["task", "cancel", one.as_str(), "--wait", "60"]);
    stage.run_ok(&["task", "delete", one.as_str(), "--yes"]);
    let (_, answer) = stage.json(&["report", "--json", "--since", "24h", "--project", "app"]);
    assert_eq!(answer["project"], "app");
    let throughput = &answer["throughput"];
    assert_eq!(throughput["created"], 2, "{answer}");
    assert_eq!(throughput["cancelled"], 1, "{answer}");
    assert_eq!(throughput["done"], 0);
    assert_eq!(answer["statuses"][0]["stays"], 1, "{answer}");
    let said = stage.run_ok(&["report"]);
    assert!(
        said.starts_with("The last 7 days, all projects\n"),
        "{said}"
    );
    assert!(said.contains("No run of an agent ended"), "{said}");
    assert!(said.contains("Nothing failed."), "{said}");
    assert!(said.lines().all(|it| it.chars().count() <= 60), "{said}");
}

#[test]
fn a_wrong_time_is_refused_with_an_example() {
    let stage = Stage::new("default");
    for time in ["7", "1y", "0d", "9999w"] {
        let (code, said) = stage.call(&["report", "--since", time]);
        assert_eq!(code, 2, "{time}: {said}");
        assert!(said.contains("write a duration"), "{time}: {said}");
    }
}

#[test]
fn the_page_is_whole_and_escapes_what_users_write() {
    let stage = Stage::new("default");
    stage.create(&["</title><script>alert(1)</script>", "--no-spawn"]);
    let said = stage.run_ok(&["report", "--html", "week.html"]);
    assert_eq!(said.trim(), "week.html");
    let path = stage.path("repo/week.html");
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>\n<!-- Written by `orange report`. -->"));
    assert!(page.contains("<svg") && page.ends_with("</body></html>\n"));
    for outside in [
        "<script", "http://", "https://", "src=", "href=", "@import", "url(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    // It is replaced by a later report, but a file of the user is not.
    let (code, answer) = stage.json(&["report", "--json", "--html", "week.html"]);
    assert_eq!(
        (code, &answer["html"]),
        (0, &"week.html".into()),
        "{answer}"
    );
    fs::write(&path, "my notes").unwrap();
    let (code, answer) = stage.json(&["report", "--json", "--html", "week.html"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "report-not-written");
    assert_eq!(fs::read_to_string(&path).unwrap(), "my notes");
}
