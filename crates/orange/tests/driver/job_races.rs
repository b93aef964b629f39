//! Many processes reach one instant of a job that creates a task.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use orange_config::Environment;
use orange_config::clock::{self, Deadline};
use orange_driver::{Driver, DriverError, NewTaskRequest, WaitPolicy};
use orange_engine::job::JobLink;
use orange_engine::names::{JobName, ProjectName};
use orange_engine::time::Timestamp;
use orange_store::{JobProgress, StoreError, TaskFilter};

use crate::library::work;
use crate::support::{SOON, Stage, wait_for};

const PROCESSES: usize = 50;

/// An instant that no clock of the test reaches.
const INSTANT: i64 = 1_800_000_000_000;

fn new_task() -> NewTaskRequest {
    NewTaskRequest {
        project: Some(ProjectName::new("app")),
        job: Some(JobLink {
            name: JobName::new("one"),
            instant: Timestamp::from_millis(INSTANT),
        }),
        ..work("Look at it")
    }
}

/// What one of the processes does: waits until all are there, then creates the task.
fn create_with_others(folder: &Path) {
    let environment = Environment::of(std::env::vars_os());
    let driver = Driver::new(&environment, env!("CARGO_BIN_EXE_orange").into()).unwrap();
    fs::write(folder.join(std::process::id().to_string()), "").unwrap();
    let go = folder.with_extension("go");
    assert!(Deadline::after(SOON).wait_for(|| go.exists()));
    match driver
        .requests
        .create(&new_task(), WaitPolicy::Detached(Duration::ZERO))
    {
        Ok(_) => println!("result=created"),
        Err(DriverError::Store(StoreError::JobInstantTaken(_))) => println!("result=taken"),
        Err(error) => panic!("{error}"),
    }
}

fn job_tasks(stage: &Stage) -> usize {
    let all = stage.store().list(&TaskFilter::default()).unwrap().tasks;
    all.iter().filter(|it| it.task.job.is_some()).count()
}

#[test]
fn lesson_108_of_many_processes_one_creates_the_task_of_an_instant() {
    // Started again below, with the folder as a further argument.
    let mut words = std::env::args();
    let folder = words.find_map(|word| word.strip_prefix("folder=").map(str::to_owned));
    if let Some(folder) = folder {
        return create_with_others(folder.as_ref());
    }
    let stage = Stage::new("default");
    let folder = stage.path("racers");
    fs::create_dir_all(&folder).unwrap();
    let environment = &stage.environment;
    let racers: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let name = "job_races::lesson_108_of_many_processes_one_creates_the_task_of_an_instant";
            let mut racer = Command::new(std::env::current_exe().unwrap());
            racer.args([name, "--exact", "--nocapture"]);
            racer.arg(format!("folder={}", folder.display()));
            racer.env_clear().envs(environment.variables());
            racer.stdin(Stdio::null()).stdout(Stdio::piped());
            racer.spawn().unwrap()
        })
        .collect();
    wait_for("all processes", || {
        fs::read_dir(&folder).unwrap().count() == PROCESSES
    });
    fs::write(folder.with_extension("go"), "").unwrap();
    let mut created = 0;
    for racer in racers {
        let output = racer.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let is_created = text.contains("result=created");
        assert!(is_created || text.contains("result=taken"), "{text}");
        created += usize::from(is_created);
    }
    assert_eq!(created, 1);
    assert_eq!(job_tasks(&stage), 1);
    let run = stage.store();
    let run = run.job_run(&JobName::new("one"), Timestamp::from_millis(INSTANT));
    assert!(run.unwrap().unwrap().task.is_some());
}

#[test]
fn of_many_supervisors_one_creates_the_task_of_an_instant() {
    let stage = Stage::new("default");
    let words = ["job", "add", "0 * * * *", "--name", "one", "--zone", "UTC"];
    stage.run_ok(&[&words[..], &["Look at it"]].concat());
    let name = JobName::new("one");
    let progress = JobProgress {
        schedule: String::from("0 * * * * UTC"),
        reached: Timestamp::from_millis(clock::now().millis() - 3_600_000),
        resumed: None,
    };
    stage.store().record_job_progress(&name, &progress).unwrap();
    let supervisors: Vec<_> = (0..10)
        .map(|_| {
            let mut supervisor = stage.orange(&["serve"]);
            supervisor.stdin(Stdio::null());
            supervisor.stdout(Stdio::null()).stderr(Stdio::null());
            supervisor.spawn().unwrap()
        })
        .collect();
    wait_for("the task", || job_tasks(&stage) > 0);
    let reached = || stage.store().job_progress(&name).unwrap().unwrap().reached;
    wait_for("the progress", || reached() > progress.reached);
    for mut supervisor in supervisors {
        // One that found another one has ended.
        let _ended = supervisor.kill();
        supervisor.wait().unwrap();
    }
    assert_eq!(job_tasks(&stage), 1);
}
