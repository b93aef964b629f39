//! TASK.md and its neighbours: projected, imported, restored.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use orange_engine::document::{Document, Frontmatter, SectionName};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::{
    ImportResult, ProjectionReport, ReleaseOutcome, StatusEdit, StoreError, UnreadableReason,
    archive_section, bind, import, peek, project, release,
};

use crate::fixtures::{World, new_task, status};
use crate::sandbox::{
    RecordedTask, Sandbox, import_at, import_now, instant, minimal, nudge, source,
};

const HOSTILE: &str = "\u{feff}---\r\n# a comment\r\nmine: [1, 2]\r\nstatus:   'old'  # note\r\n\
    ---\r\n\r\n## Context\r\n\r\n```\n## Not a section\n---\n```\n\ttabs \u{0} \u{202e} 🍊\r\n\
    no newline at the end";

fn begin(text: &str) -> (Sandbox, orange_store::Store, TaskId) {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let world = World::create_with(&workflow, &new_task("Add: a thing", None), Some(text)).unwrap();
    let id = RecordedTask::of(&mut store, world).world.task.id;
    project(&mut store, &id, instant(1)).unwrap();
    (sandbox, store, id)
}

fn field(text: &str, key: &str) -> Option<String> {
    match Document::parse(text.as_bytes()).unwrap().frontmatter() {
        Frontmatter::Present(fields) => fields.text(key).map(str::to_owned),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_projection_changes_the_engines_keys_and_no_other_byte() {
    let (sandbox, mut store, id) = begin(HOSTILE);
    let text = fs::read_to_string(sandbox.task_file()).unwrap();
    let body = |text: &str| Document::parse(text.as_bytes()).unwrap().body().to_owned();
    assert_eq!(body(&text), body(HOSTILE));
    assert!(
        text.starts_with(
            "\u{feff}---\r\n# a comment\r\nmine: [1, 2]\r\nstatus:   pending  # note\r\n"
        ),
        "{text:?}"
    );
    assert_eq!(field(&text, "version").as_deref(), Some("2"));
    assert_eq!(field(&text, "summary").as_deref(), Some("Add: a thing"));
    assert_eq!(field(&text, "workspace"), None);
    // Nothing to do: the very same file stays.
    let inode = fs::metadata(sandbox.task_file()).unwrap().ino();
    project(&mut store, &id, instant(2)).unwrap();
    assert_eq!(fs::metadata(sandbox.task_file()).unwrap().ino(), inode);
    let task = nudge(&mut store, &id);
    project(&mut store, &id, instant(3)).unwrap();
    let after = fs::read_to_string(sandbox.task_file()).unwrap();
    assert_eq!(body(&after), body(HOSTILE));
    assert_eq!(field(&after, "version"), Some(task.version.to_string()));
    assert_eq!(field(&after, "attention").as_deref(), Some("version 2"));
}

#[test]
fn the_neighbours_are_written_for_a_rebuild() {
    let (sandbox, mut store, id) = begin("## Context\n");
    let directory = sandbox.task_directory();
    let workflow = fs::read_to_string(directory.join("workflow.yml")).unwrap();
    assert_eq!(workflow, source(&minimal()));
    assert_eq!(
        fs::read_to_string(directory.join("imported.md")).unwrap(),
        "## Context\n"
    );
    nudge(&mut store, &id);
    project(&mut store, &id, instant(1)).unwrap();
    project(&mut store, &id, instant(1)).unwrap();
    let history = fs::read_to_string(directory.join("history.jsonl")).unwrap();
    let versions: Vec<u64> = history
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["version"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(versions, [1, 2, 3]);
    assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_truncated_line_is_completed() {
    let (sandbox, mut store, id) = begin("## Context\n");
    let path = sandbox.task_directory().join("history.jsonl");
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 1, whole.len()] {
        fs::write(&path, &whole[..length]).unwrap();
        project(&mut store, &id, instant(1)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {length}");
    }
    // We did not write a last line that is complete but not an event.
    fs::write(&path, "{}\n").unwrap();
    project(&mut store, &id, instant(1)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    let damaged = sandbox.task_directory().join("history.jsonl.damaged");
    assert_eq!(fs::read_to_string(damaged).unwrap(), "{}\n");
}

#[test]
fn a_history_newer_than_the_database_is_not_touched() {
    let (sandbox, mut store, id) = begin("## Context\n");
    let path = sandbox.task_directory().join("history.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let last = text
        .lines()
        .last()
        .unwrap()
        .replace("\"version\":2", "\"version\":3");
    text.push_str(&last);
    text.push('\n');
    fs::write(&path, &text).unwrap();
    let refused = project(&mut store, &id, instant(1)).unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::HistoryAhead {
                file: 3,
                database: 2,
                ..
            }
        ),
        "{refused}"
    );
    assert!(refused.hints()[0].contains("orange rebuild"));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_history_with_another_last_event_is_not_continued() {
    let (sandbox, mut store, id) = begin("## Context\n");
    nudge(&mut store, &id);
    project(&mut store, &id, instant(1)).unwrap();
    let path = sandbox.task_directory().join("history.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let other = text.replace("version 2", "another reason");
    assert_ne!(other, text);
    fs::write(&path, &other).unwrap();
    // Also when the database has advanced since.
    for _ in 0..2 {
        let task = store.require(&id).unwrap().task;
        for refused in [
            store.require_same_history(&task).unwrap_err(),
            project(&mut store, &id, instant(1)).unwrap_err(),
        ] {
            assert!(
                matches!(refused, StoreError::HistoryDiffers { version: 3, .. }),
                "{refused}"
            );
            assert!(refused.hints()[0].contains("orange rebuild --move-aside"));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
        nudge(&mut store, &id);
    }
}

#[test]
fn an_unreadable_file_is_unknown_and_left_alone() {
    let (sandbox, mut store, id) = begin("## Context\n");
    nudge(&mut store, &id);
    let path = sandbox.task_file();
    for content in [
        &b""[..],
        b" \n\n",
        b"\xff\xfe",
        b"---\nstatus: pend",
        b"## Plan \xf0\x9f",
    ] {
        fs::write(&path, content).unwrap();
        let reading = import(&mut store, &id, instant(1)).unwrap();
        assert!(
            matches!(reading, ImportResult::Unknown(_)),
            "{content:?}: {reading:?}"
        );
        let projected = project(&mut store, &id, instant(1)).unwrap();
        assert!(projected.deferred.is_some());
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn a_link_at_the_path_of_the_file_is_not_followed() {
    let (sandbox, mut store, id) = begin("## Context\n");
    nudge(&mut store, &id);
    let victim = sandbox.home.path().join("victim.md");
    fs::write(&victim, "## Handoff\n\nDONE: not mine\n").unwrap();
    let lead_astray = |path: &Path| {
        fs::remove_file(path).unwrap();
        symlink(&victim, path).unwrap();
    };
    lead_astray(&sandbox.task_file());
    let unknown = ImportResult::Unknown(UnreadableReason::NotRegular);
    assert_eq!(peek(&store, &id).unwrap(), unknown);
    assert_eq!(import(&mut store, &id, instant(1)).unwrap(), unknown);
    let projected = project(&mut store, &id, instant(1)).unwrap();
    assert_eq!(projected.deferred, Some(UnreadableReason::NotRegular));

    // The same in a worktree; removing it removes the link, not its target.
    fs::remove_file(sandbox.task_file()).unwrap();
    let inside = sandbox.worktree().join("TASK.md");
    bind(&mut store, &id, &inside, instant(1)).unwrap();
    lead_astray(&inside);
    assert_eq!(import(&mut store, &id, instant(1)).unwrap(), unknown);
    assert_eq!(
        release(&mut store, &id, instant(1)).unwrap(),
        ReleaseOutcome::Restored
    );
    assert!(!inside.is_symlink());
    assert_eq!(
        fs::read_to_string(&victim).unwrap(),
        "## Handoff\n\nDONE: not mine\n"
    );
    assert_eq!(import_now(&mut store, &id).document.text(), "## Context\n");
}

#[test]
fn a_file_that_is_deleted_comes_back_from_the_last_import() {
    // Lesson 47.
    let (sandbox, mut store, id) = begin("## Context\n\nold\n");
    let text = "---\nmine: 1\n---\n## Context\n\nnew words\n";
    fs::write(sandbox.task_file(), text).unwrap();
    let read = import_now(&mut store, &id);
    assert!(!read.restored);
    let workflow = minimal();
    let mut world = World::create(&workflow, &new_task("Add: a thing", None)).unwrap();
    world.file = Some(read.document.text().to_owned());
    world.import_as(Role::Worker);
    let commit = orange_store::Commit {
        task: &id,
        version: 2,
        events: &world.events[2..],
        document: Some(&read.document),
        reserve: None,
        limits: None,
        workflow_text: None,
    };
    store.record(&commit).unwrap();
    fs::remove_file(sandbox.task_file()).unwrap();
    let read = import_now(&mut store, &id);
    assert!(read.restored);
    assert_eq!(read.document.text(), text);
    fs::remove_file(sandbox.task_file()).unwrap();
    assert!(project(&mut store, &id, instant(1)).unwrap().restored);
    assert!(
        fs::read_to_string(sandbox.task_file())
            .unwrap()
            .contains("new words")
    );
    // Reading restores nothing.
    fs::remove_file(sandbox.task_file()).unwrap();
    assert!(matches!(
        peek(&store, &id).unwrap(),
        ImportResult::Unknown(_)
    ));
    assert!(!sandbox.task_file().exists());
}

#[test]
fn a_hand_edited_status_is_a_request_with_its_version() {
    let (sandbox, mut store, id) = begin("## Context\n");
    assert_eq!(import_now(&mut store, &id).status_edit, None);
    let text = fs::read_to_string(sandbox.task_file()).unwrap();
    let edited = text.replace("status: pending", "status: working");
    fs::write(sandbox.task_file(), &edited).unwrap();
    let edit = StatusEdit {
        to: status("working"),
        version: 2,
        in_worktree: false,
    };
    assert_eq!(import_now(&mut store, &id).status_edit, Some(edit.clone()));
    // A projection that comes first passes it on instead of swallowing it.
    nudge(&mut store, &id);
    let projected = project(&mut store, &id, instant(1)).unwrap();
    assert_eq!(projected.status_edit.as_ref(), Some(&edit));
    assert_eq!(import_now(&mut store, &id).status_edit, None);
    // It is kept until it is decided, whatever else is written meanwhile.
    project(&mut store, &id, instant(2)).unwrap();
    assert_eq!(
        store.pending_status_edit(&id).unwrap().as_ref(),
        Some(&edit)
    );
    let other = StatusEdit {
        to: status("done"),
        ..edit.clone()
    };
    store.clear_status_edit(&id, &other).unwrap();
    assert_eq!(
        store.pending_status_edit(&id).unwrap().as_ref(),
        Some(&edit)
    );
    store.clear_status_edit(&id, &edit).unwrap();
    assert_eq!(store.pending_status_edit(&id).unwrap(), None);
    let text = fs::read_to_string(sandbox.task_file()).unwrap();
    assert_eq!(field(&text, "status").as_deref(), Some("pending"));
}

#[test]
fn a_status_of_an_earlier_projection_is_not_a_request() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = minimal();
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    let id = recorded.world.task.id.clone();
    project(&mut store, &id, instant(1)).unwrap();
    recorded.world.move_to(Role::Human, "working");
    recorded.catch_up(&mut store).unwrap();
    let projected = project(&mut store, &id, instant(1)).unwrap();
    assert_eq!(projected, ProjectionReport::default());
    assert_eq!(import_now(&mut store, &id).status_edit, None);
}

#[test]
fn text_appended_to_a_replaced_file_reaches_the_live_one() {
    use std::io::Write as _;
    let (sandbox, mut store, id) = begin("## Handoff\n\n");
    let mut opened = fs::OpenOptions::new()
        .append(true)
        .open(sandbox.task_file())
        .unwrap();
    nudge(&mut store, &id);
    project(&mut store, &id, instant(1)).unwrap();
    opened.write_all(b"DONE: one\nDONE: tw").unwrap();
    let read = import_now(&mut store, &id);
    assert!(
        read.document.text().ends_with("\nDONE: one\n"),
        "{}",
        read.document.text()
    );
    // The partial line is taken as it is when there is no further chance.
    opened.write_all(b"o").unwrap();
    let read = import_now(&mut store, &id);
    assert!(read.document.text().ends_with("\nDONE: one\nDONE: two"));
    let status = field(read.document.text(), "version");
    assert_eq!(status.as_deref(), Some("3"));
    // An agent may have it open for longer than two imports take.
    import_now(&mut store, &id);
    opened.write_all(b"\nDONE: three\n").unwrap();
    let read = import_at(&mut store, &id, 50);
    assert!(read.document.text().ends_with("\nDONE: three\n"));
    // Then nothing is left to read again.
    for seconds in [100, 200, 300] {
        import_at(&mut store, &id, seconds);
    }
    let left = fs::read_dir(sandbox.task_directory().join("replaced")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn a_rewritten_replaced_file_replaces_an_unchanged_task_file() {
    use std::io::{Seek as _, Write as _};
    let (sandbox, mut store, id) = begin("## Handoff\n\nold\n");
    let mut opened = fs::OpenOptions::new()
        .write(true)
        .open(sandbox.task_file())
        .unwrap();
    nudge(&mut store, &id);
    project(&mut store, &id, instant(1)).unwrap();
    let rewrite = |opened: &mut fs::File, text: &str| {
        opened.set_len(0).unwrap();
        opened.rewind().unwrap();
        opened.write_all(text.as_bytes()).unwrap();
    };
    rewrite(&mut opened, "## Handoff\n\nDONE: new\n");
    let read = import_now(&mut store, &id);
    assert_eq!(
        (read.document.text(), read.strays),
        ("## Handoff\n\nDONE: new\n", 0)
    );

    // When both were written, the live one stays and the other is kept as an import.
    rewrite(&mut opened, "## Handoff\n\nDONE: too late\n");
    fs::write(sandbox.task_file(), "## Handoff\n\nDONE: live\n").unwrap();
    let read = import_now(&mut store, &id);
    assert_eq!(
        (read.document.text(), read.strays),
        ("## Handoff\n\nDONE: live\n", 1)
    );
    let imports = store.imports(&id).unwrap();
    let stray = imports.iter().find(|import| import.stray).unwrap();
    assert_eq!(stray.text, "## Handoff\n\nDONE: too late\n");
    assert_ne!(store.last_import(&id).unwrap().unwrap().hash, stray.hash);
}

#[test]
fn a_section_is_archived_once() {
    let (sandbox, mut store, id) = begin("## Review\n\nVerdict: FAIL\n\n## Notes\n\nkept\n");
    let section = SectionName::from_title("Review");
    let before = fs::read_to_string(sandbox.task_file()).unwrap();
    for _ in 0..2 {
        let done = archive_section(&mut store, &id, &section, instant(1)).unwrap();
        assert_eq!(done, ProjectionReport::default());
        let after = fs::read_to_string(sandbox.task_file()).unwrap();
        assert_eq!(after, before.replace("## Review", "## Review (archived)"));
    }
}
