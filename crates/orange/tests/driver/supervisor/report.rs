//! A report about real tasks and runs, with real costs.

use std::fs;

use orange_engine::names::TaskId;

use crate::support::{RunningSupervisor, Stage, wait_for};

/// How the scripted agent starts headless, and where it says what it used.
const HEADLESS: &str = r#"
[args.headless]
full = ["--prompt-file", "{prompt_file}", "--headless"]

[result]
succeeded = [{ with = { type = "end" } }]
input_tokens = [{ keys = ["usage", "in"] }]
output_tokens = [{ keys = ["usage", "out"] }]
cost_usd = [{ keys = ["usage", "cost"] }]
"#;

const PAID: &str = r#"
commit one
echo '{"type":"end","usage":{"in":300,"out":60,"cost":0.1}}'
echo '{"status":"done","files_changed":["work.txt"],"summary":"it"}' > "$ORANGE_REPORT"
exit 0
"#;

/// A run that fails and says nothing about what it used.
const CRASH: &str = "exit 7\n";

const HOSTILE: &str = "<img src=x onerror=alert(1)> & \"more\"";

fn create(stage: &Stage, branch: &str, summary: &str) -> TaskId {
    let (_, answer) = stage.json(&["task", "create", "--json", branch, summary]);
    TaskId::new(answer["task"]["id"].as_str().unwrap())
}

#[test]
fn runs_costs_and_failures_of_real_tasks_are_reported() {
    let stage = Stage::new("autopilot");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{HEADLESS}")).unwrap();
    let settings = "[supervisor]\nsweep = \"1s\"\n[limits]\nagents = 1\n";
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    stage.script("worker-1", CRASH);
    stage.script("worker-2", PAID);
    let id = create(&stage, "one", HOSTILE);
    let _serving = RunningSupervisor::start(&stage);
    wait_for("the end", || stage.task(&id).status.as_str() == "done");
    stage.wait_until_idle(&id);
    let (code, answer) = stage.json(&["report", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let throughput = &answer["throughput"];
    assert_eq!(
        (&throughput["created"], &throughput["done"]),
        (&1.into(), &1.into())
    );
    let failures = answer["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{answer}");
    assert_eq!(failures[0]["cause"], "crash", "{answer}");
    assert_eq!(failures[0]["count"], 1, "{answer}");
    let total = &answer["costs"]["total"];
    assert_eq!(total["cost_usd"], "0.10", "{answer}");
    assert_eq!(
        (&total["runs"], &total["runs_without_cost"]),
        (&2.into(), &1.into())
    );
    assert_eq!(total["tokens"], 360);
    assert_eq!(answer["costs"]["agents"][0]["name"], "script");
    assert_eq!(answer["costs"]["tasks"][0]["summary"], HOSTILE);
    let working = answer["statuses"].as_array().unwrap();
    let working = working.iter().find(|it| it["kind"] == "agent").unwrap();
    assert_eq!(working["stays"], 2, "{answer}");
    // The text says that the cost is a minimum, and the page escapes the summary.
    let said = stage.run_ok(&["report"]);
    assert!(said.contains("≥ 0.10 USD"), "{said}");
    assert!(said.contains("of which 1 did not report it"), "{said}");
    stage.run_ok(&["report", "--html", "page.html"]);
    let page = fs::read_to_string(stage.path("repo/page.html")).unwrap();
    assert!(!page.contains("<img"), "{page}");
    assert!(
        page.contains("&lt;img src=x onerror=alert(1)&gt; &amp; &quot;more&quot;"),
        "{page}"
    );
    // What happened before the window does not count.
    wait_for("a second", || {
        let (_, later) = stage.json(&["report", "--json", "--since", "1s"]);
        later["throughput"]["created"] == 0
    });
}
