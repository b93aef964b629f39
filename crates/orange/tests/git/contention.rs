//! Many tasks compete for workspaces, with processes killed meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_driver::WaitPolicy;
use orange_effects::git::Phase;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::task::PendingState;
use orange_store::WorkspaceState;

use crate::home_fixture::{HomeFixture, SOON, processes_with};

const TASKS: usize = 50;
const POOL: u32 = 5;

/// How long callers and performers are killed.
const KILL_TIME: Duration = Duration::from_secs(6);

fn spawn(fixture: &HomeFixture, task: &TaskId) -> Child {
    let mut orange = fixture.orange(&["task", "spawn", task.as_str(), "--wait", "100"]);
    let orange = orange.stdout(Stdio::null()).stderr(Stdio::null());
    orange.spawn().unwrap()
}

/// Waits until nothing is pending, whichever process performs.
fn wait_until_idle(fixture: &HomeFixture, tasks: &[TaskId]) {
    for task in tasks {
        let in_time = Deadline::after(SOON).wait_for(|| {
            fixture.driver().performer.perform_until_done(task).unwrap();
            let pending = fixture.task(task).pending;
            // A start that failed after the task had left the status is over, and only shown.
            pending.iter().all(|it| it.state != PendingState::Waiting)
        });
        assert!(in_time, "effects are left:\n{}", fixture.diagnostics(task));
    }
}

/// The tasks that hold a workspace; the store and the worktrees must agree about them.
fn bound_tasks(fixture: &HomeFixture, tasks: &[TaskId]) -> BTreeSet<TaskId> {
    let project = ProjectName::new("app");
    let git = fixture.repo.open();
    let mut bound = BTreeSet::new();
    for record in fixture.store().workspaces(&project).unwrap() {
        let WorkspaceState::Bound(task) = &record.state else {
            continue;
        };
        assert!(bound.insert(task.clone()), "{task} is bound twice");
        let worktree = git.worktree(&record.path).unwrap();
        let marker = worktree.marker().unwrap().unwrap();
        let is_its = matches!(&marker.phase, Phase::Bound { task: of, .. } if of == task);
        assert!(is_its, "{marker:?} is not {task}'s");
        let file = fs::read_to_string(record.path.join("TASK.md")).unwrap();
        assert!(file.contains(&format!("id: {task}")), "{file}");
        let branch = fixture.repo.git(&record.path, &["symbolic-ref", "HEAD"]);
        assert_eq!(branch.trim(), format!("refs/heads/orange-tasks/{task}"));
    }
    let said = tasks
        .iter()
        .filter(|it| fixture.task(it).status.as_str() == "held");
    assert_eq!(said.cloned().collect::<BTreeSet<_>>(), bound);
    bound
}

#[test]
fn of_fifty_concurrent_starts_five_get_a_workspace() {
    let fixture = HomeFixture::new(POOL);
    let tasks: Vec<TaskId> = (0..TASKS).map(|_| fixture.create(None)).collect();
    let calls: Vec<Child> = tasks.iter().map(|task| spawn(&fixture, task)).collect();
    for mut call in calls {
        // Without a free workspace the task waits; one that was just taken makes a start fail.
        let code = call.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 3 | 5 | 6)), "{code:?}");
    }
    wait_until_idle(&fixture, &tasks);
    assert_eq!(bound_tasks(&fixture, &tasks).len(), POOL as usize);
    for task in &tasks {
        let task = fixture.task(task);
        let is_queued = task.status.as_str() == "open";
        assert!(
            is_queued || task.status.as_str() == "held",
            "{}",
            task.status
        );
        if is_queued {
            let (_, output) = fixture.call(&["task", "spawn", task.id.as_str()]);
            assert!(output.contains("is full: 5 of 5"), "{output}");
        }
    }
    let listed = fixture.json(&["workspace", "list"]);
    assert_eq!(
        listed["workspaces"].as_array().unwrap().len(),
        POOL as usize
    );
    // A task that ends makes room for a waiting one.
    let ends = bound_tasks(&fixture, &tasks).pop_first().unwrap();
    fixture.move_to(&ends, "closed");
    let waits = tasks
        .iter()
        .find(|it| fixture.task(it).status.as_str() == "open");
    assert_eq!(
        fixture.move_to(waits.unwrap(), "held").status.as_str(),
        "held"
    );
}

/// A pseudo-random sequence that is the same in every run.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn with_refused_starts_five_of_fifty_get_a_workspace_and_the_rest_stay_queued() {
    let fixture = HomeFixture::new(POOL);
    fs::write(
        fixture.home().path().join("config.toml"),
        "[pool]\nwhen_full = \"refuse\"\n",
    )
    .unwrap();
    let tasks: Vec<TaskId> = (0..TASKS).map(|_| fixture.create(None)).collect();
    let before: Vec<u64> = tasks.iter().map(|it| fixture.task(it).version).collect();
    let calls: Vec<Child> = tasks.iter().map(|task| spawn(&fixture, task)).collect();
    let mut refused = BTreeSet::new();
    for (mut call, task) in calls.into_iter().zip(&tasks) {
        match call.wait().unwrap().code() {
            Some(0 | 5) => {}
            Some(3) => drop(refused.insert(task.clone())),
            code => panic!("{code:?}\n{}", fixture.diagnostics(task)),
        }
    }
    wait_until_idle(&fixture, &tasks);
    let holders = bound_tasks(&fixture, &tasks);
    assert_eq!(holders.len(), POOL as usize);
    assert_eq!(refused.len(), TASKS - POOL as usize);
    for (task, version) in tasks.iter().zip(before) {
        if refused.contains(task) {
            assert_eq!(
                fixture.task(task).version,
                version,
                "{}",
                fixture.diagnostics(task)
            );
        }
    }
    // The answer names the tasks that hold the workspaces, and what to do about it.
    let one = refused.first().unwrap();
    let (code, output) = fixture.call(&["task", "spawn", one.as_str(), "--json"]);
    assert_eq!(code, 3, "{output}");
    let answer: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(answer["error"]["code"], "pool-full", "{output}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        holders
            .iter()
            .all(|it| message.contains(&format!("`{it}` has `app--"))),
        "{message}"
    );
    let hint = answer["error"]["hints"][0].as_str().unwrap();
    assert!(hint.contains("`orange task cancel "), "{hint}");
    // A task that ends makes room, and a project may override the settings.
    fixture.move_to(holders.first().unwrap(), "closed");
    assert_eq!(fixture.move_to(one, "held").status.as_str(), "held");
    fixture.configure("when_full", &"queue".into());
    let two = refused.iter().find(|it| *it != one).unwrap();
    let (code, output) = fixture.call(&["task", "spawn", two.as_str(), "--wait", "60"]);
    assert_eq!(code, 3, "{output}");
    assert_eq!(fixture.task(two).status.as_str(), "open");
    assert!(output.contains("is full: 5 of 5"), "{output}");
}

#[test]
fn killed_at_random_no_slot_is_lost() {
    kill_at_random("queue");
}

#[test]
fn killed_at_random_no_slot_is_lost_with_refused_starts() {
    kill_at_random("refuse");
}

fn kill_at_random(when_full: &str) {
    let fixture = HomeFixture::new(POOL);
    fixture.configure("when_full", &when_full.into());
    let tasks: Vec<TaskId> = (0..TASKS / 2).map(|_| fixture.create(None)).collect();
    let variable = format!("ORANGE_HOME={}", fixture.home().path().display());
    let mut killed = 0;
    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let rage = Deadline::after(KILL_TIME);
            let mut state = 7;
            while !rage.has_passed() {
                // All tasks start, some go back to `open`, and those start again.
                let mut calls = Vec::new();
                for task in &tasks {
                    if next(&mut state).is_multiple_of(5) {
                        let mut cancel =
                            fixture.orange(&["task", "update", task.as_str(), "--status", "open"]);
                        let cancel = cancel.stdout(Stdio::null()).stderr(Stdio::null());
                        calls.push(cancel.spawn().unwrap());
                    } else {
                        calls.push(spawn(&fixture, task));
                    }
                }
                for mut call in calls {
                    call.wait().unwrap();
                }
            }
        });
        let mut state = 1;
        while !asking.is_finished() {
            thread::sleep(Duration::from_millis(5 + next(&mut state) % 30));
            let own = processes_with(variable.as_bytes());
            let chosen = usize::try_from(next(&mut state)).unwrap();
            if let Some(pid) = own.get(chosen % own.len().max(1)) {
                let mut kill = Command::new("kill");
                let kill = kill.args(["-9", &pid.to_string()]).stderr(Stdio::null());
                killed += usize::from(kill.status().unwrap().success());
            }
        }
    });
    assert!(killed > 20, "only {killed} were killed");
    wait_until_idle(&fixture, &tasks);
    assert!(bound_tasks(&fixture, &tasks).len() <= POOL as usize);
    for task in &tasks {
        fixture.move_to(task, "closed");
    }
    let collected = fixture
        .driver()
        .admin
        .collect_garbage(None, false, WaitPolicy::Here);
    assert_eq!(collected.unwrap().unusable_workspaces, []);
    let listed = fixture.driver().workspaces.workspaces(None).unwrap();
    assert!(listed.iter().all(|it| it.state == "free"), "{listed:?}");
    assert_eq!(listed.len(), POOL as usize);
    let others: Vec<TaskId> = (0..POOL).map(|_| fixture.create(None)).collect();
    for task in &others {
        let now = fixture.move_to(task, "held");
        assert_eq!(now.status.as_str(), "held", "{}", fixture.diagnostics(task));
    }
    assert_eq!(bound_tasks(&fixture, &others).len(), POOL as usize);
}
