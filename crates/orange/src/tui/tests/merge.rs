//! The dialogs about merges.

use orange_driver::{MergeForecast, MergeObstacle, MergePreview};
use orange_engine::effect::MergeStrategy;
use orange_engine::input::RequestKind;
use orange_engine::names::{BranchName, CommitId, TaskId};
use ratatui::crossterm::event::KeyCode;

use super::sample::{choose, key, model, press};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::message::Message;
use crate::tui::model::mode::{Alert, Choice, Mode};
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
        verify: Some(String::from("cargo test")),
    })
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
    // One that comes too late changes nothing.
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
