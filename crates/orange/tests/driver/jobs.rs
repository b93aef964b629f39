//! Jobs: each instant leads to one run, whatever dies in between.

use std::fs;
use std::process::Stdio;

use orange_config::clock;
use orange_engine::names::{JobName, TaskId};
use orange_engine::time::Timestamp;
use orange_store::{JobProgress, JobRun, JobRunState};

use crate::support::{RunningSupervisor, Stage, wait_for};

const HOUR: i64 = 3_600_000;

/// Adds a job that is due every hour, and pretends that it was followed until some hours ago.
fn add_hourly(stage: &Stage, work: &[&str], hours_ago: i64) {
    let words = [
        &["job", "add", "0 * * * *", "--name", "one", "--zone", "UTC"][..],
        work,
    ];
    stage.run_ok(&words.concat());
    go_back(stage, hours_ago);
}

fn go_back(stage: &Stage, hours: i64) {
    let mut store = stage.store();
    let progress = JobProgress {
        schedule: String::from("0 * * * * UTC"),
        reached: Timestamp::from_millis(clock::now().millis() - hours * HOUR),
        resumed: None,
    };
    store
        .record_job_progress(&JobName::new("one"), &progress)
        .unwrap();
}

fn runs(stage: &Stage) -> Vec<JobRun> {
    stage.store().job_runs(&JobName::new("one"), 100).unwrap()
}

fn tasks(stage: &Stage) -> Vec<TaskId> {
    runs(stage).into_iter().filter_map(|it| it.task).collect()
}

#[test]
fn a_missed_instant_starts_one_task_and_a_restart_starts_none() {
    let stage = Stage::new("default");
    add_hourly(&stage, &["Look at it"], 30);
    for _ in 0..2 {
        let supervisor = RunningSupervisor::start(&stage);
        wait_for("the task", || tasks(&stage).len() == 1);
        let followed = || {
            stage
                .store()
                .job_progress(&JobName::new("one"))
                .unwrap()
                .unwrap()
        };
        wait_for("the progress", || {
            clock::now().seconds_since(followed().reached) < 3700
        });
        supervisor.kill();
    }
    let all = tasks(&stage);
    let id = &all[0];
    let task = stage.task(id);
    assert_eq!(task.summary, "Look at it");
    // Its work starts by itself.
    let supervisor = RunningSupervisor::start(&stage);
    stage.wait_for_turn("worker-1");
    // After a rebuild, the instant is still known to have a run.
    drop(supervisor);
    stage.lose_database();
    stage.run_ok(&["rebuild"]);
    assert_eq!(tasks(&stage), all);
    let _supervisor = RunningSupervisor::start(&stage);
    wait_for("a new beginning", || {
        stage
            .store()
            .job_progress(&JobName::new("one"))
            .unwrap()
            .is_some()
    });
    assert_eq!(tasks(&stage), all);
}

#[test]
fn lesson_36_a_wrong_job_does_not_stop_the_others() {
    let stage = Stage::new("default");
    add_hourly(&stage, &["Look at it"], 3);
    let path = stage.home().jobs();
    let text = fs::read_to_string(&path).unwrap();
    let wrong = "[[job]]\nname = \"wrong\"\nschedule = \"soon\"\nproject = \"app\"\n";
    fs::write(&path, format!("{wrong}summary = \"x\"\n\n{text}")).unwrap();
    let _supervisor = RunningSupervisor::start(&stage);
    wait_for("the task", || tasks(&stage).len() == 1);
}

#[test]
fn lesson_107_every_missed_instant_of_the_window_is_made_up_for() {
    let stage = Stage::new("default");
    let work = ["--command", "true", "--missed", "all", "--window", "5h"];
    add_hourly(&stage, &work, 700);
    let _supervisor = RunningSupervisor::start(&stage);
    // They run one after the other, each look starts one.
    wait_for("the runs", || {
        let runs = runs(&stage);
        runs.len() == 5 && runs.iter().all(|it| it.state == JobRunState::Succeeded)
    });
}

#[test]
fn lesson_108_many_processes_run_an_instant_once() {
    let stage = Stage::new("default");
    let file = stage.path("marks");
    let command = format!("echo run >> {}", file.display());
    add_hourly(&stage, &["--command", &command], 0);
    let instant = Timestamp::from_millis(1_800_000_000_000);
    let name = JobName::new("one");
    let mut store = stage.store();
    assert!(
        store
            .begin_job_run(&name, instant, JobRunState::Begun, None)
            .unwrap()
    );
    assert!(
        !store
            .begin_job_run(&name, instant, JobRunState::Begun, None)
            .unwrap()
    );
    let words = ["run-job", "one", &instant.to_string()];
    let all: Vec<_> = (0..50)
        .map(|_| {
            let mut process = stage.orange(&words);
            process.stdout(Stdio::null()).stderr(Stdio::null());
            process.spawn().unwrap()
        })
        .collect();
    for mut process in all {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "run\n");
    let run = store.job_run(&name, instant).unwrap().unwrap();
    assert_eq!(run.state, JobRunState::Succeeded);
}

#[test]
fn a_command_whose_process_died_is_a_failure_and_is_not_repeated() {
    let stage = Stage::new("default");
    add_hourly(&stage, &["--command", "true"], 0);
    let name = JobName::new("one");
    let mut store = stage.store();
    let instant = Timestamp::from_millis(clock::now().millis() - 5000);
    store
        .begin_job_run(&name, instant, JobRunState::Begun, None)
        .unwrap();
    let gone = "{\"pid\":1,\"start\":1,\"boot\":\"another\"}";
    assert!(store.claim_job_run(&name, instant, gone).unwrap());
    let _supervisor = RunningSupervisor::start(&stage);
    wait_for("the failure", || {
        let run = store.job_run(&name, instant).unwrap().unwrap();
        run.state == JobRunState::Failed
            && run
                .detail
                .is_some_and(|it| it.contains("ended without a result"))
    });
}

#[test]
fn failures_in_a_row_pause_a_job_until_it_is_enabled() {
    let stage = Stage::new("default");
    add_hourly(&stage, &["Look", "--missed", "all"], 5);
    let mut text = fs::read_to_string(stage.home().jobs()).unwrap();
    text.push_str("workflow = \"nothing\"\n");
    fs::write(stage.home().jobs(), text).unwrap();
    let _supervisor = RunningSupervisor::start(&stage);
    let state = || {
        let (_, answer) = stage.json(&["job", "list", "--json"]);
        answer["jobs"][0]["state"].as_str().unwrap().to_owned()
    };
    wait_for("the pause", || state() == "paused");
    let all = runs(&stage);
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(
        all[0].detail.as_deref().unwrap().contains("`nothing`"),
        "{all:?}"
    );
    let needs = || {
        let (_, answer) = stage.json(&["attention", "--json"]);
        let mut items = answer["items"].as_array().unwrap().clone();
        items.retain(|it| it["kind"] == "job");
        items
    };
    let paused = needs();
    assert_eq!(paused.len(), 1, "{paused:?}");
    assert_eq!(
        paused[0]["text"],
        "job `one` is paused: its last 3 runs failed"
    );
    assert_eq!(paused[0]["command"], "orange job enable one");
    stage.run_ok(&["job", "enable", "one"]);
    assert_eq!(state(), "enabled");
    assert!(needs().is_empty());
    assert_eq!(runs(&stage).len(), 3, "nothing is made up for");
}

#[test]
fn a_disabled_job_does_nothing_and_makes_up_for_nothing() {
    let stage = Stage::new("default");
    add_hourly(&stage, &["Look"], 10);
    stage.run_ok(&["job", "disable", "one"]);
    let name = JobName::new("one");
    let supervisor = RunningSupervisor::start(&stage);
    wait_for("nothing to follow", || {
        stage.store().job_progress(&name).unwrap().is_none()
    });
    // Enabled by hand, in the file.
    let text = fs::read_to_string(stage.home().jobs()).unwrap();
    fs::write(stage.home().jobs(), text.replace("enabled = false\n", "")).unwrap();
    wait_for("a new beginning", || {
        stage.store().job_progress(&name).unwrap().is_some()
    });
    supervisor.kill();
    assert_eq!(runs(&stage), []);
}

#[test]
fn an_agent_cannot_add_or_run_jobs() {
    let stage = Stage::new("default");
    stage.run_ok(&["job", "add", "@daily", "Look", "--name", "one"]);
    stage.script("worker-1", "ask job run one; ask job add @hourly Mine");
    stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert_eq!(calls.matches("-> 3").count(), 2, "{calls}");
    assert_eq!(runs(&stage), []);
    let (_, answer) = stage.json(&["job", "list", "--json"]);
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 1);
}
