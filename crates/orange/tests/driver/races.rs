//! Many processes at once: one transition, one TASK.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use orange_config::clock::Deadline;
use orange_driver::{Answer, TaskRequest, WaitPolicy};
use orange_engine::document::{Document, Frontmatter};
use orange_engine::event::Fact;
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use serde_json::Value;

use crate::library::to;
use crate::support::gates::SIDES;
use crate::support::{SOON, Stage, way};

/// How many processes ask at once.
const RACERS: usize = 50;

/// How many tasks agents write to, one after the other.
const TASKS: usize = 10;

/// How many transitions each makes meanwhile: a thousand in total.
const TRANSITIONS: usize = 100;

fn start_stage() -> (Stage, TaskId) {
    let stage = Stage::in_memory("default");
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/sides.yml"), SIDES).unwrap();
    let id = create_two_sided_task(&stage);
    (stage, id)
}

fn create_two_sided_task(stage: &Stage) -> TaskId {
    stage.create(&["Add a line", "--workflow", "sides"])
}

/// The exit codes and answers of many calls that started together.
fn run_together(stage: &Stage, calls: &[Vec<&str>]) -> Vec<(i32, Value)> {
    let started: Vec<Child> = calls
        .iter()
        .map(|call| {
            let mut orange = stage.orange(call);
            let orange = orange.stdout(Stdio::piped()).stderr(Stdio::piped());
            orange.spawn().unwrap()
        })
        .collect();
    let ended = started.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
        });
        (output.status.code().unwrap(), answer)
    });
    ended.collect()
}

#[test]
fn fifty_equal_requests_make_one_transition() {
    let (stage, id) = start_stage();
    stage.run_ok(&["task", "update", id.as_str(), "--status", "right"]);
    let before = way(&stage, &id).len();
    let call = ["task", "update", id.as_str(), "--status", "left", "--json"];
    let ended = run_together(&stage, &vec![call.to_vec(); RACERS]);
    let count = |outcome: &str| {
        let found = ended.iter().filter(|(_, it)| it["outcome"] == outcome);
        found.count()
    };
    assert_eq!(count("succeeded"), 1, "{ended:?}");
    assert_eq!(count("already"), RACERS - 1, "{ended:?}");
    assert!(ended.iter().all(|(code, _)| *code == 0), "{ended:?}");
    assert_eq!(way(&stage, &id).len(), before + 1, "exactly one event");
    assert!(stage.task_text(&id).contains("status: left"));
}

#[test]
fn of_fifty_conflicting_requests_one_succeeds() {
    let (stage, id) = start_stage();
    stage.run_ok(&["task", "update", id.as_str(), "--status", "right"]);
    let left = ["task", "update", id.as_str(), "--status", "left", "--json"];
    let closed = ["task", "cancel", id.as_str(), "--json"];
    let calls: Vec<Vec<&str>> = (0..RACERS)
        .map(|number| match number % 2 {
            0 => left.to_vec(),
            _ => closed.to_vec(),
        })
        .collect();
    let ended = run_together(&stage, &calls);
    // Whichever call comes first, the task is closed once; after that no call reaches `left`.
    let way = way(&stage, &id);
    let way: Vec<&str> = way.iter().map(String::as_str).collect();
    assert!(
        way == ["right", "closed"] || way == ["right", "left", "closed"],
        "{way:?}"
    );
    let mut happened = 0;
    for (code, answer) in &ended {
        match (code, answer["outcome"].as_str()) {
            (0 | 5, Some("succeeded" | "in_flight")) => happened += 1,
            (0, Some("already")) => {}
            (3, None) => assert_eq!(answer["error"]["code"], "refused", "{answer}"),
            _ => panic!("{code}: {answer}"),
        }
    }
    assert_eq!(happened, way.len() - 1, "{ended:?}");
}

#[test]
fn fifty_concurrent_starts_start_one_agent() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let call = ["task", "spawn", id.as_str(), "--json", "--wait", "60"];
    let ended = run_together(&stage, &vec![call.to_vec(); RACERS]);
    for (code, answer) in &ended {
        assert_eq!(*code, 0, "{answer}");
    }
    let happened = ended.iter().filter(|(_, it)| it["outcome"] == "succeeded");
    assert_eq!(happened.count(), 1);
    stage.wait_until_idle(&id);
    assert_eq!(way(&stage, &id), ["planning"]);
    assert_eq!(stage.panes(), ["worker:0"]);
    assert_eq!(stage.store().runs(&id).unwrap().len(), 1);
}

/// A shell that edits TASK.md until a file named `stop` appears next to it.
struct Writer(Child);

impl Writer {
    fn start(directory: &Path, name: &str, step: &str) -> Writer {
        let script = format!(
            "i=0; {step_zero} while [ ! -e .stop ]; do i=$((i+1)); {step}; sleep 0.03; done; \
             echo $i > .count-{name}",
            step_zero = "memory=$(cat TASK.md); body='';"
        );
        let child = Command::new("sh")
            .args(["-c", &script])
            .current_dir(directory)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Writer(child)
    }

    /// Lets it finish its current step; returns how often it wrote.
    fn finish(mut self, directory: &Path, name: &str) -> usize {
        fs::write(directory.join(".stop"), "").unwrap();
        assert!(self.0.wait().unwrap().success());
        let path = directory.join(format!(".count-{name}"));
        let count = fs::read_to_string(&path).unwrap();
        fs::remove_file(path).unwrap();
        count.trim().parse().unwrap()
    }
}

/// A failing test leaves no process behind.
impl Drop for Writer {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Moves a task back and forth while agents write; every move happens, and every line is kept.
fn move_while_writing(writers: &[(&str, &str)]) {
    let (stage, mut id) = start_stage();
    for _ in 0..TASKS {
        move_back_and_forth(&stage, &id, writers);
        stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
        id = create_two_sided_task(&stage);
    }
}

fn move_back_and_forth(stage: &Stage, id: &TaskId, writers: &[(&str, &str)]) {
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let worktree = stage.worktree(id);
    let driver = stage.driver();
    let started: Vec<Writer> = writers
        .iter()
        .map(|(name, step)| Writer::start(&worktree, name, step))
        .collect();
    let ask = |status: &str| {
        let request = TaskRequest {
            task: id.clone(),
            request: Request::new(Role::Human, to(status)),
            waiting: WaitPolicy::Skip,
        };
        driver.requests.ask(&request)
    };
    let mut side = "left";
    for number in 0..TRANSITIONS {
        side = if side == "left" { "right" } else { "left" };
        let mut last = None;
        // While a file is being written its content is unknown; then the call is repeated, as a
        // user would.
        let in_time = Deadline::after(SOON).wait_for(|| match ask(side) {
            Ok(Answer::Done(changed)) => {
                assert_eq!(changed.task.status.as_str(), side, "{number}");
                true
            }
            other => {
                last = Some(format!("{other:?}"));
                false
            }
        });
        assert!(in_time, "{number}: {last:?}");
    }
    let mut counts = Vec::new();
    for (writer, (name, _)) in started.into_iter().zip(writers) {
        counts.push((*name, writer.finish(&worktree, name)));
    }
    fs::remove_file(worktree.join(".stop")).unwrap();
    // Two further imports pick up what was written to files that were replaced.
    for _ in 0..3 {
        side = if side == "left" { "right" } else { "left" };
        assert!(matches!(ask(side), Ok(Answer::Done(_))));
    }
    let moved = stage.store().events(id, 0).unwrap();
    let rejected = moved
        .iter()
        .any(|it| matches!(it.event.fact, Fact::EditRejected { .. }));
    assert!(!rejected, "a status from memory is not a request");
    assert_eq!(way(stage, id).len(), 1 + TRANSITIONS + 3);
    let text = fs::read_to_string(worktree.join("TASK.md")).unwrap();
    let document = Document::parse(text.as_bytes()).unwrap();
    let Frontmatter::Present(fields) = document.frontmatter() else {
        panic!("{text}");
    };
    let task = stage.task(id);
    assert_eq!(task.status.as_str(), side);
    assert_eq!(fields.text("status"), Some(side));
    assert_eq!(fields.integer("version"), i64::try_from(task.version).ok());
    let imports = stage.store().imports(id).unwrap();
    let texts = imports
        .iter()
        .map(|it| it.text.as_str())
        .chain([text.as_str()]);
    let lines: BTreeSet<&str> = texts.flat_map(str::lines).collect();
    for (name, count) in counts {
        assert!(count > 5, "{name} wrote {count} times only");
        let lost = (1..=count).filter(|it| !lines.contains(format!("{name} {it}.").as_str()));
        assert_eq!(lost.count(), 0, "of {count} lines of {name}");
    }
}

#[test]
fn lesson_31_no_line_is_lost_to_a_thousand_transitions() {
    move_while_writing(&[
        ("one", "echo \"one $i.\" >> TASK.md"),
        (
            "two",
            "[ $((i % 5)) = 1 ] && exec 3>> TASK.md; echo \"two $i.\" >&3",
        ),
    ]);
}

#[test]
fn lesson_31_a_file_rewritten_from_memory_reverts_no_status() {
    // It rereads the file now and then, and repeats an old status in between.
    move_while_writing(&[(
        "whole",
        "[ $((i % 7)) = 0 ] && memory=$(sed '/^whole /d' TASK.md); body=\"$body\nwhole $i.\"; \
         printf '%s\\n%s\\n' \"$memory\" \"$body\" > .new && mv .new TASK.md",
    )]);
}

#[test]
fn lesson_22_a_race_of_worker_and_reviewer_is_won_by_the_reviewer() {
    let stage = Stage::new("default");
    stage.script("worker-1", crate::support::scripts::PLAN_AND_WORK);
    stage.script(
        "reviewer-1",
        "printf 'Verdict: PASS\\n' | section Review\ntouch $SCRIPTS/written\nhang",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "agent-review");
    stage.wait_until_idle(&id);
    crate::support::stage::wait_for("the verdict", || stage.path("scripts/written").exists());
    let driver = stage.driver();
    let ask = |by: Role, ask: RequestKind| {
        let request = TaskRequest {
            task: id.clone(),
            request: Request {
                by,
                kind: ask,
                is_confirmed: true,
                message: None,
                head: None,
                if_version: None,
            },
            waiting: WaitPolicy::Skip,
        };
        driver.requests.ask(&request).unwrap()
    };
    for _ in 0..5 {
        let refused = ask(Role::Worker, to("reviewing"));
        assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");
        let refused = ask(Role::Worker, RequestKind::Verb(Verb::Merge));
        assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");
    }
    assert_eq!(stage.task(&id).status.as_str(), "agent-review");
}
