//! One physical file: in the worktree while bound, otherwise in the home.

use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::TaskId;
use orange_store::{ReleaseOutcome, Store, StoreError, bind, project, release};

use crate::fixtures::{World, new_task};
use crate::sandbox::{RecordedTask, Sandbox, import_at, import_now, instant, minimal, nudge};

fn begin() -> (Sandbox, Store, TaskId) {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let text = Some("## Context\n\nwords\n");
    let world = World::create_with(&workflow, &new_task("A", None), text).unwrap();
    let id = RecordedTask::of(&mut store, world).world.task.id;
    project(&mut store, &id, instant(1)).unwrap();
    (sandbox, store, id)
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().is_symlink()
}

fn replaced_count(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.task_directory().join("replaced"))
        .unwrap()
        .count()
}

fn round_trip(sandbox: &Sandbox, store: &mut Store, id: &TaskId, worktree: &Path) {
    let inside = worktree.join("TASK.md");
    let before = fs::read_to_string(sandbox.task_file()).unwrap();
    bind(store, id, &inside, instant(2)).unwrap();
    assert!(!is_link(&inside) && is_link(&sandbox.task_file()));
    assert_eq!(fs::read_to_string(&inside).unwrap(), before);
    assert_eq!(fs::read_to_string(sandbox.task_file()).unwrap(), before);
    bind(store, id, &inside, instant(2)).unwrap();

    fs::write(&inside, format!("{before}more\n")).unwrap();
    nudge(store, id);
    project(store, id, instant(2)).unwrap();
    assert!(
        import_now(store, id)
            .document
            .text()
            .ends_with("words\nmore\n")
    );
    assert!(!is_link(&inside) && is_link(&sandbox.task_file()));
    let text = fs::read_to_string(&inside).unwrap();
    assert!(text.contains("attention: version"), "{text}");

    assert_eq!(
        release(store, id, instant(2)).unwrap(),
        ReleaseOutcome::CopiedBack
    );
    assert!(!is_link(&sandbox.task_file()));
    assert_eq!(fs::read_to_string(sandbox.task_file()).unwrap(), text);
    let left: Vec<_> = fs::read_dir(worktree)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    assert_eq!(
        release(store, id, instant(2)).unwrap(),
        ReleaseOutcome::NotBound
    );
    import_at(store, id, 100);
    import_at(store, id, 200);
    assert_eq!(replaced_count(sandbox), 0);
    assert!(
        store
            .imports(id)
            .unwrap()
            .iter()
            .all(|import| !import.stray)
    );
}

#[test]
fn the_file_moves_into_the_worktree_and_back() {
    let (sandbox, mut store, id) = begin();
    let worktree = sandbox.worktree();
    round_trip(&sandbox, &mut store, &id, &worktree);
}

#[test]
fn a_worktree_may_be_on_another_file_system() {
    let shared_memory = Path::new("/dev/shm");
    if !shared_memory.is_dir() {
        return;
    }
    let (sandbox, mut store, id) = begin();
    let worktree = tempfile::tempdir_in(shared_memory).unwrap();
    round_trip(&sandbox, &mut store, &id, worktree.path());
}

#[test]
fn a_file_that_is_not_ours_is_not_overwritten() {
    let (sandbox, mut store, id) = begin();
    let inside = sandbox.worktree().join("TASK.md");
    fs::write(&inside, "the repository's own\n").unwrap();
    let refused = bind(&mut store, &id, &inside, instant(2)).unwrap_err();
    assert!(
        matches!(refused, StoreError::PathOccupied { .. }),
        "{refused}"
    );
    assert_eq!(
        fs::read_to_string(&inside).unwrap(),
        "the repository's own\n"
    );
    assert!(!is_link(&sandbox.task_file()));

    fs::remove_file(&inside).unwrap();
    bind(&mut store, &id, &inside, instant(2)).unwrap();
    let elsewhere = bind(
        &mut store,
        &id,
        &sandbox.worktree().join("OTHER.md"),
        instant(2),
    )
    .unwrap_err();
    assert!(matches!(elsewhere, StoreError::BoundElsewhere { .. }));
}

#[test]
fn a_file_cleaned_out_of_the_worktree_comes_back() {
    // Lesson 47: `git clean -fdx`.
    let (sandbox, mut store, id) = begin();
    let inside = sandbox.worktree().join("TASK.md");
    bind(&mut store, &id, &inside, instant(2)).unwrap();
    fs::remove_file(&inside).unwrap();
    let read = import_now(&mut store, &id);
    assert!(read.restored);
    assert!(fs::read_to_string(&inside).unwrap().contains("words"));
    // Also when its absence is noticed only during removal.
    fs::remove_file(&inside).unwrap();
    assert_eq!(
        release(&mut store, &id, instant(2)).unwrap(),
        ReleaseOutcome::Restored
    );
    assert!(
        fs::read_to_string(sandbox.task_file())
            .unwrap()
            .contains("words")
    );
}

#[test]
fn a_missing_worktree_does_not_hold_the_file() {
    let (sandbox, mut store, id) = begin();
    let worktree = sandbox.worktree();
    bind(&mut store, &id, &worktree.join("TASK.md"), instant(2)).unwrap();
    fs::remove_dir_all(&worktree).unwrap();
    let projected = project(&mut store, &id, instant(1)).unwrap();
    assert!(projected.deferred.is_some() || projected == orange_store::ProjectionReport::default());
    assert_eq!(
        release(&mut store, &id, instant(2)).unwrap(),
        ReleaseOutcome::Restored
    );
    assert!(
        fs::read_to_string(sandbox.task_file())
            .unwrap()
            .contains("words")
    );
}

#[test]
fn an_editor_that_saves_over_the_link_does_not_make_a_second_file() {
    let (sandbox, mut store, id) = begin();
    let inside = sandbox.worktree().join("TASK.md");
    bind(&mut store, &id, &inside, instant(2)).unwrap();
    let save = |text: &str| {
        let new = sandbox.task_directory().join("editor");
        fs::write(&new, text).unwrap();
        fs::rename(new, sandbox.task_file()).unwrap();
    };
    // No one else wrote since the last import: it counts.
    save("## Context\n\na person's words\n");
    let read = import_now(&mut store, &id);
    assert_eq!(read.document.text(), "## Context\n\na person's words\n");
    assert_eq!(
        fs::read_to_string(&inside).unwrap(),
        "## Context\n\na person's words\n"
    );
    assert!(is_link(&sandbox.task_file()));
    // The agent wrote meanwhile: its text stays, and the other is kept.
    save("## Context\n\nother words\n");
    fs::write(&inside, "## Context\n\nan agent's words\n").unwrap();
    let read = import_now(&mut store, &id);
    assert_eq!(read.document.text(), "## Context\n\nan agent's words\n");
    assert_eq!(read.strays, 1);
    assert!(is_link(&sandbox.task_file()));
    let stray = store
        .imports(&id)
        .unwrap()
        .into_iter()
        .find(|import| import.stray)
        .unwrap();
    assert_eq!(stray.text, "## Context\n\nother words\n");
}
