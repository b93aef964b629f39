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
const PATHS: usize = 15;

#[test]
fn the_table_of_paths_is_large_enough() {
    let cells = (KINDS.len() + 1) * PATHS;
    assert!(cells >= 150, "{cells}");
    let source = include_str!("no_loss_table.rs");
    let paths = source.matches("\n    for_every_state(").count();
    assert_eq!(paths, PATHS);
}

/// One cell: a task that holds a workspace with unsaved work.
struct Case<'a> {
    fixture: &'a HomeFixture,
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
        let git = self.fixture.repo.open();
        git.rescues(self.task).unwrap()
    }

    /// Asserts that everything is where it was.
    fn assert_untouched(&self) {
        assert_eq!(files_without_task(&self.fixture.repo.slot()), self.before);
        assert_eq!(self.rescues(), []);
    }

    /// Asserts that the workspace was released, or left as it is because it could not be.
    fn assert_released(&self) {
        let fixture = self.fixture;
        assert!(fixture.store().workspace_of(self.task).unwrap().is_none());
        if self.expected == Expected::Retired {
            assert_eq!(files_without_task(&fixture.repo.slot()), self.before);
            let listed = fixture.driver().workspaces.workspaces(None).unwrap();
            assert_eq!(listed[0].state, "retired");
        }
    }

    /// Asserts that the task holds a workspace again, with its work or a notice that says where it
    /// is kept.
    fn assert_back_or_reported(&self) {
        let fixture = self.fixture;
        let task = fixture.task(self.task);
        if self.is_retired() {
            let workspace = fixture.store().workspace_of(self.task).unwrap();
            // The branch is still checked out in the workspace that was left as it is.
            assert!(workspace.is_none(), "{}", fixture.diagnostics(self.task));
            return;
        }
        assert_eq!(
            task.status.as_str(),
            "held",
            "{}",
            fixture.diagnostics(self.task)
        );
        let now = files_without_task(&fixture.repo.slot());
        let lasting = self.before.iter();
        let mut lasting = lasting.filter(|(path, _)| path.to_str() != self.changing);
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
        assert!(is_back || !self.comes_back, "{:?}", task.attention);
    }

    fn is_retired(&self) -> bool {
        self.expected == Expected::Retired
    }
}

/// Tests one path with every kind of unsaved work.
#[expect(clippy::print_stderr, reason = "a failure must name its cell")]
fn for_every_state(scenario: fn(&Case<'_>)) {
    let fixture = HomeFixture::new(2);
    let task = fixture.create_with_workspace();
    fixture.repo.save();
    for (number, name) in KINDS.iter().enumerate() {
        if number > 0 {
            fixture.repo.reset();
        }
        let state = ALL.iter().find(|state| state.name == *name).unwrap();
        eprintln!("{name}");
        run_with_state(&fixture, &task, scenario, state);
    }
    fixture.repo.reset();
    eprintln!("appearing");
    run_with_new_files(&fixture, &task, scenario);
}

fn run_with_state(
    fixture: &HomeFixture,
    task: &TaskId,
    scenario: fn(&Case<'_>),
    state: &DirtyState,
) {
    let slot = fixture.repo.slot();
    (state.make)(&fixture.repo, &slot);
    let surroundings = RepoState::of(&fixture.repo);
    let index = fixture.repo.git(&slot, &["ls-files", "--stage"]);
    let cell = Case {
        fixture,
        task,
        before: files_without_task(&slot),
        expected: state.expected,
        comes_back: state.comes_back,
        changing: None,
    };
    scenario(&cell);
    let rescues = cell.rescues();
    assert_all_kept(fixture, &cell.before, &rescues);
    if !cell.is_retired() && !rescues.is_empty() {
        assert_index_kept(&fixture.repo, &index, &rescues);
    }
    assert_eq!(RepoState::of(&fixture.repo), surroundings, "around");
    kill_agents(fixture);
}

/// A file appears, and another changes, between the check and the action.
fn run_with_new_files(fixture: &HomeFixture, task: &TaskId, scenario: fn(&Case<'_>)) {
    let slot = fixture.repo.slot();
    fs::write(slot.join("README"), "early\n").unwrap();
    let count = fixture.repo.path("count").display().to_string();
    fixture.wrap_git(&format!(
        "if [ \"$2\" = status ] && [ \"$PWD\" = {slot} ]; then\n\
         n=$(cat {count} 2>/dev/null || echo 0); n=$((n+1)); echo $n >{count}\n\
         $real \"$@\"; code=$?\n\
         if [ $n = 1 ]; then echo late >{slot}/late; echo late >{slot}/src/main.rs; fi\n\
         exit $code\nfi\nexec $real \"$@\"",
        slot = slot.canonicalize().unwrap().display()
    ));
    let mut before = files_without_task(&slot);
    let cell = Case {
        fixture,
        task,
        before: before.clone(),
        expected: Expected::Rescued,
        comes_back: true,
        changing: Some("src/main.rs"),
    };
    scenario(&cell);
    fixture.unwrap_git();
    if Path::new(&count).exists() {
        for path in ["late", "src/main.rs"] {
            let late = (0o100_644, b"late\n".to_vec());
            before.insert(path.into(), late);
        }
    }
    assert_all_kept(fixture, &before, &cell.rescues());
    kill_agents(fixture);
}

/// Fails unless every byte is in its place, in a rescue, or set aside.
fn assert_all_kept(fixture: &HomeFixture, before: &Files, rescues: &[Rescue]) {
    let mut missing = before.clone();
    let aside = fixture.home().set_aside();
    for folder in fs::read_dir(aside).into_iter().flatten() {
        let kept = files(&folder.unwrap().path());
        missing.retain(|path, content| kept.get(path) != Some(content));
    }
    assert_kept(&fixture.repo, &missing, rescues);
}

/// Kills agents, so that the next cell starts without any.
fn kill_agents(fixture: &HomeFixture) {
    fixture.tmux(&["kill-server"]);
}

fn cancel(cell: &Case<'_>) {
    let answer = cell.fixture.ask(cell.task, RequestKind::Verb(Verb::Cancel));
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
fn releasing_loses_nothing() {
    for_every_state(|cell| {
        cell.fixture.move_to(cell.task, "open");
        cell.assert_released();
    });
}

/// The real performer is killed at a git call, and everything is repeated in this process.
#[test]
fn a_killed_performer_loses_nothing() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        let count = fixture.repo.path("calls");
        // Another call in every cell.
        let at = 2 + cell.before.len() * 7 % 30;
        let appearing = fs::read_to_string(fixture.repo.path("programs/git"));
        if appearing.is_err() {
            begin_count(&count);
            fixture.wrap_git(&format!(
                "{}if [ $n = {at} ]; then kill -9 $PPID; exit 1; fi\nexec $real \"$@\"",
                numbering_script(&count)
            ));
        }
        let is_requested =
            fixture.ask_waiting(cell.task, RequestKind::Verb(Verb::Cancel), WaitPolicy::Skip);
        assert!(
            matches!(is_requested, Answer::StillRunning(_)),
            "{is_requested:?}"
        );
        let mut perform = fixture.orange(&["perform", cell.task.as_str()]);
        let status = perform.status().unwrap();
        if appearing.is_err() {
            let calls = counted(&count);
            let is_reached = calls >= at;
            assert_eq!(status.signal() == Some(9), is_reached, "{status}, {calls}");
            fixture.unwrap_git();
        }
        fixture
            .driver()
            .performer
            .perform_until_done(cell.task)
            .unwrap();
        cell.assert_released();
    });
}

#[test]
fn a_failed_start_loses_nothing() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        fs::remove_file(fixture.harness()).unwrap();
        let task = fixture.move_to(cell.task, "manned");
        assert_eq!(
            task.status.as_str(),
            "open",
            "{}",
            fixture.diagnostics(cell.task)
        );
        cell.assert_released();
    });
}

#[test]
fn a_failed_setup_loses_nothing() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        fixture.move_to(cell.task, "open");
        cell.assert_released();
        fixture.configure_script("setup", "echo new >made-by-setup; exit 3");
        let task = fixture.move_to(cell.task, "held");
        assert_eq!(
            task.status.as_str(),
            "open",
            "{}",
            fixture.diagnostics(cell.task)
        );
        assert!(fixture.store().workspace_of(cell.task).unwrap().is_none());
    });
}

#[test]
fn a_respawned_agent_finds_all_its_files() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        let task = fixture.move_to(cell.task, "manned");
        assert_eq!(
            task.status.as_str(),
            "manned",
            "{}",
            fixture.diagnostics(cell.task)
        );
        let place = fixture.store().runs(cell.task).unwrap()[0].place.clone();
        let process = place.unwrap().process.pid.to_string();
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args(["-9", &process]).status().unwrap().success());
        wait_for("the agent to go", || {
            fixture.tmux(&["list-panes", "-a", "-F", "#{pane_dead}"]) == "1\n"
        });
        // A death that is not detectable yet changes nothing, so ask again.
        wait_for("the agent to come back", || {
            let answer = fixture.ask(cell.task, RequestKind::Respawn { role: None });
            matches!(answer, Answer::Done(_))
        });
        let panes = fixture.tmux(&["list-panes", "-a", "-F", "#{pane_dead}"]);
        assert_eq!(panes, "0\n");
        fixture.move_to(cell.task, "held");
        cell.assert_untouched();
    });
}

#[test]
fn garbage_collection_does_not_touch_workspaces_in_use() {
    for_every_state(|cell| {
        let driver = cell.fixture.driver();
        let collected = driver.admin.collect_garbage(None, true, WaitPolicy::Here);
        assert_eq!(collected.unwrap().freed_workspaces, []);
        cell.assert_untouched();
    });
}

#[test]
fn garbage_collection_after_the_end_loses_nothing() {
    for_every_state(|cell| {
        cancel(cell);
        for confirmed in [false, true] {
            let driver = cell.fixture.driver();
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
fn the_next_task_gets_a_clean_workspace() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        cancel(cell);
        let next = fixture.create(Some("next"));
        let task = fixture.move_to(&next, "held");
        assert_eq!(
            task.status.as_str(),
            "held",
            "{}",
            fixture.diagnostics(&next)
        );
        let workspace = fixture.store().workspace_of(&next).unwrap().unwrap();
        assert_eq!(workspace.path == fixture.repo.slot(), !cell.is_retired());
        let status = ["status", "--porcelain", "--untracked-files=all"];
        assert_eq!(fixture.repo.git(&workspace.path, &status), "");
        fixture.move_to(&next, "closed");
        fixture
            .repo
            .git(&fixture.repo.app(), &["branch", "-q", "-D", "next"]);
    });
}

#[test]
fn unsaved_work_is_restored_with_its_task_or_reported_as_kept() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        fixture.move_to(cell.task, "open");
        fixture.unwrap_git();
        fixture.move_to(cell.task, "held");
        cell.assert_back_or_reported();
        if cell.is_retired() {
            return;
        }
        // Once: releasing and acquiring again finds the newer rescue, not the older one twice.
        let first = cell.rescues().len();
        fixture.move_to(cell.task, "open");
        fixture.move_to(cell.task, "held");
        assert!(cell.rescues().len() <= first + 1);
    });
}

#[test]
fn a_reopened_task_has_its_unsaved_work_or_says_where_it_is() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        cancel(cell);
        cell.assert_released();
        fixture.unwrap_git();
        let answer = fixture.ask(cell.task, RequestKind::Reopen);
        assert!(!matches!(answer, Answer::Refused(_)), "{answer:?}");
        let driver = fixture.driver();
        driver.performer.perform_until_done(cell.task).unwrap();
        cell.assert_back_or_reported();
    });
}

/// The performer of a reopened task is killed at a git call, and everything is repeated.
#[test]
fn a_reopening_that_is_killed_loses_nothing() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        cancel(cell);
        fixture.unwrap_git();
        let count = fixture.repo.path("calls");
        // Another call in every cell.
        let at = 2 + cell.before.len() * 5 % 30;
        begin_count(&count);
        fixture.wrap_git(&format!(
            "{}if [ $n = {at} ]; then kill -9 $PPID; exit 1; fi\nexec $real \"$@\"",
            numbering_script(&count)
        ));
        let answer = fixture.ask_waiting(cell.task, RequestKind::Reopen, WaitPolicy::Skip);
        assert!(matches!(answer, Answer::StillRunning(_)), "{answer:?}");
        let mut perform = fixture.orange(&["perform", cell.task.as_str()]);
        let status = perform.status().unwrap();
        let calls = counted(&count);
        assert_eq!(status.signal() == Some(9), calls >= at, "{status}, {calls}");
        fixture.unwrap_git();
        let driver = fixture.driver();
        driver.performer.perform_until_done(cell.task).unwrap();
        cell.assert_back_or_reported();
    });
}

#[test]
fn a_rescue_is_restored_to_its_target_and_overwrites_nothing() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        fixture.move_to(cell.task, "open");
        fixture.unwrap_git();
        let driver = fixture.driver();
        let kept = driver.workspaces.rescues_of(cell.task, None).unwrap();
        assert_eq!(kept.len(), cell.rescues().len());
        for rescue in kept {
            let folder = fixture.repo.path("out");
            let to = Destination::Directory(folder.clone());
            for _twice in 0..2 {
                driver
                    .workspaces
                    .restore(cell.task, None, rescue.number, &to)
                    .unwrap();
            }
            let out = files(&folder);
            let saved_files = commit_files(&fixture.repo, rescue.commit.as_str());
            for path in &rescue.paths {
                let path = Path::new(path);
                assert_eq!(out.get(path), saved_files.get(path), "{}", path.display());
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
            let trees = fixture.repo.git(&fixture.repo.app(), &trees);
            let trees: Vec<&str> = trees.lines().collect();
            assert_eq!(trees[0], trees[1]);
            let other = Destination::Branch(BranchName::new("main"));
            assert!(
                driver
                    .workspaces
                    .restore(cell.task, None, rescue.number, &other)
                    .is_err()
            );
            fixture
                .repo
                .git(&fixture.repo.app(), &["branch", "-q", "-D", "kept"]);
        }
    });
}

#[test]
fn restoring_into_the_worktree_replaces_nothing_that_differs() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        fixture.move_to(cell.task, "open");
        fixture.unwrap_git();
        fixture.move_to(cell.task, "held");
        let slot = fixture.repo.slot();
        if cell.is_retired() {
            return;
        }
        fs::write(slot.join("README"), "changed since then\n").unwrap();
        for rescued in cell.rescues() {
            let here = files_without_task(&slot);
            let driver = fixture.driver();
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
fn the_command_line_loses_nothing() {
    for_every_state(|cell| {
        let fixture = cell.fixture;
        let task = cell.task.as_str();
        let (code, output) = fixture.call(&["task", "cancel", task, "--wait", "60"]);
        assert_eq!(code, 0, "{output}");
        fixture.unwrap_git();
        cell.assert_released();
        let answer = fixture.json(&["task", "restore", task]);
        let listed = answer["rescues"].as_array().unwrap();
        assert_eq!(listed.len(), cell.rescues().len());
        let answer = fixture.json(&["workspace", "gc", "--yes"]);
        assert_eq!(answer["freed_workspaces"].as_array().unwrap().len(), 0);
        for rescue in listed {
            let number = rescue["number"].to_string();
            let out = fixture.repo.path("out").display().to_string();
            fixture.json(&["task", "restore", task, &number, "--directory", &out]);
        }
    });
}
