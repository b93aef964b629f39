//! Large workflows, made by rule: the same every time.

use std::fmt::Write as _;

/// How many states the large workflow has.
pub const STATES: usize = 200;
/// How many transitions the large workflow has.
pub const TRANSITIONS: usize = 1_000;

/// Numbers that look random and are not.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % most
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Queued,
    Agent,
    Human,
}

fn kind(number: usize) -> Kind {
    match number % 10 {
        0 => Kind::Queued,
        3 | 6 => Kind::Human,
        _ => Kind::Agent,
    }
}

/// What a way into a state does.
fn hooks(to: usize) -> &'static str {
    match kind(to) {
        Kind::Agent => "[kill_session, acquire_workspace, { action: spawn_agent, prompt: worker }]",
        Kind::Queued | Kind::Human => "[kill_session, release_workspace]",
    }
}

/// What a person's decision begins anew: always the failures, sometimes the rest.
fn reset(from: usize) -> &'static str {
    match from % 30 {
        3 => "spawn_failures: 0, laps: 0, turns: 0",
        _ => "spawn_failures: 0",
    }
}

/// A workflow of 200 states and 1,000 transitions with agents, starts, counters and gates, and
/// these faults: `s34` can end with everything still held, `s44` and `s45` send a task back and forth for
/// ever, nobody ever comes into `s199`, and a rule of `s55` is never asked.
pub fn large() -> String {
    let active = STATES - 2;
    let mut text = String::from(
        "name: large\nversion: 1\nlimits: { max_laps: 2, max_turns: 2, max_failures: 2 }\n\
         fields: { laps: 0, turns: 0 }\n\
         gates:\n  handoff: { section: \"## Handoff\", fields: [DONE], fresh: true }\n\
         entry: s0\nstates:\n",
    );
    for number in 0..active {
        let _ = match kind(number) {
            Kind::Queued => writeln!(text, "  s{number}: {{ kind: queued }}"),
            Kind::Human => writeln!(text, "  s{number}: {{ kind: human }}"),
            Kind::Agent => writeln!(
                text,
                "  s{number}: {{ expects: [worker], respawn: {{ worker: {{ prompt: worker }} }} }}"
            ),
        };
    }
    text.push_str("  end: { terminal: true }\n  s199: { kind: human }\ntransitions:\n");
    let mut ways = Ways {
        text,
        count: 0,
        pairs: Vec::new(),
    };
    ways.usual(active);
    ways.add(34, "end", "by: human");
    ways.add(
        45,
        "s44",
        "by: worker, hooks: [kill_session, { action: spawn_agent, prompt: worker }]",
    );
    ways.add(
        199,
        "end",
        "by: human, hooks: [kill_session, release_workspace]",
    );
    ways.random(active);
    let mut text = ways.text;
    text.push_str("exit_monitoring:\n  rules:\n");
    for number in (0..active).filter(|number| kind(*number) == Kind::Agent) {
        let next = (number + 1) % active;
        let _ = writeln!(
            text,
            "    - {{ status: s{number}, has_artifact: handoff, then: s{next} }}\n    \
             - {{ status: s{number}, action: mark_dead }}"
        );
    }
    text.push_str("    - { status: s55, has_artifact: handoff, then: s56 }\n");
    text.push_str("prompts:\n  worker: |\n    Write `## Handoff`.\n");
    text
}

struct Ways {
    text: String,
    count: usize,
    pairs: Vec<(usize, String)>,
}

impl Ways {
    fn add(&mut self, from: usize, to: &str, rest: &str) {
        self.count += 1;
        self.pairs.push((from, to.to_owned()));
        let _ = writeln!(self.text, "  - {{ from: s{from}, to: {to}, {rest} }}");
    }

    /// On to the next state, back to a queue when a start fails, and to the end.
    fn usual(&mut self, active: usize) {
        for number in 0..active {
            let next = (number + 1) % active;
            let hooks = hooks(next);
            let to = format!("s{next}");
            match kind(number) {
                Kind::Queued => {
                    let rest =
                        format!("by: engine, when: spawn_failures < max_failures, hooks: {hooks}");
                    self.add(number, &to, &rest);
                }
                Kind::Human => self.add(
                    number,
                    &to,
                    &format!("by: human, set: {{ {} }}, hooks: {hooks}", reset(number)),
                ),
                Kind::Agent => self.add(
                    number,
                    &to,
                    &format!("by: [worker, human, engine], gate: handoff, hooks: {hooks}"),
                ),
            }
            if kind(number) == Kind::Agent {
                let queue = number / 10 * 10;
                self.add(
                    number,
                    &format!("s{queue}"),
                    "trigger: spawn_failed, set: { spawn_failures: increment }, \
                     hooks: [kill_session, release_workspace]",
                );
            }
            if number != 34 {
                self.add(
                    number,
                    "end",
                    "by: human, hooks: [kill_session, release_workspace]",
                );
            }
        }
    }

    /// Ways of a person to anywhere, and counted ways back of a worker, until there are enough.
    fn random(&mut self, active: usize) {
        let mut numbers = Numbers(7);
        while self.count < TRANSITIONS {
            let (from, to) = (numbers.below(active), numbers.below(active));
            let name = format!("s{to}");
            let known = self.pairs.contains(&(from, name.clone()));
            if from == to || known || kind(to) == Kind::Queued {
                continue;
            }
            let hooks = hooks(to);
            let by_worker = kind(from) == Kind::Agent && to < from;
            let field = if to % 2 == 0 { "laps" } else { "turns" };
            let rest = if by_worker {
                format!(
                    "by: worker, when: {field} < max_{field}, set: {{ {field}: increment }}, \
                     hooks: {hooks}"
                )
            } else {
                format!("by: human, set: {{ {} }}, hooks: {hooks}", reset(from))
            };
            self.add(from, &name, &rest);
        }
    }
}

/// A workflow whose ten counters have nothing to do with each other: too many situations for any
/// search.
pub fn counting() -> String {
    let mut text = String::from("name: counting\nversion: 1\nfields:\n");
    for number in 0..10 {
        let _ = writeln!(text, "  f{number}: 0");
    }
    text.push_str("states:\n  on: { kind: human }\n  off: { terminal: true }\n");
    for number in 0..10 {
        let _ = writeln!(text, "  s{number}: {{ kind: human }}");
    }
    text.push_str("transitions:\n  - { from: on, to: off, by: human }\n");
    for number in 0..10 {
        let _ = writeln!(
            text,
            "  - {{ from: on, to: s{number}, by: human, when: f{number} < 9, \
             set: {{ f{number}: increment }} }}\n  - {{ from: s{number}, to: on, by: human }}"
        );
    }
    text
}
