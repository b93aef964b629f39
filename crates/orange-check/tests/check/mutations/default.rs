//! Deliberate mistakes in `default`, each with what it must lead to.

use orange_check::check::FindingCode;
use orange_engine::language::ProblemCode;

use super::{Mutant, edit, edit_all, found, mutant, refused};

pub fn rows() -> Vec<Mutant> {
    vec![
        mutant(
            "letting go ends nobody",
            vec![edit(
                r"hooks: &let_go
      - action: kill_session
      - action: release_workspace
",
                r"hooks: &let_go
      - action: release_workspace
",
            )],
            found(
                FindingCode::AgentLeaked,
                "the transition from `clarification` to `cancelled` reaches `cancelled` with the worker still alive",
            ),
        ),
        mutant(
            "a push that may fail comes first",
            vec![edit(
                r"hooks: &wrap_up
      - action: kill_session
      - action: release_workspace
",
                r"hooks: &wrap_up
      - action: push_branch
      - action: kill_session
      - action: release_workspace
",
            )],
            found(
                FindingCode::FailureKeepsHold,
                "when `push_branch` fails, the transition from `clarification` to `done` lets go of nothing",
            ),
        ),
        mutant(
            "starting acquires nothing",
            vec![edit(
                r"hooks: &start_worker
      - { action: acquire_workspace, restore: true }
      - { action: spawn_agent, prompt: worker }
",
                r"hooks: &start_worker
      - { action: spawn_agent, prompt: worker }
",
            )],
            found(
                FindingCode::HookWithoutWorkspace,
                "the transition from `pending` to `planning` runs `spawn_agent` where no workspace is held",
            ),
        ),
        mutant(
            "starting starts nobody",
            vec![edit(
                r"hooks: &start_worker
      - { action: acquire_workspace, restore: true }
      - { action: spawn_agent, prompt: worker }
",
                r"hooks: &start_worker
      - { action: acquire_workspace, restore: true }
",
            )],
            found(
                FindingCode::AgentAbsent,
                "the transition from `pending` to `planning` enters `planning`, which expects the worker, and none is there",
            ),
        ),
        mutant(
            "the entry is never open",
            vec![edit(
                r"    when: summary_chars == 0
    hooks:
      - action: acquire_workspace
      - { action: spawn_agent, prompt: clarification }
",
                r"    when: summary_chars < 0
    hooks:
      - action: acquire_workspace
      - { action: spawn_agent, prompt: clarification }
",
            )],
            found(
                FindingCode::EntryDead,
                "no task can begin in `clarification`: its `when` never holds at the beginning",
            ),
        ),
        mutant(
            "the scheduler never gives up",
            vec![edit(
                r"    when: summary_chars > 0 and spawn_failures < max_spawn_failures
",
                r"    when: summary_chars > 0
",
            )],
            found(
                FindingCode::EndlessLoop,
                "from `pending` a start is tried again and again while `acquire_workspace` fails",
            ),
        ),
        mutant(
            "no delegation is allowed",
            vec![edit("  max_delegations: 2 ", "  max_delegations: 0 ")],
            found(
                FindingCode::StateUnreachable,
                "no task ever comes into `delegated`",
            ),
        ),
        mutant(
            "the exit edge is gone",
            vec![edit(
                r"  - from: planning
    to: working
    trigger: exit
    gate: plan
    hooks:
      - { action: spawn_agent, prompt: worker_respawn, permissions: reduced }
",
                "",
            )],
            found(
                FindingCode::ExitTargetMissing,
                "the exit rule of `planning` leads to `working`, and no transition lets the engine go there",
            ),
        ),
        mutant(
            "the crash edge of agent review gone",
            vec![edit(
                r"  - from: agent-review
    to: stuck
    trigger: crash
    hooks:
      - action: kill_reviewer
",
                "",
            )],
            found(
                FindingCode::ExitRefused,
                "the reviewer crashes 2 times in `agent-review`, the exit rule leads to `stuck`, and the transition is refused",
            ),
        ),
        mutant(
            "an old handoff counts",
            vec![edit(
                r"    fields: [DONE, REMAINING, DECISIONS, UNCERTAIN]
    fresh: true
",
                r"    fields: [DONE, REMAINING, DECISIONS, UNCERTAIN]
",
            )],
            found(
                FindingCode::StaleArtifact,
                "an old `## Handoff` leads from `working` to `agent-review` in a later round",
            ),
        ),
        mutant(
            "pass not fresh and not archived",
            vec![
                edit(
                    r"    verdict: PASS
    from_role: [reviewer, human]
    fresh: true
",
                    r"    verdict: PASS
    from_role: [reviewer, human]
",
                ),
                edit(
                    r###"      # An old review out of the way: the same words may be said again.
      - &archive_review { action: archive_section, section: "## Review" }
"###,
                    "",
                ),
                edit(
                    r"      - *archive_review
",
                    "",
                ),
            ],
            found(
                FindingCode::StaleArtifact,
                "an old PASS in `## Review` leads from `agent-review` to `reviewing` in a later round",
            ),
        ),
        mutant(
            "pass from anybody",
            vec![edit(
                r"    verdict: PASS
    from_role: [reviewer, human]
    fresh: true
",
                r"    verdict: PASS
    fresh: true
",
            )],
            found(
                FindingCode::JudgesItself,
                "the worker can write the PASS that leads from `agent-review` to `reviewing` itself",
            ),
        ),
        mutant(
            "reviewer survives pass",
            vec![edit(
                r"    to: reviewing
    by: [reviewer, human, engine]
    gate: review_pass
    hooks:
      - action: kill_reviewer
",
                r"    to: reviewing
    by: [reviewer, human, engine]
    gate: review_pass
",
            )],
            found(
                FindingCode::AgentDoubled,
                "the transition from `working` to `agent-review` starts a second reviewer beside one that is alive",
            ),
        ),
        mutant(
            "guard of stuck strengthened",
            vec![edit(
                r"    when: review_round >= max_review_rounds
    gate: review_fail
    hooks:
      - action: kill_reviewer
",
                r"    when: review_round > max_review_rounds
    gate: review_fail
    hooks:
      - action: kill_reviewer
",
            )],
            found(
                FindingCode::ExitRefused,
                "the reviewer dies in `agent-review`, the exit rule leads to `stuck`, and the transition is refused",
            ),
        ),
        mutant(
            "nobody tells the worker",
            vec![edit(
                r"      - action: notify_worker
        message: |
          The review of round {review_round} did not pass. Read `## Review` in TASK.md, fix what it names, bring `## Handoff` up to date, then run: orange task update --status agent-review
",
                "",
            )],
            found(
                FindingCode::AgentAbsent,
                "the transition from `agent-review` to `working` enters `working`, which expects the worker, and none is there",
            ),
        ),
        mutant(
            "stuck brings nobody",
            vec![edit(
                r"      - action: notify_worker
        message: |
          The task is stuck: agent review failed {max_review_rounds} times, an agent kept crashing, or somebody said so.
          Read `## Review`, `## Plan` and `## Handoff` in TASK.md, then say in this session what went wrong and what you propose. Change nothing until the person agrees.
",
                "",
            )],
            found(
                FindingCode::AgentAbsent,
                "the transition from `planning` to `stuck` enters `stuck`, which expects the worker, and none is there",
            ),
        ),
        mutant(
            "stuck cannot respawn",
            vec![edit(
                r"    respawn:
      worker: { prompt: stuck }
",
                "",
            )],
            found(
                FindingCode::NobodyToTell,
                "the transition from `agent-review` to `stuck` tells the worker something, and none may be there",
            ),
        ),
        mutant(
            "delegated keeps everything",
            vec![edit(
                r"    when: children_open > 0 and delegations < max_delegations
    set: { delegations: increment }
    hooks: *let_go
",
                r"    when: children_open > 0 and delegations < max_delegations
    set: { delegations: increment }
",
            )],
            found(
                FindingCode::AgentDoubled,
                "the transition from `resuming` to `working` starts a second worker beside one that is alive",
            ),
        ),
        mutant(
            "delegation is not bounded",
            vec![edit(
                r"    when: children_open > 0 and delegations < max_delegations
    set: { delegations: increment }
    hooks: *let_go
",
                r"    when: children_open > 0
    set: { delegations: increment }
    hooks: *let_go
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `resuming` → `working` → `delegated` → `resuming` needs no person",
            ),
        ),
        mutant(
            "children_done gone",
            vec![edit(
                r"  - from: delegated
    to: resuming
    trigger: children_done
",
                "",
            )],
            found(
                FindingCode::KindMismatch,
                "`delegated` is of the kind `waiting`, and nothing but a person leads on from there",
            ),
        ),
        mutant(
            "working spawn_failed gone",
            vec![edit(
                r"  - from: working
    to: resuming
    trigger: spawn_failed
    set: { spawn_failures: increment }
    hooks: *let_go
",
                "",
            )],
            found(
                FindingCode::StartUnanswered,
                "when `acquire_workspace` fails, the transition from `resuming` to `working` leaves the task in `working` with nobody at it",
            ),
        ),
        mutant(
            "spawn_failed gone",
            vec![
                edit(
                    r"  - from: [planning, clarification]
    to: pending
    trigger: spawn_failed
    set: { spawn_failures: increment }
    hooks: &let_go
      - action: kill_session
      - action: release_workspace
",
                    "",
                ),
                edit(
                    r"    hooks: *let_go

  # Delegation",
                    r"    hooks: &let_go
      - action: kill_session
      - action: release_workspace

  # Delegation",
                ),
            ],
            found(
                FindingCode::HookWithoutWorkspace,
                "when `acquire_workspace` fails on the way into `clarification`, the task stays there without a workspace, and later the transition from `working` to `agent-review` runs `spawn_reviewer` where no workspace is held",
            ),
        ),
        mutant(
            "anybody requests changes",
            vec![edit(
                r"  - from: reviewing
    to: working
    by: human
    set: { review_round: 0, clarifications: 0, delegations: 0 }
",
                r"  - from: reviewing
    to: working
    set: { review_round: 0, clarifications: 0, delegations: 0 }
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `agent-review` → `working` → `agent-review` → `reviewing` → `working` → `agent-review` needs no person",
            ),
        ),
        mutant(
            "stuck is left by anybody",
            vec![edit(
                r"  - from: stuck
    to: working
    by: human
    set: { review_round: 0, clarifications: 0, delegations: 0 }
",
                r"  - from: stuck
    to: working
    set: { review_round: 0, clarifications: 0, delegations: 0 }
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `working` → `stuck` → `working` needs no person",
            ),
        ),
        mutant(
            "the worker cancels",
            vec![edit(
                r#"  - from: "*active"
    to: cancelled
    by: human
"#,
                r#"  - from: "*active"
    to: cancelled
    by: [human, worker]
"#,
            )],
            found(
                FindingCode::AgentMayFinish,
                "the transition from `clarification` to `cancelled` lets the worker end the task by asking for it",
            ),
        ),
        mutant(
            "crash asked first",
            vec![edit(
                r"    - status: working
      has_artifact: handoff
      then: agent-review
    - status: working
      no_artifact: true
      action: crash
      stuck_after: max_crashes
      then: stuck
",
                r"    - status: working
      no_artifact: true
      action: crash
      stuck_after: max_crashes
      then: stuck
    - status: working
      has_artifact: handoff
      then: agent-review
",
            )],
            found(
                FindingCode::ExitRuleDead,
                "this exit rule of `working` is never asked: the one in line",
            ),
        ),
        mutant(
            "pass leads to working",
            vec![edit(
                r"      has_artifact: review_pass
      then: reviewing
",
                r"      has_artifact: review_pass
      then: working
",
            )],
            found(
                FindingCode::ExitRuleDead,
                "this exit rule of `agent-review` never leads to `working`",
            ),
        ),
        mutant(
            "respawned for ever",
            vec![edit(
                r"      no_artifact: true
      action: crash
      stuck_after: max_crashes
      then: stuck
      on_crash: respawn
      backoff: 10s
",
                r"      no_artifact: true
      action: crash
      on_crash: respawn
      backoff: 10s
",
            )],
            found(
                FindingCode::EndlessLoop,
                "in `agent-review` an agent is started again and again, and nothing ends it",
            ),
        ),
        mutant(
            "clarification death unspoken",
            vec![edit(
                r"    - status: clarification
      action: mark_dead
",
                "",
            )],
            found(
                FindingCode::ExitRuleMissing,
                "`clarification` expects the worker, and no exit rule says what its death means",
            ),
        ),
        mutant(
            "request-changes verb",
            vec![edit(
                "  request-changes: working",
                "  request-changes: resuming",
            )],
            found(
                FindingCode::VerbLeadsNowhere,
                "the verb `request-changes` leads to `resuming`, and no human state has a transition to it that can be asked for",
            ),
        ),
        mutant(
            "prompt typo",
            vec![edit(
                r"    5. Run: orange task update --status working

    Then, the work",
                r"    5. Run: orange task update --status woking

    Then, the work",
            )],
            found(
                FindingCode::PromptStatusClosed,
                "prompt `worker` says to ask for `woking`, which is no state",
            ),
        ),
        mutant(
            "person prompt closed",
            vec![edit(
                "orange task update {id} --status reviewing, or",
                "orange task update {id} --status pending, or",
            )],
            found(
                FindingCode::PromptStatusClosed,
                "prompt `stuck` tells the human to ask for `pending`, which is never open to it",
            ),
        ),
        mutant(
            "reviewer writes elsewhere",
            vec![edit(
                "    4. Write `## Review` into TASK.md.",
                "    4. Write `## Verdict` into TASK.md.",
            )],
            found(
                FindingCode::SectionUnmentioned,
                "the reviewer needs `## Review` to ask for `reviewing`, and no prompt of its tells it so",
            ),
        ),
        mutant(
            "review section renamed",
            vec![edit_all(
                2,
                r###"    section: "## Review"
"###,
                r###"    section: "## Judgement"
"###,
            )],
            found(
                FindingCode::SectionUnmentioned,
                "the reviewer needs `## Judgement` to ask for `reviewing`, and no prompt of its tells it so",
            ),
        ),
        mutant(
            "timeout without a way",
            vec![edit(
                r"  reviewing:
    kind: human
    expects: []
    respawn",
                r"  reviewing:
    kind: human
    timeout: { after: 1d, then: stuck }
    expects: []
    respawn",
            )],
            refused(ProblemCode::StateUnknown),
        ),
        mutant(
            "tests before the workspace",
            vec![edit(
                r"  - from: pending
    to: planning
    by: human
",
                r"  - from: pending
    to: planning
    by: human
    gate: { command: [cargo, test] }
",
            )],
            found(
                FindingCode::GateWithoutWorkspace,
                "the transition from `pending` to `planning` asks a command, and no workspace is held to run it in",
            ),
        ),
        mutant(
            "a limit nobody names",
            vec![edit(
                "  max_crashes: 2 ",
                r"  max_naps: 2
  max_crashes: 2 ",
            )],
            found(FindingCode::Unused, "limit `max_naps` is not used"),
        ),
    ]
}
