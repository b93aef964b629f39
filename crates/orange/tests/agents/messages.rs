//! Messages to agents: received whole, confirmed, never typed into a question.

use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::activity::AgentEventKind;
use orange_engine::names::TaskId;
use orange_store::InboxEntry;
use serde_json::Value;

use crate::agent::Agent;
use crate::events::{reported_events, wait_for_event};
use crate::namespace::run_in_namespace;
use crate::stage::{SOON, Stage};

const READ: &str = "run orange inbox\nsay I have read it.\n";

/// How long an unanswered question must stay untouched.
const QUIET: Duration = Duration::from_secs(6);

fn first(stage: &Stage, id: &TaskId) -> InboxEntry {
    stage.store().inbox(id).unwrap().remove(0)
}

/// Two hundred lines that some agents would split, send too early or truncate.
fn lines() -> String {
    let lines = (1..=200).map(|number| format!("line {number}: say \"it's\" $HOME `id`\n"));
    let lines: String = lines.collect();
    format!("{lines}the last one ends with ;")
}

/// A waiting agent gets a long message, reads all of it, and has reported that it took the line.
fn read(agent: Agent) {
    let stage = Stage::new(&[agent]);
    stage.script("greet", "worker-1", "say I wait.\n");
    stage.script("greet", "worker-2", READ);
    let id = stage.create(
        "greet",
        &["--workflow", "minimal", "--harness", agent.name()],
    );
    wait_for_event(&stage, &id, AgentEventKind::Idle);
    stage.orange(&["task", "tell", "greet", "-m", &lines()]);
    stage.wait_for_step(&id, "worker", 2, 1);
    let requests = stage.requests();
    let is_it = |it: &&Value| it["turn"] == 2 && it["step"] == 1;
    let output = requests.iter().find(is_it).unwrap()["body"].to_string();
    for number in [1, 2, 100, 199, 200] {
        let line = format!("line {number}: say");
        assert!(output.contains(&line), "{line}\n{}", stage.diagnostics(&id));
    }
    assert!(output.contains("the last one ends with ;"));
    let is_confirmed = || {
        let entry = first(&stage, &id);
        entry.read_at.is_some() && entry.delivery.confirmed_at.is_some()
    };
    let in_time = Deadline::after(SOON).wait_for(is_confirmed);
    let entry = first(&stage, &id);
    assert!(in_time, "{entry:?}\n{:#?}", reported_events(&stage, &id));
    let typed_at = entry.delivery.typed_at.unwrap();
    let events = reported_events(&stage, &id);
    let mut taken = events.iter().filter(|it| it.at >= typed_at);
    assert!(
        taken.any(|it| it.kind == AgentEventKind::PromptSubmitted),
        "{events:#?}"
    );
    assert!(!requests.iter().any(|it| it["turn"] == 3), "nudged once");
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("{} reads 200 lines", agent.name()));
}

/// While an agent asks something, no key is pressed: the message waits and says for what.
fn wait(agent: Agent) {
    let stage = Stage::new(&[agent]);
    stage.make_careful();
    stage.script("greet", "worker-1", "run git push\nsay I wait.\n");
    let id = stage.create(
        "greet",
        &["--workflow", "careful", "--harness", agent.name()],
    );
    wait_for_event(&stage, &id, AgentEventKind::PermissionWait);
    let _put_off =
        stage.orange_unchecked(&["task", "tell", "greet", "-m", "Do it.", "--wait", "5"]);
    let problem = || first(&stage, &id).delivery.problem;
    let in_time = Deadline::after(SOON).wait_for(|| problem().is_some());
    assert!(
        in_time,
        "{:?}\n{}",
        first(&stage, &id),
        stage.diagnostics(&id)
    );
    let went_on = || stage.requests().iter().any(|it| it["step"] == 1);
    let answered = Deadline::after(QUIET).wait_for(went_on);
    assert!(
        !answered,
        "the question was answered:\n{}",
        stage.diagnostics(&id)
    );
    println!("{}: {}", agent.name(), problem().unwrap());
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("{} gets a message while it asks", agent.name()));
}

/// Typed text is not confirmed until the agent takes it, whatever its screen shows: a busy agent
/// displays the line, and takes it once it is idle.
fn busy(agent: Agent) {
    let stage = Stage::new(&[agent]);
    stage.script("greet", "worker-1", "slow 12\nsay I wait.\n");
    stage.script("greet", "worker-2", READ);
    stage.orange(&["project", "add", "--harness", agent.name()]);
    stage.orange(&["serve", "--detach"]);
    let id = stage.create("greet", &["--workflow", "minimal"]);
    stage.wait_for_step(&id, "worker", 1, 0);
    let mut was_only_typed = false;
    let is_read = || {
        let InboxEntry {
            delivery, read_at, ..
        } = first(&stage, &id);
        // A message is confirmed only after the agent reported it.
        let events = reported_events(&stage, &id);
        let submitted = events
            .iter()
            .filter(|it| it.kind == AgentEventKind::PromptSubmitted);
        let took_in = submitted
            .filter(|it| Some(it.at) >= delivery.typed_at)
            .count();
        let is_typed = delivery.typed_at.is_some() && read_at.is_none();
        assert!(delivery.confirmed_at.is_none() || took_in > 0 || read_at.is_some());
        was_only_typed |= is_typed && delivery.confirmed_at.is_none();
        read_at.is_some()
    };
    let in_time = thread::scope(|scope| {
        scope.spawn(|| stage.orange_unchecked(&["task", "tell", "greet", "-m", "Do it."]));
        stage.wait_until(&id, "the message", || {
            !stage.store().inbox(&id).unwrap().is_empty()
        });
        Deadline::after(SOON).wait_for(is_read)
    });
    assert!(
        in_time,
        "{:?}\n{}",
        first(&stage, &id),
        stage.diagnostics(&id)
    );
    assert!(was_only_typed, "no look found it typed and not taken in");
    assert_eq!(stage.store().inbox(&id).unwrap().len(), 1);
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("{} gets a message while it is busy", agent.name()));
}

macro_rules! messages {
    ($act:ident: $($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("messages::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || $act(Agent::$agent));
            }
        )+
    };
}

messages! { read:
    lesson_24_claude_takes_two_hundred_lines_in: Claude;
    lesson_24_codex_takes_two_hundred_lines_in: Codex;
    lesson_24_gemini_takes_two_hundred_lines_in: Gemini;
    lesson_24_opencode_takes_two_hundred_lines_in: Opencode;
    lesson_24_pi_takes_two_hundred_lines_in: Pi;
}

messages! { busy:
    lesson_25_claude_is_not_told_before_it_takes_it_in: Claude;
    lesson_25_codex_is_not_told_before_it_takes_it_in: Codex;
    lesson_25_gemini_is_not_told_before_it_takes_it_in: Gemini;
    lesson_25_opencode_is_not_told_before_it_takes_it_in: Opencode;
    lesson_25_pi_is_not_told_before_it_takes_it_in: Pi;
}

messages! { wait:
    lesson_26_no_key_answers_a_question_of_claude: Claude;
    lesson_26_no_key_answers_a_question_of_codex: Codex;
    lesson_26_no_key_answers_a_question_of_gemini: Gemini;
    lesson_26_no_key_answers_a_question_of_opencode: Opencode;
}
