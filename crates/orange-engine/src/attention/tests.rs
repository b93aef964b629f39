//! Which items follow from a task's state.

use std::sync::LazyLock;

use super::*;
use crate::activity::{AgentEvent, AgentEventKind};
use crate::language::load;
use crate::names::RequestId;
use crate::shipped_workflows;

static STATUS: LazyLock<Status> = LazyLock::new(|| Status::new("building"));

#[test]
fn the_requested_action_follows_from_the_workflow() {
    let mut found = Vec::new();
    for shipped in shipped_workflows::ALL {
        let workflow = load(shipped.source).workflow.unwrap();
        for state in &workflow.states {
            if let Some(need) = need(&workflow, state) {
                found.push(format!("{}: {} {need:?}", shipped.name, state.name));
            }
        }
    }
    found.sort();
    assert_eq!(
        found,
        [
            "autopilot: blocked Review",
            "autopilot: needs_review Review",
            "default: clarification Question",
            "default: reviewing Review",
            "default: stuck Stuck",
            "github: clarification Question",
            "github: reviewing Review",
            "github: stuck Stuck",
            "local: blocked Review",
            "local: needs_review Review",
            "minimal: reviewing Review",
            "respawn: clarification Question",
            "respawn: reviewing Review",
            "respawn: stuck Stuck",
            "session: reviewing Review",
        ]
    );
}

fn waiting(kind: AgentEventKind) -> Activity {
    Activity::from_events(&[AgentEvent {
        kind,
        sequence: 7,
        at: Timestamp::from_millis(5000),
        session_id: None,
        transcript: None,
        message: Some(String::from("May I?")),
        request: None,
    }])
}

#[test]
fn every_reason_is_an_item_with_a_command() {
    let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
    let permission = waiting(AgentEventKind::PermissionWait);
    let reason = |item_texts, is_given_up| Reason {
        text: item_texts,
        since: Timestamp::from_millis(3000),
        is_failed_effect: is_given_up,
        is_stop: false,
    };
    let message = |id, problem, is_confirmed| WaitingMessage {
        id,
        to: &role,
        written_at: Timestamp::from_millis(4000),
        problem,
        is_confirmed,
    };
    let standing = TaskAttention {
        task: &task,
        status: &STATUS,
        entered_at: Timestamp::from_millis(2000),
        need: Some(Need::Review),
        question: None,
        is_queued: false,
        is_agent_missing: false,
        reasons: vec![
            reason("the worker crashed", false),
            reason("push_branch: no remote", true),
            reason("notify_worker: the pane is scrolled back", true),
            Reason {
                is_stop: true,
                ..reason("the worker was stopped by the user", false)
            },
        ],
        unread: vec![
            message(1, Some("the pane is scrolled back"), false),
            message(2, None, false),
            message(3, None, true),
        ],
        agents: vec![Agent {
            role: &role,
            run: &run,
            activity: &permission,
            requests: &[],
        }],
        exited: Vec::new(),
    };
    let item_texts = |now: i64| {
        let mut items = items(&standing, Timestamp::from_millis(now));
        sort_items(&mut items);
        let item_texts = items.iter();
        let item_texts = item_texts.map(|it| format!("{}; {}; {}", it.kind, it.text, it.command));
        item_texts.collect::<Vec<String>>()
    };
    let expected = [
        "review; the work is ready for your review; orange task diff k3f9",
        "failed; push_branch: no remote; orange task why k3f9",
        "stopped; the worker was stopped by the user; orange task restart k3f9",
        "trouble; the worker crashed; orange task why k3f9",
        "undelivered; a message to the worker: the pane is scrolled back; orange task attach k3f9",
        "permission; the worker is waiting for permission: May I?; orange task attach k3f9",
    ];
    assert_eq!(item_texts(6000), expected);
    let later = item_texts(4000 + READ_TIMEOUT_MILLIS);
    assert_eq!(later.len(), 7, "{later:?}");
    assert!(later[5].contains("has not read the message"), "{later:?}");
}

fn with_reason<'a>(task: &'a TaskId, need: Option<Need>, reason: Reason<'a>) -> TaskAttention<'a> {
    TaskAttention {
        task,
        status: &STATUS,
        entered_at: Timestamp::from_millis(2000),
        need,
        question: None,
        is_queued: need.is_none(),
        is_agent_missing: false,
        reasons: vec![reason],
        unread: Vec::new(),
        agents: Vec::new(),
        exited: Vec::new(),
    }
}

#[test]
fn the_item_says_why_the_task_needs_you() {
    let task = TaskId::new("k3f9");
    let reason = |since| Reason {
        text: "the run reported `blocked`: no key",
        since: Timestamp::from_millis(since),
        is_failed_effect: false,
        is_stop: false,
    };
    let item_texts = |since| {
        let standing = with_reason(&task, Some(Need::Review), reason(since));
        let items = items(&standing, Timestamp::from_millis(6000));
        items.into_iter().map(|it| it.text).collect::<Vec<_>>()
    };
    let with_it = "the task waits for your decision: the run reported `blocked`: no key";
    assert_eq!(item_texts(2000), [with_it]);
    // A reason that came up later is a separate item.
    assert_eq!(item_texts(3000).len(), 2);
}

#[test]
fn a_failed_merge_is_one_item() {
    let task = TaskId::new("k3f9");
    let kinds = |text, need| {
        let reason = Reason {
            text,
            since: Timestamp::from_millis(3000),
            is_failed_effect: true,
            is_stop: false,
        };
        let standing = with_reason(&task, Some(need), reason);
        let items = items(&standing, Timestamp::from_millis(6000));
        items.into_iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    let failed = "merge: cannot merge `fix` into `main`: both branches changed `a`";
    assert_eq!(kinds(failed, Need::Review), [ItemKind::EffectFailed]);
    let both = [ItemKind::Stuck, ItemKind::EffectFailed];
    assert_eq!(kinds(failed, Need::Stuck), both);
    let both = [ItemKind::Review, ItemKind::EffectFailed];
    assert_eq!(kinds("push_branch: no remote", Need::Review), both);
}

#[test]
fn a_question_is_shown_as_the_agent_wrote_it() {
    let asked = |text: &str| question(&Document::parse(text.as_bytes()).unwrap());
    assert_eq!(asked("## Plan\n\nx\n"), None);
    assert_eq!(asked("## Questions\n\n<!-- none -->\n"), None);
    let text = "## Questions\n\n1. Which line?\n2. Why?\n\n## Plan\n\nx\n";
    assert_eq!(asked(text).as_deref(), Some("1. Which line?\n2. Why?"));
    let long = asked(&format!("## Questions\n\n{}\n", "ä".repeat(5000))).unwrap();
    assert_eq!(long.chars().count(), MAX_QUESTION_CHARS + 1);

    let task = TaskId::new("k3f9");
    let reason = Reason {
        text: "the worker crashed",
        since: Timestamp::from_millis(3000),
        is_failed_effect: false,
        is_stop: false,
    };
    let mut standing = with_reason(&task, Some(Need::Question), reason);
    standing.question = asked(text);
    let items = items(&standing, Timestamp::from_millis(6000));
    assert_eq!(items[0].text, "an agent asks: 1. Which line? 2. Why?");
    assert_eq!(items[0].question, asked(text));
    // Without a need for an answer, an old question is not shown.
    standing.need = Some(Need::Review);
    let items = super::items(&standing, Timestamp::from_millis(6000));
    assert!(
        items.iter().all(|item| item.question.is_none()),
        "{items:?}"
    );
}

#[test]
fn a_failed_start_names_the_command_to_retry() {
    let task = TaskId::new("k3f9");
    let reason = Reason {
        text: "spawn_agent: `nonexistent` is not installed",
        since: Timestamp::from_millis(2000),
        is_failed_effect: true,
        is_stop: false,
    };
    let standing = with_reason(&task, None, reason);
    let items = items(&standing, Timestamp::from_millis(6000));
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].kind, ItemKind::EffectFailed);
    assert_eq!(items[0].command, "orange task spawn k3f9");
}

/// A task about which only an agent is known.
fn with_agent<'a>(task: &'a TaskId, need: Option<Need>, agent: Agent<'a>) -> TaskAttention<'a> {
    TaskAttention {
        task,
        status: &STATUS,
        entered_at: Timestamp::default(),
        need,
        question: None,
        is_queued: false,
        is_agent_missing: false,
        reasons: Vec::new(),
        unread: Vec::new(),
        agents: vec![agent],
        exited: Vec::new(),
    }
}

#[test]
fn an_agent_that_never_reported_its_start_needs_attention() {
    let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
    let since = Timestamp::from_millis(1000);
    let item_texts = |now: i64| {
        let now = Timestamp::from_millis(now);
        let activity = Activity::without_events(since, now);
        let agent = Agent {
            role: &role,
            run: &run,
            activity: &activity,
            requests: &[],
        };
        items(&with_agent(&task, None, agent), now)
    };
    assert_eq!(item_texts(2000), []);
    let silent = item_texts(1_000_000);
    assert_eq!(silent.len(), 1, "{silent:?}");
    assert_eq!(
        silent,
        item_texts(2_000_000),
        "it is the same thing all the while"
    );
    assert_eq!(silent[0].kind, ItemKind::Silent);
    assert_eq!(silent[0].since, since);
    assert_eq!(silent[0].command, "orange task attach k3f9");
}

#[test]
fn only_a_status_that_the_agent_itself_leaves_waits_for_its_work() {
    let mut found = Vec::new();
    for shipped in shipped_workflows::ALL {
        let workflow = load(shipped.source).workflow.unwrap();
        for state in &workflow.states {
            for role in working_roles(&workflow, state) {
                found.push(format!("{}: {} {role}", shipped.name, state.name));
            }
        }
    }
    found.sort();
    // In `session`, the user talks to the agent and ends the work.
    assert_eq!(
        found,
        [
            "default: agent-review reviewer",
            "default: planning worker",
            "default: working worker",
            "github: agent-review reviewer",
            "github: planning worker",
            "github: working worker",
            "minimal: working worker",
            "respawn: agent-review reviewer",
            "respawn: working worker",
        ]
    );
}

#[test]
fn an_idle_agent_that_its_status_waits_for_needs_attention() {
    let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
    let mut activity = waiting(AgentEventKind::Idle);
    let since = Timestamp::from_millis(9000);
    activity.expect_work(since, Timestamp::from_millis(1_000_000));
    let agent = Agent {
        role: &role,
        run: &run,
        activity: &activity,
        requests: &[],
    };
    let mut attention = with_agent(&task, None, agent);
    let items = |attention: &TaskAttention<'_>| items(attention, since);
    let found = items(&attention);
    let [item] = found.as_slice() else {
        panic!("{found:?}");
    };
    let text = "the worker is idle, but `building` waits for its work";
    assert_eq!((item.kind, item.text.as_str()), (ItemKind::Stalled, text));
    assert_eq!(item.command, "orange task attach k3f9");
    assert_eq!(item.since, since);
    // A message that was written just now will wake the agent.
    attention.unread = vec![WaitingMessage {
        id: 1,
        to: &role,
        written_at: since,
        problem: None,
        is_confirmed: false,
    }];
    assert_eq!(items(&attention), []);
    attention.unread[0].is_confirmed = true;
    assert_eq!(items(&attention).len(), 1, "it has seen the message");
}

#[test]
fn a_task_without_its_agent_names_respawn() {
    let task = TaskId::new("k3f9");
    let reason = Reason {
        text: "the worker crashed",
        since: Timestamp::from_millis(3000),
        is_failed_effect: false,
        is_stop: false,
    };
    for need in [None, Some(Need::Question), Some(Need::Stuck)] {
        let mut attention = with_reason(&task, need, reason);
        let commands = |attention: &TaskAttention<'_>| {
            let items = items(attention, Timestamp::default()).into_iter();
            items.map(|it| it.command).collect::<Vec<_>>()
        };
        let respawn = "orange task respawn k3f9";
        assert!(commands(&attention).iter().all(|it| it != respawn));
        attention.is_agent_missing = true;
        assert!(commands(&attention).iter().all(|it| it == respawn));
    }
}

#[test]
fn an_answer_the_status_already_asks_for_is_listed_once() {
    let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
    let activity = waiting(AgentEventKind::InputWait);
    let agent = Agent {
        role: &role,
        run: &run,
        activity: &activity,
        requests: &[],
    };
    let kinds = |need| {
        let items = items(&with_agent(&task, need, agent), Timestamp::default());
        items.iter().map(|item| item.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(Some(Need::Question)), [ItemKind::Question]);
    assert_eq!(kinds(None), [ItemKind::Input]);
}

#[test]
fn each_request_for_permission_is_an_item_of_its_own() {
    let (task, role, run) = (TaskId::new("k3f9"), Role::Worker, RunId::new("r1"));
    let request = |id: &str, command: &str, at| PermissionRequest {
        id: RequestId::new(id),
        tool: String::from("Bash"),
        command: command.to_owned(),
        directory: Some(String::from("/work")),
        asked_at: Timestamp::from_millis(at),
        until: Timestamp::from_millis(at + 1000),
    };
    let requests = [
        request("a2b3c4", "git push", 6000),
        request("d5e6f7", "make\nmake install", 5000),
    ];
    // The second request is newer than what the agent reported last.
    for reported in [AgentEventKind::PermissionWait, AgentEventKind::Working] {
        let activity = waiting(reported);
        let agent = Agent {
            role: &role,
            run: &run,
            activity: &activity,
            requests: &requests,
        };
        let mut items = items(&with_agent(&task, None, agent), Timestamp::default());
        sort_items(&mut items);
        let texts = items
            .iter()
            .map(|it| format!("{}; {}; {}", it.key, it.text, it.command));
        assert_eq!(
            texts.collect::<Vec<_>>(),
            [
                "k3f9/permission/d5e6f7; the worker asks to use Bash: make [...]; orange allow d5e6f7",
                "k3f9/permission/a2b3c4; the worker asks to use Bash: git push; orange allow a2b3c4",
            ]
        );
        let asked = items.iter().map(|it| it.request.as_ref());
        let in_order = [Some(&requests[1]), Some(&requests[0])];
        assert_eq!(asked.collect::<Vec<_>>(), in_order, "in full");
    }
}
