//! Every write, once: it changes what it should and nothing else.

use orange_effects::forge::error::ForgeError;
use orange_effects::forge::github::issues::CloseReason;
use orange_effects::forge::github::mutations;
use orange_effects::forge::github::pull_requests::{MergeMethod, NewPullRequest, PullRequestEdit};
use orange_engine::names::{BranchName, CommitId};
use scripted_forge::world::pull::Pull;
use scripted_forge::{Forge, Protection};

use crate::stage::{ISSUE, PULL, REPOSITORY, Stage, text};

pub struct Write {
    pub name: &'static str,
    prepare: fn(&Stage),
    run: fn(&mut Stage) -> Result<(), ForgeError>,
    is_done: fn(&Forge) -> bool,
    /// The forge's name of what was done, and what of its world is another afterwards.
    operation: &'static str,
    changes: &'static [&'static str],
}

const THE_PULL: &str = "octo/demo#1";
const THE_ISSUE: &str = "octo/demo#2";

fn pull(forge: &Forge) -> Pull {
    forge.get(REPOSITORY, PULL).pull.unwrap()
}

fn unprepared(_: &Stage) {}

pub const WRITES: &[Write] = &[
    Write {
        name: "create_pull_request",
        prepare: unprepared,
        run: |it| {
            let new = NewPullRequest {
                title: text("A title"),
                body: text("A body"),
                head: String::from("second"),
                base: String::from("main"),
                draft: true,
            };
            let made = it.repository().create_pull_request(&new)?;
            assert_eq!((made.number, made.is_draft), (3, true));
            Ok(())
        },
        is_done: |it| {
            let issues = it.look(|world| world.repositories[0].issues.clone());
            issues.iter().any(|it| it.title() == "A title")
        },
        operation: "pulls/create",
        changes: &[REPOSITORY, "octo/demo#3"],
    },
    Write {
        name: "edit_pull_request",
        prepare: unprepared,
        run: |it| {
            let edit = PullRequestEdit {
                title: Some(text("Another title")),
                ..PullRequestEdit::default()
            };
            it.repository().edit_pull_request(PULL, &edit).map(drop)
        },
        is_done: |it| it.get(REPOSITORY, PULL).title() == "Another title",
        operation: "pulls/update",
        changes: &[THE_PULL],
    },
    Write {
        name: "merge_pull_request",
        prepare: unprepared,
        run: |it| {
            let (head, method) = (it.head(), MergeMethod::Squash);
            let mut repository = it.repository();
            let merged = repository.merge_pull_request(PULL, &head, method, None)?;
            let tip = it.forge.tip(REPOSITORY, "main").map(CommitId::new);
            assert_eq!((merged.merged, merged.commit), (true, tip));
            Ok(())
        },
        is_done: |it| pull(it).merge.is_some(),
        operation: "pulls/merge",
        changes: &[REPOSITORY, THE_PULL],
    },
    Write {
        name: "create_comment",
        prepare: unprepared,
        run: |it| {
            let made = it.repository().create_comment(ISSUE, &text("A comment"))?;
            assert_eq!(made.body, "A comment");
            Ok(())
        },
        is_done: |it| it.get(REPOSITORY, ISSUE).comments.len() == 2,
        operation: "issues/create-comment",
        changes: &[THE_ISSUE],
    },
    Write {
        name: "edit_comment",
        prepare: unprepared,
        run: |it| {
            let id = it.comment();
            it.repository().edit_comment(id, &text("Edited"))?;
            Ok(())
        },
        is_done: |it| it.get(REPOSITORY, ISSUE).comments[0].body == "Edited",
        operation: "issues/update-comment",
        changes: &[THE_ISSUE],
    },
    Write {
        name: "delete_comment",
        prepare: unprepared,
        run: |it| {
            let id = it.comment();
            it.repository().delete_comment(id)
        },
        is_done: |it| it.get(REPOSITORY, ISSUE).comments.is_empty(),
        operation: "issues/delete-comment",
        changes: &[THE_ISSUE],
    },
    Write {
        name: "ensure_label",
        prepare: unprepared,
        run: |it| {
            let mut repository = it.repository();
            repository.ensure_label(&text("orange"), "ffa500", &text("Made by orange"))?;
            // The one that is there stays as it is, and this is no error.
            repository.ensure_label(&text("BUG"), "ffa500", &text("Another"))
        },
        is_done: |it| {
            let labels = it.look(|world| world.repositories[0].labels.clone());
            let has = |name: &str, color: &str| {
                let mut found = labels.iter();
                found.any(|it| it.name == name && it.color == color)
            };
            has("orange", "ffa500") && has("bug", "ededed")
        },
        operation: "issues/create-label",
        changes: &[REPOSITORY],
    },
    Write {
        name: "add_labels",
        prepare: |it| it.forge.label(REPOSITORY, PULL, "octo", "orange"),
        run: |it| it.repository().add_labels(ISSUE, &[text("orange")]),
        is_done: |it| it.get(REPOSITORY, ISSUE).labels == ["bug", "orange"],
        operation: "issues/add-labels",
        changes: &[THE_ISSUE],
    },
    Write {
        name: "remove_label",
        prepare: unprepared,
        run: |it| it.repository().remove_label(ISSUE, "bug"),
        is_done: |it| it.get(REPOSITORY, ISSUE).labels.is_empty(),
        operation: "issues/remove-label",
        changes: &[THE_ISSUE],
    },
    Write {
        name: "close_issue",
        prepare: unprepared,
        run: |it| {
            let mut repository = it.repository();
            let closed = repository.close_issue(ISSUE, CloseReason::NotPlanned)?;
            assert!(!closed.is_open);
            Ok(())
        },
        is_done: |it| {
            let reason = it.get(REPOSITORY, ISSUE).state_reason;
            reason.as_deref() == Some("not_planned")
        },
        operation: "issues/update",
        changes: &[THE_ISSUE],
    },
    Write {
        name: "rerun_failed_jobs",
        prepare: unprepared,
        run: |it| {
            let run = it.run().0;
            it.repository().rerun_failed_jobs(run)
        },
        is_done: |it| it.look(|world| world.repositories[0].runs[0].attempt == 2),
        operation: "actions/re-run-workflow-failed-jobs",
        changes: &[REPOSITORY],
    },
    Write {
        name: "mark_ready",
        prepare: |it| it.forge.set_draft(REPOSITORY, PULL, "octo", true),
        run: |it| {
            let id = it.pull_id();
            mutations::mark_ready(&mut it.client, &id)
        },
        is_done: |it| !pull(it).draft,
        operation: "markPullRequestReadyForReview",
        changes: &[THE_PULL],
    },
    Write {
        name: "enqueue",
        prepare: |it| {
            let protection = Protection {
                queue: true,
                ..Protection::default()
            };
            it.forge.protect(REPOSITORY, "main", protection);
        },
        run: |it| {
            let (id, head) = (it.pull_id(), it.head());
            mutations::enqueue(&mut it.client, &id, &head)
        },
        is_done: |it| pull(it).queued.is_some(),
        operation: "enqueuePullRequest",
        changes: &[THE_PULL],
    },
    Write {
        name: "create_linked_branch",
        prepare: unprepared,
        run: |it| {
            let id = it.forge.node_id(REPOSITORY, ISSUE);
            let (head, branch) = (it.head(), BranchName::new("2-a-bug"));
            mutations::create_linked_branch(&mut it.client, &id, &head, &branch)?;
            // The forge answers without an error that it made none.
            let again = mutations::create_linked_branch(&mut it.client, &id, &head, &branch);
            assert!(again.unwrap_err().may_have_taken_effect());
            Ok(())
        },
        is_done: |it| it.tip(REPOSITORY, "2-a-bug").is_some(),
        operation: "createLinkedBranch",
        changes: &[REPOSITORY, THE_ISSUE],
    },
];

#[test]
fn every_write_changes_what_it_should_and_nothing_else() {
    for write in WRITES {
        let mut stage = Stage::new();
        (write.prepare)(&stage);
        assert!(!(write.is_done)(&stage.forge), "{}", write.name);
        let before = stage.picture();
        let result = (write.run)(&mut stage);
        assert!(result.is_ok(), "{}: {result:?}", write.name);
        assert!((write.is_done)(&stage.forge), "{}", write.name);
        assert_eq!(stage.changes(&before), write.changes, "{}", write.name);
        let written = stage.forge.writes();
        assert_eq!(written[0].operation, write.operation, "{}", write.name);
        let all_same = written.iter().all(|it| it.operation == write.operation);
        assert!(all_same, "{}: {written:?}", write.name);
        stage.forge.finish();
    }
}
