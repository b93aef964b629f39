//! Polls that fail, come late or make no sense kill no agent.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use orange_config::clock::Deadline;
use orange_driver::supervisor::{Settings, Supervisor};
use orange_engine::names::TaskId;

use super::deaths;
use crate::support::{SOON, Stage, environment, wait_for};

/// The number of polls of the server; the environment variable `PROBES` overrides it.
const PROBES: usize = 100_000;

/// How long they may take on a busy machine.
const LONG: Duration = Duration::from_mins(8);

/// A wrapper for tmux: of the lines on the connection, one in twenty is lost, changed, cut or late,
/// and now and then the end of an answer is lost; of the single calls, one in twenty fails, prints
/// nothing, gives a false answer or is late.
const UNSURE: &str = r#"#!/bin/sh
case "$*" in
*" -C "*)
    "REAL" "$@" | perl -e '
        $| = 1;
        while (<STDIN>) {
            if (/^%end/) {
                if (++$n % 100 == 0) { open(F, ">", "ROOT/probes"); print F $n; close F }
                next if rand() < 0.00002;
            }
            if (/^pane:/) {
                my $chance = rand(100);
                next if $chance < 1;
                if ($chance < 2) { $_ = "nonsense\n" }
                elsif ($chance < 3) { $_ = substr($_, 0, length() / 2) . "\n" }
                elsif ($chance < 4) { s/:0:/:7:/ }
                elsif ($chance < 4.5) { s/%\d+/%999/ }
                elsif ($chance < 4.55) { select(undef, undef, undef, 0.1) }
            }
            print;
        }'
    ;;
*list-panes*)
    case $(perl -e 'print int(rand(100))') in
        0) exit 1 ;;
        1) exit 0 ;;
        2) echo "lost server" >&2; exit 1 ;;
        3) echo nonsense; exit 0 ;;
        4) sleep 0.5 ;;
    esac
    exec "REAL" "$@"
    ;;
*) exec "REAL" "$@" ;;
esac
"#;

pub fn real_tmux() -> String {
    let path = std::env::var_os("PATH").unwrap();
    let mut folders = std::env::split_paths(&path);
    let found = folders.find(|folder| folder.join("tmux").is_file());
    found.unwrap().join("tmux").display().to_string()
}

/// Puts a wrapper script in front of tmux from now on; `ROOT` in it is the stage's folder.
pub fn with_tmux(stage: &mut Stage, script: &str) {
    let root = stage.path("");
    let root = root.to_str().unwrap().trim_end_matches('/');
    let folder = stage.path("before");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("tmux");
    fs::write(&path, script.replace("ROOT", root)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    stage.environment = environment(&stage.path(""), &[("PATH", &path)]);
}

fn poll_count(stage: &Stage) -> usize {
    let text = fs::read_to_string(stage.path("probes")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

#[test]
fn lesson_12_a_hundred_thousand_unsure_polls_kill_no_agent() {
    let wanted = std::env::var("PROBES").map_or(PROBES, |text| text.parse().unwrap());
    let mut stage = Stage::new("default");
    for number in 1..=3 {
        stage.script(&format!("worker-{number}"), "hang");
    }
    let tasks: Vec<TaskId> = (0..3).map(|_| stage.create(&["Add a line"])).collect();
    for id in &tasks {
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        stage.wait_until_idle(id);
    }
    let panes = || stage_panes(&stage);
    let before = panes();
    let versions: Vec<u64> = tasks.iter().map(|id| stage.task(id).version).collect();
    with_tmux(&mut stage, &UNSURE.replace("REAL", &real_tmux()));
    let settings = Settings {
        tick: Duration::from_micros(100),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    let supervising = thread::spawn(move || supervisor.run());
    let mut rounds = 0;
    let mut last = 0;
    let in_time = Deadline::after(LONG).wait_for(|| {
        // The count restarts for a new connection.
        let now = poll_count(&stage);
        rounds += if now < last { now } else { now - last };
        last = now;
        rounds >= wanted
    });
    println!("{rounds} polls of the server");
    assert!(in_time, "only {rounds} polls");
    let after: Vec<u64> = tasks.iter().map(|id| stage.task(id).version).collect();
    assert_eq!(after, versions, "nothing was decided");
    assert_eq!(stage_panes(&stage), before, "no agent was killed");
    // And a real death is still noticed.
    let victim = before.lines().next().unwrap().split(' ').next().unwrap();
    assert!(
        Command::new("kill")
            .args(["-9", victim])
            .status()
            .unwrap()
            .success()
    );
    wait_for("the real death", || {
        tasks.iter().map(|id| deaths(&stage, id)).sum::<usize>() == 1
    });
    stopper.stop();
    let ended = Deadline::after(SOON).wait_for(|| supervising.is_finished());
    assert!(ended, "it did not stop");
    supervising.join().unwrap().unwrap();
}

fn stage_panes(stage: &Stage) -> String {
    stage.tmux(&[
        "list-panes",
        "-a",
        "-F",
        "#{pane_pid} #{pane_id} #{pane_dead}",
    ])
}
