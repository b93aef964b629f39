//! The dialogs about merges.

use orange_driver::{MergeForecast, MergeObstacle, MergePreview};
use orange_engine::effect::MergeStrategy;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, CommitId, TaskId};
use ratatui::crossterm::event::KeyCode;

use super::sample::{choose, key, model, press};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::message::Message;
use crate::tui::model::mode::{Alert, Choice, Mode};
use crate::tui::model::review::{Comment, CommentPlace};
use crate::tui::update::update;

#[test]
fn a_merge_request_names_its_strategy() {
    for (letter, strategy) in [
        ('y', None),
        ('c', Some(MergeStrategy::Merge)),
        ('r', Some(MergeStrategy::Rebase)),
        ('s', Some(MergeStrategy::Squash)),
    ] {
        let mut model = model();
        choose(&mut model, "k3f9");
        press(&mut model, key(KeyCode::Char('m')));
        assert_eq!(press(&mut model, key(KeyCode::Char('z'))), []);
        let commands = press(&mut model, key(KeyCode::Char(letter)));
        let ask = RequestKind::Merge {
            strategy,
            local: false,
            only_head: false,
        };
        let action = Action::ask(&TaskId::new("k3f9"), ask);
        assert_eq!(commands, [Command::Act(1, action)]);
        assert_eq!(model.mode, Mode::Browse);
    }
}

fn forecast(behind: u64, obstacle: Option<MergeObstacle>) -> Box<MergeForecast> {
    Box::new(MergeForecast {
        into: BranchName::new("main"),
        strategy: MergeStrategy::Auto,
        preview: MergePreview {
            base: CommitId::new("5d0c2f9e41ab"),
            behind,
            is_fast_forward: behind == 0,
            is_merged: false,
            obstacle,
        },
        new_head: None,
        uncommitted: Vec::new(),
        new_commits: None,
        verify: Some(String::from("cargo test")),
    })
}

#[test]
fn the_merge_dialog_counts_comments_that_are_not_sent_and_sends_them() {
    let task = TaskId::new("k3f9");
    let comment = |text: &str| Comment {
        place: CommentPlace {
            path: String::from(text),
            numbers: (1, 1),
            is_old: false,
            count: 1,
            quote: vec![String::from("+x")],
        },
        text: text.to_owned(),
    };
    let comments = vec![comment("why"), comment("how")];
    let mut model = model();
    choose(&mut model, "k3f9");
    let all = comments.clone();
    model.drafts.change_review(&task, |it| it.comments = all);
    press(&mut model, key(KeyCode::Char('m')));
    let conflicts = MergeObstacle::Conflicts(vec!["a.rs".into()]);
    for forecast in [None, Some(None), Some(Some(conflicts))] {
        if let Some(obstacle) = forecast {
            let message = Message::MergeForecast(task.clone(), Ok(self::forecast(1, obstacle)));
            update(&mut model, message);
        }
        let Mode::Confirm(dialog) = &model.mode else {
            panic!("{:?}", model.mode);
        };
        let text = dialog.consequences.join("\n");
        assert!(
            text.contains("2 comments on the diff are not sent. `f` sends them"),
            "{text}"
        );
        let mut sending = model.clone();
        let commands = press(&mut sending, key(KeyCode::Char('f')));
        let ask = RequestKind::Verb(Verb::RequestChanges);
        let action = Action::ask(&task, ask).with_comments(&comments);
        assert_eq!(commands, [Command::Act(1, action)]);
    }
}

#[test]
fn the_merge_dialog_shows_what_would_happen_and_offers_what_works() {
    let task = TaskId::new("k3f9");
    let open = || {
        let mut model = model();
        choose(&mut model, "k3f9");
        let commands = press(&mut model, key(KeyCode::Char('m')));
        assert_eq!(commands, [Command::ForecastMerge(task.clone())]);
        model
    };
    let keys = |model: &Model| match &model.mode {
        Mode::Confirm(question) => {
            let keys = question.choices.iter().map(|choice| choice.key);
            let text = [vec![question.text.clone()], question.consequences.clone()].concat();
            (keys.collect::<String>(), text.join("\n"))
        }
        mode => panic!("{mode:?}"),
    };
    let shown = |forecast: Box<MergeForecast>| {
        let mut model = open();
        update(
            &mut model,
            Message::MergeForecast(task.clone(), Ok(forecast)),
        );
        (keys(&model), model)
    };
    let ((letters, text), _) = shown(forecast(0, None));
    assert_eq!(letters, "ycrs");
    assert!(
        text.contains("`main` has not moved: it is fast-forwarded."),
        "{text}"
    );
    assert!(
        text.contains("`cargo test` must succeed on the result"),
        "{text}"
    );
    let ((letters, text), _) = shown(forecast(3, None));
    assert_eq!(letters, "ycrs");
    let expected = "`main` has moved by 3 commits; conflicts: none. A merge commit is added.";
    assert!(text.contains(expected), "{text}");
    let ((letters, text), _) = shown(forecast(1, Some(MergeObstacle::NotFastForward)));
    assert_eq!(letters, "crs", "what cannot work is not offered");
    assert!(text.contains("so it cannot be fast-forwarded"), "{text}");
    let conflict = MergeObstacle::Conflicts(vec!["src/a.rs".into()]);
    let ((letters, text), mut model) = shown(forecast(3, Some(conflict.clone())));
    assert_eq!(letters, "a");
    assert!(text.contains("both branches changed `src/a.rs`"), "{text}");
    assert_eq!(
        press(&mut model, key(KeyCode::Char('y'))),
        [],
        "not a merge any more"
    );
    let commands = press(&mut model, key(KeyCode::Char('a')));
    assert_eq!(
        commands,
        [Command::Act(1, Action::SendMergeFailure(task.clone()))]
    );
    // Commits that were not submitted are merged only by a key of their own.
    let mut moved = forecast(0, None);
    let head = CommitId::new("9a1fd90c0ffee");
    (moved.new_head, moved.new_commits) = (Some(head.clone()), Some(1));
    let ((letters, text), mut model) = shown(moved);
    assert_eq!(letters, "h");
    let expected = "A merge would be refused: the branch has 1 commit after it. `h` merges";
    assert!(text.contains(expected), "{text}");
    assert_eq!(press(&mut model, key(KeyCode::Char('y'))), []);
    let ask = RequestKind::Merge {
        strategy: None,
        local: false,
        only_head: true,
    };
    let action = Action::ask(&task, ask).for_commit(Some(&head));
    let commands = press(&mut model, key(KeyCode::Char('h')));
    assert_eq!(commands, [Command::Act(1, action)]);
    let mut moved = forecast(1, Some(MergeObstacle::NotFastForward));
    (moved.new_head, moved.new_commits) = (Some(head), Some(2));
    let ((letters, text), _) = shown(moved);
    assert_eq!(letters, "");
    assert!(
        text.contains("Run `orange merge k3f9 --head 9a1fd90c0ffe --strategy merge`"),
        "{text}"
    );
    // A forecast that comes too late changes nothing.
    let mut model = open();
    press(&mut model, key(KeyCode::Esc));
    let late = Message::MergeForecast(task.clone(), Ok(forecast(3, Some(conflict))));
    update(&mut model, late);
    assert_eq!(model.mode, Mode::Browse);
    let mut model = open();
    let unknown = Err(String::from("git failed"));
    update(&mut model, Message::MergeForecast(task.clone(), unknown));
    let (letters, text) = keys(&model);
    assert_eq!(letters, "ycrs");
    assert!(
        text.contains("What would happen is unknown: git failed"),
        "{text}"
    );
}

#[test]
fn a_failed_verification_can_be_sent_to_the_agent() {
    let task = TaskId::new("k3f9");
    let mut model = model();
    model.mode = Mode::Alert(Alert {
        title: String::from("Merge failed: k3f9"),
        lines: Vec::new(),
        hints: Vec::new(),
        offer: Some(Choice {
            key: 'a',
            label: "send to the agent",
            action: Action::SendMergeFailure(task.clone()),
        }),
    });
    let commands = press(&mut model, key(KeyCode::Char('a')));
    assert_eq!(commands, [Command::Act(1, Action::SendMergeFailure(task))]);
    assert_eq!(model.mode, Mode::Browse);
}

#[test]
fn the_merge_dialog_names_uncommitted_files_and_merges_without_them() {
    let task = TaskId::new("k3f9");
    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('m')));
    let mut dirty = forecast(0, None);
    dirty.uncommitted = ["a.txt", "b.txt", "c.txt", "d.txt"]
        .map(String::from)
        .to_vec();
    update(&mut model, Message::MergeForecast(task, Ok(dirty)));
    let Mode::Confirm(question) = &model.mode else {
        panic!("{:?}", model.mode)
    };
    let letters: String = question.choices.iter().map(|choice| choice.key).collect();
    assert_eq!(letters, "hycrs");
    let text = question.consequences.join("\n");
    let expected = "uncommitted files: `a.txt`, `b.txt`, `c.txt` and 1 more. `h` merges without";
    assert!(text.contains(expected), "{text}");
    let commands = press(&mut model, key(KeyCode::Char('h')));
    assert!(
        matches!(
            &commands[..],
            [Command::Act(
                1,
                Action::Ask {
                    ask: RequestKind::Merge {
                        only_head: true,
                        ..
                    },
                    head: Some(_),
                    ..
                }
            )]
        ),
        "{commands:?}"
    );
}
