//! Invalid files that both schema and reader reject.

use orange_engine::load;

use crate::fixtures::{EVERYTHING, is_valid, json};

/// One line of the workflow that uses everything, and the mistake that replaces it.
const MISTAKES: [(&str, &str); 48] = [
    // Unknown keys.
    ("roles: [qa]", "rolls: [qa]"),
    ("    kind: waiting", "    kinds: waiting"),
    (
        "{ prompt: say, permissions: full }",
        "{ prompt: say, permission: full }",
    ),
    (
        "timeout: { after: 10s, then: asking }",
        "timeout: { after: 10s, then: asking, else: over }",
    ),
    (
        "queued: { set: { loops: 1 } }",
        "queued: { sets: { loops: 1 } }",
    ),
    ("    confirm: Really?", "    confirms: Really?"),
    (
        "  tests: { command: [\"true\"], timeout: 5m }",
        "  tests: { command: [\"true\"], fresh: true }",
    ),
    (
        "{ pr: { state: open, checks: passing } }",
        "{ pr: { state: open, drafts: true } }",
    ),
    (
        "{ pr: { state: open, checks: passing } }",
        "{ pr: { state: open, allow_none: true } }",
    ),
    (
        "{ pr: { state: open, checks: passing } }",
        "{ pr: { allow_none: true } }",
    ),
    (
        "{ action: merge_pr, strategy: squash }",
        "{ action: merge_pr, strategy: ff }",
    ),
    (
        "{ action: create_pr, draft: true, labels: [orange] }",
        "{ action: create_pr, draft: maybe }",
    ),
    (
        "field: loops, value: increment }",
        "field: loops, value: increment, by: human }",
    ),
    (
        "      - { action: kill_agent, role: qa }",
        "      - { action: kill_session, role: qa }",
    ),
    ("  poll_interval: 5", "  poll: 5"),
    ("      backoff: 2s", "      back_off: 2s"),
    (
        "      role: qa\n      action: mark_dead",
        "      role: qa\n      action: mark_dead\n      backoff: 2s",
    ),
    ("  merge: over", "  marge: over"),
    // Missing required keys.
    ("name: everything\n", ""),
    (
        "{ prompt: say, permissions: full }",
        "{ permissions: full }",
    ),
    (
        "{ action: notify, message: \"{id} is busy\", via: [desktop, bell, webhook] }",
        "notify",
    ),
    (
        "      - { action: kill_agent, role: qa }",
        "      - kill_agent",
    ),
    ("  - from: parked\n    to: asking\n", "  - from: parked\n"),
    // Values of the wrong type.
    ("version: 1", "version: 2"),
    ("  max_rounds: 2", "  max_rounds: two"),
    ("  max_rounds: 2", "  max_rounds: -2"),
    ("  max_rounds: 2", "  max_rounds: 2.5"),
    ("fresh: true", "fresh: 1"),
    ("    terminal: true", "    terminal: yes"),
    ("after: 10s", "after: 10 seconds"),
    ("command: [make, lint]", "command: make lint"),
    (
        "    hooks: [create_children, route]",
        "    hooks: create_children",
    ),
    (
        "      worker: { prompt: say, permissions: full }",
        "      worker: say",
    ),
    ("    confirm: Really?", "    confirm: [Really?]"),
    ("description: Every word of the language.", "description:"),
    ("section: \"## Plan\", fields", "section: Plan, fields"),
    // Unknown words.
    ("    kind: queued", "    kind: queue"),
    ("    trigger: report", "    trigger: reported"),
    ("verdict: PASS", "verdict: pass"),
    ("verdict_mode: scan", "verdict_mode: last_line"),
    ("harness: review", "harness: reviewer"),
    ("via: [desktop, bell, webhook]", "via: [mail]"),
    ("on_error: continue", "on_error: ignore"),
    ("      on_crash: respawn", "      on_crash: restart"),
    ("      - push_branch", "      - push_branches"),
    ("git: [clean,", "git: [tidy,"),
    ("    when: loops < 5", "    when: loops less than 5"),
    ("name: everything", "name: Every Thing"),
];

#[test]
fn every_mistake_is_refused_by_both() {
    for (right, wrong) in MISTAKES {
        assert!(EVERYTHING.contains(right), "there is no `{right}`");
        let yaml = EVERYTHING.replacen(right, wrong, 1);
        assert!(!load(&yaml).problems.is_empty(), "the reader takes {wrong}");
        assert!(!is_valid(&json(&yaml)), "the schema takes {wrong}");
    }
}
