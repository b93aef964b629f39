//! The second table: every path × every kind of unsaved work.
//!
//! After each cell every byte is still in its place, in a rescue that `task restore` brings back,
//! in a commit of a branch, or among the ignored files that were set aside. A new path is one more
//! row: a function that gets a task with unsaved work in its workspace.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use orange_driver::{Answer, Destination, WaitPolicy};
use orange_effects::git::Rescue;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, TaskId};

use crate::dirty_states::{ALL, DirtyState, Expected};
use crate::dirty_states_table::{RepoState, assert_index_kept, assert_kept};
use crate::home_fixture::{HomeFixture, files_without_task, wait_for};
use crate::repo_fixture::{Files, begin_count, commit_files, counted, files, numbering_script};

/// The kinds of unsaved work that every path is tried with; `appearing` comes in addition.
const KINDS: &[&str] = &[
    "uncommitted",
    "staged",
    "staged_and_unstaged_in_one_file",
    "untracked",
    "ignored",
    "ignored_beside_untracked",
    "committed_and_unmerged",
    "stash",
    "rebase",
    "merge",
    "bisect",
    "detached_with_a_commit",
    "detached_and_dirty",
    "submodule_dirty",
    "repository_inside",
    "main_checkout_dirty",
    "main_checkout_on_another_branch",
];

/// How many paths there are; the test below counts cells.
const PATHS: usize = 13;

#[test]
fn the_table_of_paths_is_large_enough() {
    let cells = (KINDS.len() + 1) * PATHS;
    assert!(cells >= 150, "{cells}");
    let source = include_str!("no_loss_table.rs");
    let roads = source.matches("\n    for_every_state(").count();
    assert_eq!(roads, PATHS);
}

/// One cell: a task that holds a workspace with unsaved work.
struct Case<'a> {
    ground: &'a HomeFixture,
    task: &'a TaskId,
    /// The content of the workspace, without TASK.md.
    before: Files,
    /// The expected outcome of a release.
    expected: Expected,
    comes_back: bool,
    /// A file that changes during the test.
    changing: Option<&'static str>,
}

impl Case<'_> {
    fn rescues(&self) -> Vec<Rescue> {
        let git = self.ground.yard.open();
        git.rescues(self.task).unwrap()
    }

    /// Asserts that everything is where it was.
    fn assert_untouched(&self) {
        assert_eq!(files_without_task(&self.ground.yard.slot()), self.before);
        assert_eq!(self.rescues(), []);
    }

    /// Asserts that the workspace was released, or left as it is because it could not be.
    fn assert_released(&self) {
        let ground = self.ground;
        assert!(ground.store().workspace_of(self.task).unwrap().is_none());
        if self.expected == Expected::Retired {
            assert_eq!(files_without_task(&ground.yard.slot()), self.before);
            let listed = ground.driver().workspaces.workspaces(None).unwrap();
            assert_eq!(listed[0].state, "retired");
        }
    }

    fn is_retired(&self) -> bool {
        self.expected == Expected::Retired
    }
}

/// Tests one path with every kind of unsaved work.
#[expect(clippy::print_stderr, reason = "a failure must name its cell")]
fn for_every_state(road: fn(&Case<'_>)) {
    let ground = HomeFixture::new(2);
    let task = ground.create_with_workspace();
    ground.yard.save();
    for (number, name) in KINDS.iter().enumerate() {
        if number > 0 {
            ground.yard.reset();
        }
        let dirt = ALL.iter().find(|dirt| dirt.name == *name).unwrap();
        eprintln!("{name}");
        go(&ground, &task, road, dirt);
    }
    ground.yard.reset();
    eprintln!("appearing");
    run_with_new_files(&ground, &task, road);
}

fn go(ground: &HomeFixture, task: &TaskId, road: fn(&Case<'_>), dirt: &DirtyState) {
    let slot = ground.yard.slot();
    (dirt.make)(&ground.yard, &slot);
    let surroundings = RepoState::of(&ground.yard);
    let index = ground.yard.git(&slot, &["ls-files", "--stage"]);
    let cell = Case {
        ground,
        task,
        before: files_without_task(&slot),
        expected: dirt.expected,
        comes_back: dirt.comes_back,
        changing: None,
    };
    road(&cell);
    let rescues = cell.rescues();
    assert_all_kept(ground, &cell.before, &rescues);
    if !cell.is_retired() && !rescues.is_empty() {
        assert_index_kept(&ground.yard, &index, &rescues);
    }
    assert_eq!(RepoState::of(&ground.yard), surroundings, "around");
    kill_agents(ground);
}

/// A file appears, and another changes, between the check and the action.
fn run_with_new_files(ground: &HomeFixture, task: &TaskId, road: fn(&Case<'_>)) {
    let slot = ground.yard.slot();
    fs::write(slot.join("README"), "early\n").unwrap();
    let count = ground.yard.path("count").display().to_string();
    ground.wrap_git(&format!(
        "if [ \"$2\" = status ] && [ \"$PWD\" = {slot} ]; then\n\
         n=$(cat {count} 2>/dev/null || echo 0); n=$((n+1)); echo $n >{count}\n\
         $real \"$@\"; code=$?\n\
         if [ $n = 1 ]; then echo late >{slot}/late; echo late >{slot}/src/main.rs; fi\n\
         exit $code\nfi\nexec $real \"$@\"",
        slot = slot.canonicalize().unwrap().display()
    ));
    let mut before = files_without_task(&slot);
    let cell = Case {
        ground,
        task,
        before: before.clone(),
        expected: Expected::Rescued,
        comes_back: true,
        changing: Some("src/main.rs"),
    };
    road(&cell);
    ground.unwrap_git();
    if Path::new(&count).exists() {
        for path in ["late", "src/main.rs"] {
            let late = (0o100_644, b"late\n".to_vec());
            before.insert(path.into(), late);
        }
    }
    assert_all_kept(ground, &before, &cell.rescues());
    kill_agents(ground);
}

/// Fails unless every byte is in its place, in a rescue, or set aside.
fn assert_all_kept(ground: &HomeFixture, before: &Files, rescues: &[Rescue]) {
    let mut missing = before.clone();
    let aside = ground.home().set_aside();
    for folder in fs::read_dir(aside).into_iter().flatten() {
        let kept = files(&folder.unwrap().path());
        missing.retain(|path, content| kept.get(path) != Some(content));
    }
    assert_kept(&ground.yard, &missing, rescues);
}

/// Kills agents, so that the next cell starts without any.
fn kill_agents(ground: &HomeFixture) {
    ground.tmux(&["kill-server"]);
}

fn cancel(cell: &Case<'_>) {
    let answer = cell.ground.ask(cell.task, RequestKind::Verb(Verb::Cancel));
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
}

#[test]
fn lesson_1_cancelling_moves_no_branch_and_loses_no_byte() {
    for_every_state(|cell| {
        cancel(cell);
        cell.assert_released();
    });
}

#[test]
fn giving_back_loses_nothing() {
    for_every_state(|cell| {
        cell.ground.go(cell.task, "open");
        cell.assert_released();
    });
}

/// The real performer is killed at a git call, and everything is repeated in this process.
#[test]
fn a_performer_that_is_killed_in_the_middle_loses_nothing() {
    for_every_state(|cell| {
        let ground = cell.ground;
        let count = ground.yard.path("calls");
        // Another call in every cell.
        let at = 2 + cell.before.len() * 7 % 30;
        let appearing = fs::read_to_string(ground.yard.path("programs/git"));
        if appearing.is_err() {
            begin_count(&count);
            ground.wrap_git(&format!(
                "{}if [ $n = {at} ]; then kill -9 $PPID; exit 1; fi\nexec $real \"$@\"",
                numbering_script(&count)
            ));
        }
        let asked =
            ground.ask_waiting(cell.task, RequestKind::Verb(Verb::Cancel), WaitPolicy::Skip);
        assert!(matches!(asked, Answer::StillRunning(_)), "{asked:?}");
        let mut perform = ground.orange(&["perform", cell.task.as_str()]);
        let status = perform.status().unwrap();
        if appearing.is_err() {
            let calls = counted(&count);
            let is_reached = calls >= at;
            assert_eq!(status.signal() == Some(9), is_reached, "{status}, {calls}");
            ground.unwrap_git();
        }
        ground
            .driver()
            .performer
            .perform_until_done(cell.task)
            .unwrap();
        cell.assert_released();
    });
}

#[test]
fn a_start_that_fails_loses_nothing() {
    for_every_state(|cell| {
        let ground = cell.ground;
        fs::remove_file(ground.harness()).unwrap();
        let task = ground.go(cell.task, "manned");
        assert_eq!(task.status.as_str(), "open", "{}", ground.told(cell.task));
        cell.assert_released();
    });
}

#[test]
fn a_setup_that_fails_loses_nothing() {
    for_every_state(|cell| {
        let ground = cell.ground;
        ground.go(cell.task, "open");
        cell.assert_released();
        ground.configure_script("setup", "echo new >made-by-setup; exit 3");
        let task = ground.go(cell.task, "held");
        assert_eq!(task.status.as_str(), "open", "{}", ground.told(cell.task));
        assert!(ground.store().workspace_of(cell.task).unwrap().is_none());
    });
}

#[test]
fn an_agent_that_comes_goes_and_comes_back_finds_everything() {
    for_every_state(|cell| {
        let ground = cell.ground;
        let task = ground.go(cell.task, "manned");
        assert_eq!(task.status.as_str(), "manned", "{}", ground.told(cell.task));
        let place = ground.store().runs(cell.task).unwrap()[0].place.clone();
        let process = place.unwrap().process.pid.to_string();
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args(["-9", &process]).status().unwrap().success());
        wait_for("the agent to go", || {
            ground.tmux(&["list-panes", "-a", "-F", "#{pane_dead}"]) == "1\n"
        });
        // A death that is not detectable yet changes nothing, so ask again.
        wait_for("the agent to come back", || {
            let answer = ground.ask(cell.task, RequestKind::Respawn { role: None });
            matches!(answer, Answer::Done(_))
        });
        let panes = ground.tmux(&["list-panes", "-a", "-F", "#{pane_dead}"]);
        assert_eq!(panes, "0\n");
        ground.go(cell.task, "held");
        cell.assert_untouched();
    });
}

#[test]
fn collecting_touches_nothing_that_is_in_use() {
    for_every_state(|cell| {
        let driver = cell.ground.driver();
        let collected = driver.admin.collect_garbage(None, true, WaitPolicy::Here);
        assert_eq!(collected.unwrap().freed_workspaces, []);
        cell.assert_untouched();
    });
}

#[test]
fn collecting_after_the_end_loses_nothing() {
    for_every_state(|cell| {
        cancel(cell);
        for confirmed in [false, true] {
            let driver = cell.ground.driver();
            let collected = driver
                .admin
                .collect_garbage(None, confirmed, WaitPolicy::Here);
            let collected = collected.unwrap();
            assert_eq!(
                collected.unusable_workspaces.len(),
                usize::from(cell.is_retired())
            );
            assert_eq!(collected.merged_rescues, [] as [&str; 0]);
        }
        cell.assert_released();
    });
}

#[test]
fn the_next_task_finds_nothing_of_the_last() {
    for_every_state(|cell| {
        let ground = cell.ground;
        cancel(cell);
        let next = ground.create(Some("next"));
        let task = ground.go(&next, "held");
        assert_eq!(task.status.as_str(), "held", "{}", ground.told(&next));
        let held = ground.store().workspace_of(&next).unwrap().unwrap();
        assert_eq!(held.path == ground.yard.slot(), !cell.is_retired());
        let status = ["status", "--porcelain", "--untracked-files=all"];
        assert_eq!(ground.yard.git(&held.path, &status), "");
        ground.go(&next, "closed");
        ground
            .yard
            .git(&ground.yard.app(), &["branch", "-q", "-D", "next"]);
    });
}

#[test]
fn what_was_unsaved_comes_back_with_its_task_or_is_said_to_be_kept() {
    for_every_state(|cell| {
        let ground = cell.ground;
        ground.go(cell.task, "open");
        ground.unwrap_git();
        let task = ground.go(cell.task, "held");
        if cell.is_retired() {
            let held = ground.store().workspace_of(cell.task).unwrap();
            // The branch is still checked out in the workspace that was left as it is.
            assert!(held.is_none(), "{}", ground.told(cell.task));
            return;
        }
        assert_eq!(task.status.as_str(), "held", "{}", ground.told(cell.task));
        let now = files_without_task(&ground.yard.slot());
        let lasting = cell.before.iter();
        let mut lasting = lasting.filter(|(path, _)| path.to_str() != cell.changing);
        let is_back = lasting.all(|(path, it)| now.get(path) == Some(it));
        let is_said = task
            .attention
            .iter()
            .any(|it| it.contains("orange task restore"));
        assert!(
            is_back != is_said,
            "back {is_back}, said {is_said}: {:?}",
            task.attention
        );
        assert!(is_back || !cell.comes_back, "{:?}", task.attention);
        // Once: releasing and acquiring again finds the newer rescue, not the older one twice.
        let first = cell.rescues().len();
        ground.go(cell.task, "open");
        ground.go(cell.task, "held");
        assert!(cell.rescues().len() <= first + 1);
    });
}

#[test]
fn a_rescue_goes_where_it_is_asked_to_and_overwrites_nothing() {
    for_every_state(|cell| {
        let ground = cell.ground;
        ground.go(cell.task, "open");
        ground.unwrap_git();
        let driver = ground.driver();
        let kept = driver.workspaces.rescues_of(cell.task, None).unwrap();
        assert_eq!(kept.len(), cell.rescues().len());
        for rescue in kept {
            let folder = ground.yard.path("out");
            let to = Destination::Directory(folder.clone());
            for _twice in 0..2 {
                driver
                    .workspaces
                    .restore(cell.task, None, rescue.number, &to)
                    .unwrap();
            }
            let out = files(&folder);
            let held = commit_files(&ground.yard, rescue.commit.as_str());
            for path in &rescue.paths {
                let path = Path::new(path);
                assert_eq!(out.get(path), held.get(path), "{}", path.display());
            }
            // If an existing file differs, the whole folder stays as it is.
            if let Some((path, _)) = out.iter().find(|(_, (mode, _))| *mode != 0o120_000) {
                fs::write(folder.join(path), "the user's own\n").unwrap();
                let there = files(&folder);
                assert!(
                    driver
                        .workspaces
                        .restore(cell.task, None, rescue.number, &to)
                        .is_err()
                );
                assert_eq!(files(&folder), there);
            }
            let to = Destination::Branch(BranchName::new("kept"));
            driver
                .workspaces
                .restore(cell.task, None, rescue.number, &to)
                .unwrap();
            let commit = format!("{}^{{tree}}", rescue.commit);
            let trees = ["rev-parse", "kept^{tree}", &commit];
            let trees = ground.yard.git(&ground.yard.app(), &trees);
            let trees: Vec<&str> = trees.lines().collect();
            assert_eq!(trees[0], trees[1]);
            let other = Destination::Branch(BranchName::new("main"));
            assert!(
                driver
                    .workspaces
                    .restore(cell.task, None, rescue.number, &other)
                    .is_err()
            );
            ground
                .yard
                .git(&ground.yard.app(), &["branch", "-q", "-D", "kept"]);
        }
    });
}

#[test]
fn restoring_into_the_worktree_replaces_nothing_that_differs() {
    for_every_state(|cell| {
        let ground = cell.ground;
        ground.go(cell.task, "open");
        ground.unwrap_git();
        ground.go(cell.task, "held");
        let slot = ground.yard.slot();
        if cell.is_retired() {
            return;
        }
        fs::write(slot.join("README"), "changed since then\n").unwrap();
        for rescued in cell.rescues() {
            let here = files_without_task(&slot);
            let driver = ground.driver();
            let done =
                driver
                    .workspaces
                    .restore(cell.task, None, rescued.number, &Destination::Worktree);
            match done {
                Ok(_) => assert_eq!(
                    fs::read(slot.join("README")).unwrap(),
                    b"changed since then\n"
                ),
                Err(_) => assert_eq!(files_without_task(&slot), here),
            }
        }
    });
}

#[test]
fn the_command_line_loses_nothing_either() {
    for_every_state(|cell| {
        let ground = cell.ground;
        let task = cell.task.as_str();
        let (code, said) = ground.call(&["task", "cancel", task, "--wait", "60"]);
        assert_eq!(code, 0, "{said}");
        ground.unwrap_git();
        cell.assert_released();
        let answer = ground.json(&["task", "restore", task]);
        let listed = answer["rescues"].as_array().unwrap();
        assert_eq!(listed.len(), cell.rescues().len());
        let answer = ground.json(&["workspace", "gc", "--yes"]);
        assert_eq!(answer["freed_workspaces"].as_array().unwrap().len(), 0);
        for rescue in listed {
            let number = rescue["number"].to_string();
            let out = ground.yard.path("out").display().to_string();
            ground.json(&["task", "restore", task, &number, "--directory", &out]);
        }
    });
}
