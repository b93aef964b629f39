//! Which labels of an issue set something.

use orange_engine::forge::account::{Permission, Permissions};
use orange_engine::forge::consent::IssueReading;
use orange_engine::forge::issue::{Issue, IssueEvent, IssueEventKind};
use orange_engine::forge::issue_labels::{LabelSettings, read_labels};
use orange_engine::forge::knowledge::Knowledge;

use crate::fixtures::{at, person};

/// The settings of an issue whose labels these accounts set.
fn read(labels: &[(&str, &str)], is_complete: bool) -> LabelSettings {
    let issue = Issue {
        id: String::from("I_1"),
        number: 1,
        title: String::from("Fix it"),
        body: String::new(),
        author: Some(person("eve")),
        is_open: true,
        is_pull_request: false,
        labels: labels
            .iter()
            .map(|(label, _)| (*label).to_owned())
            .collect(),
        updated: at(100),
    };
    let events = labels.iter().map(|(label, actor)| IssueEvent {
        kind: IssueEventKind::Labeled((*label).to_owned()),
        actor: Some(person(actor)),
        at: at(100),
    });
    let events: Vec<IssueEvent> = events.collect();
    let permissions = Permissions::from([
        (person("ada"), Permission::Write),
        (person("eve"), Permission::Read),
    ]);
    let reading = IssueReading {
        issue: &issue,
        events: &events,
        is_complete,
        edited: Knowledge::None,
        permissions: &permissions,
    };
    read_labels(&reading, Permission::Write)
}

#[test]
fn labels_of_an_account_with_permission_set_something() {
    let labels = [
        ("agent:codex", "ada"),
        ("Model: gpt-5.1-codex/max", "ada"),
        ("effort:high", "ada"),
        ("workflow:github", "ada"),
        ("priority:-3", "ada"),
        ("bug", "ada"),
        ("area:ui", "eve"),
    ];
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        read(&labels, true),
        LabelSettings {
            agent: text("codex"),
            model: text("gpt-5.1-codex/max"),
            effort: text("high"),
            workflow: text("github"),
            priority: Some(-3),
            // The account that set `area:ui` may not write to the repository.
            others: vec![String::from("bug")],
            problems: Vec::new(),
        }
    );
}

#[test]
fn lesson_95_a_label_of_a_form_or_a_stranger_sets_nothing() {
    for (actor, reason) in [
        ("eve", "may not write to the repository"),
        ("bob", "is unknown"),
    ] {
        let found = read(&[("agent:codex", actor)], true);
        assert_eq!(found.agent, None);
        assert!(found.problems[0].ends_with(reason), "{:?}", found.problems);
    }
    let partly = read(&[("workflow:autopilot", "ada")], false);
    assert_eq!(partly.workflow, None);
    assert_eq!(partly.problems.len(), 1);
}

#[test]
fn nothing_is_guessed() {
    for label in [
        "agent:",
        "model:--dangerous",
        "model:a b",
        "effort:$(id)",
        "workflow:../../x",
        "priority:soon",
    ] {
        let found = read(&[(label, "ada")], true);
        let problems = found.problems.clone();
        assert_eq!(problems.len(), 1, "{label}: {found:?}");
        assert_eq!(
            found,
            LabelSettings {
                problems,
                ..LabelSettings::default()
            }
        );
    }
    let twice = read(&[("agent:codex", "ada"), ("agent:claude", "ada")], true);
    assert_eq!(twice.agent.as_deref(), Some("codex"));
    assert_eq!(twice.problems.len(), 1);
}
