//! Budgets hold back starts, and stop agents only if they are hard.

use std::fs;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::TaskId;
use orange_engine::task::RunState;
use serde_json::Value;

use crate::support::{RunningSupervisor, Stage, wait_for};

/// How the scripted agent starts headless, and where it says what it used.
const HEADLESS: &str = r#"
[args.headless]
full = ["--prompt-file", "{prompt_file}", "--headless"]

[result]
succeeded = [{ with = { type = "end" } }]
input_tokens = [{ keys = ["usage", "in"] }]
output_tokens = [{ keys = ["usage", "out"] }]
"#;

const COST: &str = "cost_usd = [{ keys = [\"usage\", \"cost\"] }]\n";

/// Work that costs ten cents.
const TEN_CENTS: &str = r#"
commit one
echo '{"type":"end","usage":{"in":300,"out":60,"cost":0.1}}'
echo '{"status":"done","files_changed":["work.txt"],"summary":"it"}' > "$ORANGE_REPORT"
exit 0
"#;

fn staged(figures: &str) -> Stage {
    let stage = Stage::new("autopilot");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{figures}")).unwrap();
    stage
}

fn configure(stage: &Stage, limits: &str, budget: &str) {
    let text = format!(
        "[pool]\nsize = 60\n[supervisor]\nsweep = \"1s\"\n[limits]\n{limits}\n[budget]\n{budget}\n"
    );
    fs::write(stage.path("home/config.toml"), text).unwrap();
}

/// Creates tasks that wait, because no agent may run yet.
fn create_waiting(stage: &Stage, count: usize) -> Vec<TaskId> {
    configure(stage, "agents = 0", "");
    let create = |number: usize| {
        let branch = format!("b{number}");
        let (_, answer) = stage.json(&["task", "create", "--json", &branch, "Add a line"]);
        TaskId::new(answer["task"]["id"].as_str().unwrap())
    };
    (0..count).map(create).collect()
}

/// How many agents were ever started.
fn started(stage: &Stage) -> usize {
    let count = fs::read_to_string(stage.path("scripts/.worker")).unwrap_or_default();
    count.trim().parse().unwrap_or(0)
}

fn count_in(stage: &Stage, tasks: &[TaskId], status: &str) -> usize {
    let is_there = |id: &&TaskId| stage.task(id).status.as_str() == status;
    tasks.iter().filter(is_there).count()
}

fn budget_items(stage: &Stage) -> Vec<Value> {
    let (_, answer) = stage.json(&["attention", "--json"]);
    let mut items = answer["items"].as_array().unwrap().clone();
    items.retain(|it| it["kind"] == "budget");
    items
}

fn is_alive(stage: &Stage, id: &TaskId) -> bool {
    let task = stage.task(id);
    let mut runs = task.runs.values();
    runs.any(|run| run.state == RunState::Alive)
}

#[test]
fn of_50_tasks_with_a_budget_for_33_exactly_33_start() {
    let stage = staged(&format!("{HEADLESS}{COST}"));
    for turn in 1..=50 {
        stage.script(&format!("worker-{turn}"), TEN_CENTS);
    }
    let tasks = create_waiting(&stage, 50);
    configure(&stage, "agents = 1", "day = \"3.30 USD\"");
    let _serving = RunningSupervisor::start(&stage);
    let is_over = || count_in(&stage, &tasks, "done") == 33;
    assert!(Deadline::after(Duration::from_mins(8)).wait_for(is_over));
    // Several sweeps later nothing more was started.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(started(&stage), 33);
    let (_, answer) = stage.json(&["budget", "--json"]);
    let day = &answer["budgets"][0];
    assert_eq!(day["cost_usd"], "3.30", "{answer}");
    assert_eq!(day["tokens"], 33 * 360);
    assert_eq!(
        (&day["state"], &day["left"]),
        (&"reached".into(), &"0.00 USD".into())
    );
    // The reason is where the user looks, and one item asks for the user.
    let is_queued = |id: &&TaskId| stage.task(id).status.as_str() != "done";
    let waiting = tasks.iter().find(is_queued).unwrap();
    let reason = "the budget for today (UTC) is used up: 3.30 USD of 3.30 USD";
    for command in ["why", "show"] {
        let said = stage.run_ok(&["task", command, waiting.as_str()]);
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains(reason), "{command}: {said}");
    }
    let items = budget_items(&stage);
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(items[0]["command"], "orange budget");
    // The user's own start is refused, with what to do.
    let (code, said) = stage.call(&["task", "spawn", waiting.as_str()]);
    assert_eq!(code, 3, "{said}");
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    assert!(said.contains(reason), "{said}");
    assert!(said.contains("raise `day` under `[budget]`"), "{said}");
    // With two more starts' worth of budget, two more start.
    configure(&stage, "agents = 1", "day = \"3.50 USD\"");
    wait_for("two more", || count_in(&stage, &tasks, "done") == 35);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(started(&stage), 35);
}

#[test]
fn parallel_starts_overrun_by_no_more_than_the_runs_in_flight() {
    let stage = staged(&format!("{HEADLESS}{COST}"));
    for turn in 1..=12 {
        stage.script(&format!("worker-{turn}"), TEN_CENTS);
    }
    let tasks = create_waiting(&stage, 12);
    configure(&stage, "agents = 4", "project = \"0.50 USD\"");
    let _serving = RunningSupervisor::start(&stage);
    wait_for("the budget", || {
        count_in(&stage, &tasks, "done") >= 5 && tasks.iter().all(|id| !is_alive(&stage, id))
    });
    std::thread::sleep(Duration::from_secs(4));
    let started = started(&stage);
    assert!((5..=8).contains(&started), "{started}");
}

#[test]
fn lesson_104_a_used_up_budget_pauses_starts_and_stops_no_agent_unless_it_is_hard() {
    let stage = staged(&format!("{HEADLESS}{COST}"));
    stage.script("worker-1", "hang");
    stage.script("worker-2", TEN_CENTS);
    stage.script("worker-3", TEN_CENTS);
    let tasks = create_waiting(&stage, 3);
    configure(&stage, "agents = 2", "day = \"360 tokens\"");
    let _serving = RunningSupervisor::start(&stage);
    wait_for("the cheap run", || count_in(&stage, &tasks, "done") == 1);
    let hanging = tasks.iter().find(|id| is_alive(&stage, id)).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(is_alive(&stage, hanging), "it goes on");
    assert_eq!(started(&stage), 2, "nothing new starts");
    assert_eq!(budget_items(&stage).len(), 1, "the user is asked");
    configure(&stage, "agents = 2", "day = \"360 tokens\"\nhard = true");
    wait_for("the stop", || !is_alive(&stage, hanging));
    let (_, answer) = stage.json(&["attention", "--json"]);
    let text = answer.to_string();
    assert!(
        text.contains("was stopped, because a budget is used up"),
        "{text}"
    );
    assert_eq!(started(&stage), 2);
}

#[test]
fn at_80_percent_the_user_is_told_once_and_work_goes_on() {
    let stage = staged(&format!("{HEADLESS}{COST}"));
    stage.script("worker-1", TEN_CENTS);
    stage.script("worker-2", TEN_CENTS);
    let tasks = create_waiting(&stage, 2);
    configure(&stage, "agents = 1", "day = \"0.24 USD\"");
    let _serving = RunningSupervisor::start(&stage);
    wait_for("both", || count_in(&stage, &tasks, "done") == 2);
    let items = budget_items(&stage);
    assert_eq!(items.len(), 1, "{items:?}");
    let text = items[0]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "the budget for today (UTC) is almost used up: 0.20 USD of 0.24 USD"
    );
    assert_eq!(items[0]["key"], budget_items(&stage)[0]["key"]);
}

#[test]
fn lesson_103_an_agent_without_a_price_is_refused_with_a_hint() {
    for (figures, reason) in [
        ("", "`script` reports neither tokens nor cost"),
        (
            HEADLESS,
            "`script` reports no cost and not which model it uses",
        ),
    ] {
        let stage = staged(figures);
        stage.script("worker-1", "hang");
        let tasks = create_waiting(&stage, 1);
        let id = tasks[0].as_str();
        configure(&stage, "agents = 1", "task = \"1.00 USD\"");
        let (code, said) = stage.call(&["task", "spawn", id]);
        let said: Vec<&str> = said.split_whitespace().collect();
        let said = said.join(" ");
        assert_eq!(code, 3, "{said}");
        assert!(
            said.contains(&format!("the budget cannot be checked: {reason}")),
            "{said}"
        );
        assert!(
            said.contains("write `unpriced = \"allow\"` under `[budget]`"),
            "{said}"
        );
        let items = budget_items(&stage);
        assert_eq!(items.len(), 1, "{items:?}");
        assert_eq!(items[0]["task"], id);
        // Tokens can be counted without a price, if they are reported.
        configure(&stage, "agents = 1", "task = \"1M tokens\"");
        let is_counted = !figures.is_empty();
        assert_eq!(budget_items(&stage).is_empty(), is_counted);
        configure(
            &stage,
            "agents = 1",
            "task = \"1.00 USD\"\nunpriced = \"allow\"",
        );
        assert_eq!(budget_items(&stage), [] as [Value; 0]);
    }
}

#[test]
fn a_rebuilt_database_knows_what_was_used() {
    let stage = staged(&format!("{HEADLESS}{COST}"));
    stage.script("worker-1", TEN_CENTS);
    let tasks = create_waiting(&stage, 1);
    configure(&stage, "agents = 1", "");
    {
        let _serving = RunningSupervisor::start(&stage);
        wait_for("the run", || count_in(&stage, &tasks, "done") == 1);
        stage.wait_until_idle(&tasks[0]);
        // A rebuild reads the files, which are written after each change.
        let id = tasks[0].as_str();
        let history = stage.path(&format!("home/tasks/app/{id}/history.jsonl"));
        wait_for("the files", || {
            let lines = fs::read_to_string(&history).unwrap().lines().count();
            u64::try_from(lines).unwrap() == stage.task(&tasks[0]).version
        });
    }
    stage.rebuild(&tasks[0]);
    let (_, answer) = stage.json(&["budget", "--json"]);
    assert_eq!(answer["budgets"][0]["cost_usd"], "0.10", "{answer}");
}
