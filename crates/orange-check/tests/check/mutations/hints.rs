//! A mistake for each kind of finding, and its hint followed.

use orange_check::check::FindingCode;

use super::{Edit, edit, shipped_source};

/// A mistake, what `check` advises, and what comes of following it.
pub struct Advice {
    pub code: FindingCode,
    pub source: &'static str,
    pub mistake: Vec<Edit>,
    pub hint: &'static str,
    pub mended: Vec<Edit>,
}

/// A workflow with a judge, a counter and a command, as a user would write it.
pub const BASE: &str = r###"
name: base
version: 1
roles: [qa]
limits:
  max_rounds: 2
fields:
  rounds: 0
gates:
  handoff: { section: "## Handoff", fields: [DONE], fresh: true }
  tests: { command: [cargo, test] }
  qa_pass: { section: "## QA", verdict: PASS, from_role: [qa, human], fresh: true }
  qa_fail: { section: "## QA", verdict: FAIL, from_role: [qa, human], fresh: true }
entry: pending
states:
  pending: { kind: queued }
  working:
    expects: [worker]
    respawn: { worker: { prompt: worker } }
  qa:
    expects: [qa]
    respawn: { qa: { prompt: qa } }
  stuck: { kind: human }
  reviewing: { kind: human }
  done: { kind: terminal }
  cancelled: { kind: terminal }
transitions:
  - from: pending
    to: working
    by: human
    hooks:
      - acquire_workspace
      - { action: spawn_agent, prompt: worker }
  - from: working
    to: pending
    trigger: spawn_failed
    hooks: [kill_session, release_workspace]
  - from: working
    to: qa
    by: [worker, human, engine]
    gates: [handoff, tests]
    set: { rounds: increment }
    hooks:
      - kill_session
      - { action: archive_section, section: "## QA" }
      - { action: spawn_agent, role: qa, prompt: qa, harness: review }
  - from: qa
    to: reviewing
    by: [qa, human, engine]
    gate: qa_pass
    hooks: [kill_session]
  - from: qa
    to: working
    by: [qa, human, engine]
    when: rounds < max_rounds
    gate: qa_fail
    hooks:
      - kill_session
      - { action: spawn_agent, prompt: worker }
  - from: qa
    to: stuck
    by: [qa, human, engine]
    when: rounds >= max_rounds
    gate: qa_fail
    hooks: [kill_session]
  - from: [stuck, reviewing]
    to: working
    by: human
    set: { rounds: 0 }
    hooks:
      - kill_session
      - { action: spawn_agent, prompt: worker }
  - from: reviewing
    to: done
    trigger: merged
    by: human
    hooks: [kill_session, release_workspace]
  - from: "*active"
    to: cancelled
    by: human
    hooks: [kill_session, release_workspace]
exit_monitoring:
  rules:
    - { status: working, has_artifact: [handoff, tests], then: qa }
    - { status: working, no_artifact: true, action: crash, on_crash: mark }
    - { status: qa, has_artifact: qa_pass, then: reviewing }
    - status: qa
      has_artifact: qa_fail
      then_when:
        - { when: rounds < max_rounds, then: working }
        - { else: stuck }
    - { status: qa, no_artifact: true, action: crash, on_crash: mark }
prompts:
  worker: |
    Work on {summary}. Write `## Handoff` with a line `DONE: ...` into TASK.md, then run: orange task update --status qa
  qa: |
    Judge {summary}. Write `## QA` into TASK.md, first line `Verdict: PASS` or `Verdict: FAIL`.
    For PASS run: orange task update --status reviewing
    For FAIL run: orange task update --status working
    For FAIL in round {max_rounds} run: orange task update --status stuck
"###;

fn hint(code: FindingCode, mistake: Vec<Edit>, hint: &'static str, mended: Vec<Edit>) -> Advice {
    Advice {
        code,
        source: BASE,
        mistake,
        hint,
        mended,
    }
}

const CANCELLED: &str =
    "    to: cancelled\n    by: human\n    hooks: [kill_session, release_workspace]\n";
const START: &str = "    to: working\n    by: human\n    hooks:\n      - acquire_workspace\n";
const SPAWN_FAILED: &str = "  - from: working\n    to: pending\n    trigger: spawn_failed\n    hooks: [kill_session, release_workspace]\n";
const BACK: &str = "    gate: qa_fail\n    hooks:\n      - kill_session\n      - { action: spawn_agent, prompt: worker }\n";
const CRASH: &str = "    - { status: working, no_artifact: true, action: crash, on_crash: mark }\n";
const QA_RULES: &str = "    - { status: qa, has_artifact: qa_pass, then: reviewing }\n    - status: qa\n      has_artifact: qa_fail\n      then_when:\n        - { when: rounds < max_rounds, then: working }\n        - { else: stuck }\n    - { status: qa, no_artifact: true, action: crash, on_crash: mark }\n";

pub fn rows() -> Vec<Advice> {
    let mut rows = about_states();
    rows.extend(about_hooks());
    rows.extend(about_exits());
    rows.extend(about_judging());
    rows.extend(about_words());
    rows
}

fn about_states() -> Vec<Advice> {
    vec![
        hint(
            FindingCode::StateUnreachable,
            vec![edit("  stuck: {", "  lost: { kind: human }\n  stuck: {")],
            "or remove the state",
            vec![edit("  lost: { kind: human }\n", "")],
        ),
        hint(
            FindingCode::NoWayToEnd,
            vec![
                edit("\"*active\"", "[pending, working, qa, reviewing]"),
                edit("  - from: [stuck, reviewing]\n", "  - from: reviewing\n"),
            ],
            "add a transition from `stuck` that a person may always ask for",
            vec![edit(
                "[pending, working, qa, reviewing]",
                "[pending, working, qa, reviewing, stuck]",
            )],
        ),
        hint(
            FindingCode::KindMismatch,
            vec![edit(
                "  stuck: { kind: human }",
                "  stuck: { kind: waiting }",
            )],
            "or make it `kind: human`",
            vec![edit(
                "  stuck: { kind: waiting }",
                "  stuck: { kind: human }",
            )],
        ),
        hint(
            FindingCode::KindMismatch,
            vec![edit(
                "    expects: [qa]\n",
                "    kind: queued\n    expects: [qa]\n",
            )],
            "make it `kind: agent`",
            vec![edit("    kind: queued\n", "    kind: agent\n")],
        ),
        hint(
            FindingCode::EdgeDead,
            vec![edit(
                SPAWN_FAILED,
                "  - { from: working, to: pending, trigger: spawn_failed, hooks: [kill_session, release_workspace] }\n  - { from: reviewing, to: stuck, trigger: crash }\n",
            )],
            "or remove it",
            vec![edit(
                "  - { from: reviewing, to: stuck, trigger: crash }\n",
                "",
            )],
        ),
        hint(
            FindingCode::EntryDead,
            vec![edit(
                "entry: pending\n",
                "entry: { pending: {}, stuck: { when: rounds > 3 } }\n",
            )],
            "or remove the entry",
            vec![edit(", stuck: { when: rounds > 3 } }", " }")],
        ),
    ]
}

fn about_hooks() -> Vec<Advice> {
    vec![
        hint(
            FindingCode::WorkspaceLeaked,
            vec![edit(
                CANCELLED,
                "    to: cancelled\n    by: human\n    hooks: [kill_session]\n",
            )],
            "add `release_workspace` to its hooks",
            vec![edit(
                "by: human\n    hooks: [kill_session]\n",
                "by: human\n    hooks: [kill_session, release_workspace]\n",
            )],
        ),
        hint(
            FindingCode::AgentLeaked,
            vec![edit(
                CANCELLED,
                "    to: cancelled\n    by: human\n    hooks: [release_workspace]\n",
            )],
            "add `kill_session` to its hooks, before `release_workspace`",
            vec![edit(
                "[release_workspace]",
                "[kill_session, release_workspace]",
            )],
        ),
        hint(
            FindingCode::AgentEvicted,
            vec![edit(
                CANCELLED,
                "    to: cancelled\n    by: human\n    hooks: [release_workspace, kill_session]\n",
            )],
            "put `kill_session` before `release_workspace`",
            vec![edit(
                "[release_workspace, kill_session]",
                "[kill_session, release_workspace]",
            )],
        ),
        hint(
            FindingCode::FailureKeepsHold,
            vec![edit(
                CANCELLED,
                "    to: cancelled\n    by: human\n    hooks: [push_branch, kill_session, release_workspace]\n",
            )],
            "or give it `on_error: continue`",
            vec![edit(
                "[push_branch,",
                "[{ action: push_branch, on_error: continue },",
            )],
        ),
        hint(
            FindingCode::HookWithoutWorkspace,
            vec![edit(START, "    to: working\n    by: human\n    hooks:\n")],
            "add `acquire_workspace` before `spawn_agent`",
            vec![edit(
                "    to: working\n    by: human\n    hooks:\n",
                "    to: working\n    by: human\n    hooks:\n      - acquire_workspace\n",
            )],
        ),
        hint(
            FindingCode::HookWithoutWorkspace,
            vec![edit(SPAWN_FAILED, "")],
            "`- { from: working, to: pending, trigger: spawn_failed, set: { spawn_failures: increment }, hooks: [kill_session, release_workspace] }`",
            vec![edit(
                "transitions:\n",
                "transitions:\n  - { from: working, to: pending, trigger: spawn_failed, set: { spawn_failures: increment }, hooks: [kill_session, release_workspace] }\n",
            )],
        ),
        hint(
            FindingCode::GateWithoutWorkspace,
            vec![edit(
                START,
                "    to: working\n    by: human\n    gate: tests\n    hooks:\n      - acquire_workspace\n",
            )],
            "put the gate on a transition from a state that holds a workspace",
            vec![edit("    gate: tests\n", "")],
        ),
        hint(
            FindingCode::NobodyToTell,
            vec![edit(
                "    when: rounds >= max_rounds\n    gate: qa_fail\n    hooks: [kill_session]\n",
                "    when: rounds >= max_rounds\n    gate: qa_fail\n    hooks: [kill_session, { action: notify_worker, message: Wait. }]\n",
            )],
            "give `stuck` a `respawn` for the worker",
            vec![edit(
                "  stuck: { kind: human }",
                "  stuck: { kind: human, respawn: { worker: { prompt: worker } } }",
            )],
        ),
        hint(
            FindingCode::AgentDoubled,
            vec![
                edit(
                    BACK,
                    "    gate: qa_fail\n    hooks:\n      - { action: spawn_agent, prompt: worker }\n",
                ),
                edit(
                    "      - kill_session\n      - { action: archive_section",
                    "      - { action: archive_section",
                ),
            ],
            "end the first (`kill_session`",
            vec![edit(
                "    gate: qa_fail\n    hooks:\n      - { action",
                "    gate: qa_fail\n    hooks:\n      - kill_session\n      - { action",
            )],
        ),
        hint(
            FindingCode::AgentAbsent,
            vec![edit(BACK, "    gate: qa_fail\n    hooks: [kill_session]\n")],
            "start one on the way (`spawn_agent`",
            vec![edit(
                "    when: rounds < max_rounds\n    gate: qa_fail\n    hooks: [kill_session]\n",
                "    when: rounds < max_rounds\n    gate: qa_fail\n    hooks: [kill_session, { action: spawn_agent, prompt: worker }]\n",
            )],
        ),
        Advice {
            code: FindingCode::StartUnanswered,
            source: shipped_source("autopilot"),
            mistake: vec![
                edit(
                    "    to: routed\n    by: [human, engine]\n",
                    "    to: routed\n    by: [human, engine]\n  - from: new\n    to: helped\n    by: engine\n    hooks: [acquire_workspace, { action: spawn_agent, prompt: attempt }]\n  - { from: helped, to: blocked, by: human, hooks: [kill_session, release_workspace] }\n",
                ),
                edit(
                    "  done:\n    kind: terminal\n",
                    "  helped:\n    expects: [worker]\n    respawn: { worker: { prompt: attempt } }\n  done:\n    kind: terminal\n",
                ),
                edit(
                    "  rules:\n",
                    "  rules:\n    - { status: helped, action: mark_dead }\n",
                ),
            ],
            hint: "`- { from: helped, to: new, trigger: spawn_failed, set: { spawn_failures: increment }, hooks: [kill_session, release_workspace] }`, and let the engine start only while `spawn_failures < 3`",
            mended: vec![
                edit(
                    "    to: helped\n    by: engine\n",
                    "    to: helped\n    by: engine\n    when: spawn_failures < 3\n",
                ),
                edit(
                    "  - from: new\n    to: helped\n",
                    "  - { from: helped, to: new, trigger: spawn_failed, set: { spawn_failures: increment }, hooks: [kill_session, release_workspace] }\n  - from: new\n    to: helped\n",
                ),
            ],
        },
    ]
}

fn about_exits() -> Vec<Advice> {
    vec![
        hint(
            FindingCode::ExitTargetMissing,
            vec![edit(
                CRASH,
                "    - { status: working, no_artifact: true, action: crash, stuck_after: 2, then: stuck }\n",
            )],
            "add `- { from: working, to: stuck, trigger: crash }` to the transitions",
            vec![edit(
                "transitions:\n",
                "transitions:\n  - { from: working, to: stuck, trigger: crash }\n",
            )],
        ),
        hint(
            FindingCode::ExitRefused,
            vec![edit(
                "        - { when: rounds < max_rounds, then: working }\n",
                "        - { when: rounds <= max_rounds, then: working }\n",
            )],
            "make the guards agree",
            vec![edit(
                "when: rounds <= max_rounds",
                "when: rounds < max_rounds",
            )],
        ),
        hint(
            FindingCode::ExitRuleDead,
            vec![
                edit(CRASH, ""),
                edit(
                    "    - { status: working, has_artifact",
                    "    - { status: working, no_artifact: true, action: crash, on_crash: mark }\n    - { status: working, has_artifact",
                ),
            ],
            "put it above that one, or remove it",
            vec![edit(
                "    - { status: working, has_artifact: [handoff, tests], then: qa }\n",
                "",
            )],
        ),
        hint(
            FindingCode::ExitRuleDead,
            vec![edit(
                "  rules:\n",
                "  rules:\n    - { status: reviewing, action: mark_dead }\n",
            )],
            "remove it, or name the `role`",
            vec![edit("    - { status: reviewing, action: mark_dead }\n", "")],
        ),
        hint(
            FindingCode::ExitRuleMissing,
            vec![edit(QA_RULES, "")],
            "at least `- { status: qa, action: mark_dead }`",
            vec![edit(
                "  rules:\n",
                "  rules:\n    - { status: qa, action: mark_dead }\n",
            )],
        ),
        hint(
            FindingCode::RespawnMissing,
            vec![edit("    respawn: { qa: { prompt: qa } }\n", "")],
            "add `respawn: { qa: { prompt: NAME } }` to `qa`",
            vec![edit(
                "    expects: [qa]\n",
                "    expects: [qa]\n    respawn: { qa: { prompt: qa } }\n",
            )],
        ),
        hint(
            FindingCode::EndlessLoop,
            vec![edit(
                CRASH,
                "    - { status: working, no_artifact: true, action: crash, on_crash: respawn }\n",
            )],
            "or `on_crash: mark`",
            vec![edit("on_crash: respawn", "on_crash: mark")],
        ),
        hint(
            FindingCode::EndlessLoop,
            vec![edit(
                START,
                "    to: working\n    by: [human, engine]\n    hooks:\n      - acquire_workspace\n",
            )],
            "count the failures (`set: { spawn_failures: increment }` on the `spawn_failed` transition) and let the engine start only while `spawn_failures < 3`",
            vec![
                edit(
                    "    trigger: spawn_failed\n",
                    "    trigger: spawn_failed\n    set: { spawn_failures: increment }\n",
                ),
                edit(
                    "    by: [human, engine]\n    hooks:\n      - acquire",
                    "    by: [human, engine]\n    when: spawn_failures < 3\n    hooks:\n      - acquire",
                ),
            ],
        ),
        hint(
            FindingCode::EndlessLoop,
            vec![edit("    set: { rounds: increment }\n", "")],
            "count it (`set: { attempts: increment }` on one of its transitions",
            vec![edit(
                "    gates: [handoff, tests]\n",
                "    gates: [handoff, tests]\n    set: { rounds: increment }\n",
            )],
        ),
        hint(
            FindingCode::LimitExceeded,
            vec![edit("    set: { rounds: 0 }\n", "")],
            "with `set: { rounds: 0 }`",
            vec![edit(
                "  - from: [stuck, reviewing]\n    to: working\n    by: human\n",
                "  - from: [stuck, reviewing]\n    to: working\n    by: human\n    set: { rounds: 0 }\n",
            )],
        ),
    ]
}

fn about_judging() -> Vec<Advice> {
    vec![
        hint(
            FindingCode::JudgesItself,
            vec![
                edit(
                    "verdict: PASS, from_role: [qa, human], fresh: true",
                    "verdict: PASS",
                ),
                edit(
                    "      - { action: archive_section, section: \"## QA\" }\n",
                    "",
                ),
            ],
            "give the gate `from_role: [qa, human]` and `fresh: true`, and the transition `by: [qa, human, engine]`",
            vec![edit(
                "verdict: PASS }",
                "verdict: PASS, from_role: [qa, human], fresh: true }",
            )],
        ),
        hint(
            FindingCode::JudgesItself,
            vec![
                edit("    by: [qa, human, engine]\n    gate: qa_pass\n", ""),
                edit(
                    "      - kill_session\n      - { action: archive_section",
                    "      - { action: archive_section",
                ),
            ],
            "give the transition a gate that asks for the PASS, and the transition `by: [qa, human, engine]`",
            vec![edit(
                "    to: reviewing\n",
                "    to: reviewing\n    by: [qa, human, engine]\n    gate: qa_pass\n",
            )],
        ),
        hint(
            FindingCode::JudgesItself,
            vec![
                edit("roles: [qa]\n", ""),
                edit("role: qa, prompt: qa, harness: review", "prompt: qa"),
                edit(
                    "    expects: [qa]\n    respawn: { qa: { prompt: qa } }\n",
                    "    expects: [worker]\n    respawn: { worker: { prompt: qa } }\n",
                ),
                edit(
                    "verdict: PASS, from_role: [qa, human]",
                    "verdict: PASS, from_role: [worker, human]",
                ),
                edit(
                    "verdict: FAIL, from_role: [qa, human]",
                    "verdict: FAIL, from_role: [worker, human]",
                ),
                edit(
                    "    by: [qa, human, engine]\n    gate: qa_pass\n",
                    "    by: [worker, human, engine]\n    gate: qa_pass\n",
                ),
                edit(
                    "    by: [qa, human, engine]\n    when: rounds < max_rounds\n",
                    "    by: [worker, human, engine]\n    when: rounds < max_rounds\n",
                ),
                edit(
                    "    by: [qa, human, engine]\n    when: rounds >= max_rounds\n",
                    "    by: [worker, human, engine]\n    when: rounds >= max_rounds\n",
                ),
            ],
            "let another role judge: declare one under `roles`, and start it with `role`",
            vec![
                edit("limits:\n", "roles: [qa]\nlimits:\n"),
                edit(
                    "prompt: qa }\n  - from: qa",
                    "prompt: qa, role: qa }\n  - from: qa",
                ),
                edit(
                    "    expects: [worker]\n    respawn: { worker: { prompt: qa } }\n",
                    "    expects: [qa]\n    respawn: { qa: { prompt: qa } }\n",
                ),
                edit(
                    "verdict: PASS, from_role: [worker, human]",
                    "verdict: PASS, from_role: [qa, human]",
                ),
                edit(
                    "verdict: FAIL, from_role: [worker, human]",
                    "verdict: FAIL, from_role: [qa, human]",
                ),
                edit(
                    "    by: [worker, human, engine]\n    gate: qa_pass\n",
                    "    by: [qa, human, engine]\n    gate: qa_pass\n",
                ),
                edit(
                    "    by: [worker, human, engine]\n    when: rounds < max_rounds\n",
                    "    by: [qa, human, engine]\n    when: rounds < max_rounds\n",
                ),
                edit(
                    "    by: [worker, human, engine]\n    when: rounds >= max_rounds\n",
                    "    by: [qa, human, engine]\n    when: rounds >= max_rounds\n",
                ),
            ],
        ),
        hint(
            FindingCode::StaleArtifact,
            vec![edit("fields: [DONE], fresh: true }", "fields: [DONE] }")],
            "give the gate `fresh: true`",
            vec![edit("fields: [DONE] }", "fields: [DONE], fresh: true }")],
        ),
        hint(
            FindingCode::AgentMayFinish,
            vec![edit(
                CANCELLED,
                "    to: cancelled\n    hooks: [kill_session, release_workspace]\n",
            )],
            "say who may ask: `by: human`",
            vec![edit(
                "    to: cancelled\n",
                "    to: cancelled\n    by: human\n",
            )],
        ),
    ]
}

fn about_words() -> Vec<Advice> {
    vec![
        hint(
            FindingCode::VerbLeadsNowhere,
            vec![edit(
                "transitions:\n",
                "verbs: { retry: pending }\ntransitions:\n",
            )],
            "take `pending` out of `retry`",
            vec![edit("{ retry: pending }", "{ retry: [] }")],
        ),
        hint(
            FindingCode::PromptStatusClosed,
            vec![edit("--status qa\n", "--status reviewing\n")],
            "name what is open to it",
            vec![edit(
                "then run: orange task update --status reviewing\n",
                "then run: orange task update --status qa\n",
            )],
        ),
        hint(
            FindingCode::VariableInBraces,
            vec![edit("Judge {summary}", "Judge {{summary}}")],
            "write `{summary}`; two braces stand for one",
            vec![edit("{{summary}}", "{summary}")],
        ),
        hint(
            FindingCode::SectionUnmentioned,
            vec![edit("Write `## QA` into", "Write `## Opinion` into")],
            "mention `## QA` in a prompt of the qa",
            vec![edit("`## Opinion`", "`## QA`")],
        ),
        hint(
            FindingCode::Unused,
            vec![edit(
                "  max_rounds: 2\n",
                "  max_rounds: 2\n  max_naps: 3\n",
            )],
            "use it, or remove it",
            vec![edit("  max_naps: 3\n", "")],
        ),
        Advice {
            code: FindingCode::NotAvailable,
            source: shipped_source("autopilot"),
            mistake: vec![edit(
                "      - action: create_children\n",
                "      - action: create_children\n      - action: close_issue\n",
            )],
            hint: "take `close_issue` out",
            mended: vec![edit("      - action: close_issue\n", "")],
        },
    ]
}
