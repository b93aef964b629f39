//! Deliberate mistakes in `minimal`, each with what it must lead to.

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
                "the transition from `working` to `cancelled` reaches `cancelled` with the worker still alive",
            ),
        ),
        mutant(
            "letting go keeps the workspace",
            vec![edit(
                r"hooks: &let_go
      - action: kill_session
      - action: release_workspace
",
                r"hooks: &let_go
      - action: kill_session
",
            )],
            found(
                FindingCode::WorkspaceLeaked,
                "the transition from `pending` to `cancelled` reaches `cancelled` with a workspace still bound",
            ),
        ),
        mutant(
            "wrapping up keeps the workspace",
            vec![edit(
                r"hooks: &wrap_up
      - action: kill_session
      - action: release_workspace
",
                r"hooks: &wrap_up
      - action: kill_session
",
            )],
            found(
                FindingCode::WorkspaceLeaked,
                "the transition from `reviewing` to `done` reaches `done` with a workspace still bound",
            ),
        ),
        mutant(
            "wrapping up ends nobody",
            vec![edit(
                r"hooks: &wrap_up
      - action: kill_session
      - action: release_workspace
",
                r"hooks: &wrap_up
      - action: release_workspace
",
            )],
            found(
                FindingCode::AgentLeaked,
                "the transition from `working` to `done` reaches `done` with the worker still alive",
            ),
        ),
        mutant(
            "release after a hook that may fail",
            vec![edit(
                r"hooks: &wrap_up
      - action: kill_session
      - action: release_workspace
",
                r"hooks: &wrap_up
      - action: kill_session
      - { action: run_command, command: [make, clean] }
      - action: release_workspace
",
            )],
            found(
                FindingCode::FailureKeepsHold,
                "when `run_command` fails, the transition from `reviewing` to `done` lets go of nothing",
            ),
        ),
        mutant(
            "release before kill",
            vec![edit(
                r"hooks: &wrap_up
      - action: kill_session
      - action: release_workspace
",
                r"hooks: &wrap_up
      - action: release_workspace
      - action: kill_session
",
            )],
            found(
                FindingCode::AgentEvicted,
                "the transition from `working` to `done` gives the workspace back while the worker is alive in it",
            ),
        ),
        mutant(
            "handoff ends nobody",
            vec![edit(
                r"    gates: [handoff, committed]
    hooks:
      - action: kill_session
",
                r"    gates: [handoff, committed]
",
            )],
            found(
                FindingCode::AgentDoubled,
                "the transition from `reviewing` to `working` starts a second worker beside one that is alive",
            ),
        ),
        mutant(
            "an old handoff",
            vec![edit(
                r"    required: true
    fresh: true
",
                r"    required: true
",
            )],
            found(
                FindingCode::StaleArtifact,
                "an old `## Handoff` leads from `working` to `reviewing` in a later round",
            ),
        ),
        mutant(
            "handoff renamed",
            vec![edit(
                r###"    section: "## Handoff"
"###,
                r###"    section: "## Handover"
"###,
            )],
            found(
                FindingCode::SectionUnmentioned,
                "the worker needs `## Handover` to ask for `reviewing`, and no prompt of its tells it so",
            ),
        ),
        mutant(
            "spawn_failed gone",
            vec![
                edit(
                    r"  - from: working
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
                    r"    to: cancelled
    by: human
    hooks: *let_go
",
                    r"    to: cancelled
    by: human
    hooks: &let_go
      - action: kill_session
      - action: release_workspace
",
                ),
            ],
            found(
                FindingCode::StartUnanswered,
                "when `acquire_workspace` fails, the transition from `pending` to `working` leaves the task in `working` with nobody at it",
            ),
        ),
        mutant(
            "uncounted",
            vec![edit(
                r"    set: { spawn_failures: increment }
",
                "",
            )],
            found(
                FindingCode::EndlessLoop,
                "from `pending` a start is tried again and again while `acquire_workspace` fails",
            ),
        ),
        mutant(
            "no guard",
            vec![edit(
                r"    when: spawn_failures < max_spawn_failures
",
                "",
            )],
            found(
                FindingCode::EndlessLoop,
                "from `pending` a start is tried again and again while `acquire_workspace` fails",
            ),
        ),
        mutant(
            "failures never forgiven",
            vec![edit(
                r"    set: { spawn_failures: 0 }
",
                "",
            )],
            found(
                FindingCode::LimitExceeded,
                "the transition from `working` to `pending` counts `spawn_failures` beyond its limit of 3",
            ),
        ),
        mutant(
            "guard inverted",
            vec![edit(
                r"    when: spawn_failures < max_spawn_failures
",
                r"    when: spawn_failures > max_spawn_failures
",
            )],
            found(
                FindingCode::EdgeDead,
                "the transition from `pending` to `working` can never be taken",
            ),
        ),
        mutant(
            "respawn gone",
            vec![edit(
                r"    respawn:
      worker: { prompt: worker_respawn }
",
                "",
            )],
            found(
                FindingCode::RespawnMissing,
                "`working` expects the worker and does not say how to bring it back",
            ),
        ),
        mutant(
            "both rules gone",
            vec![
                edit(
                    r"    - status: working
      has_artifact: handoff
      then: reviewing
",
                    "",
                ),
                edit(
                    r"    - status: working
      no_artifact: true
      action: crash
      on_crash: mark
",
                    "",
                ),
            ],
            found(
                FindingCode::ExitRuleMissing,
                "`working` expects the worker, and no exit rule says what its death means",
            ),
        ),
        mutant(
            "rule retargeted",
            vec![edit(
                r"      has_artifact: handoff
      then: reviewing
",
                r"      has_artifact: handoff
      then: done
",
            )],
            found(
                FindingCode::ExitTargetMissing,
                "the exit rule of `working` leads to `done`, and no transition lets the engine go there",
            ),
        ),
        mutant(
            "rule retargeted to pending",
            vec![edit(
                r"      has_artifact: handoff
      then: reviewing
",
                r"      has_artifact: handoff
      then: pending
",
            )],
            found(
                FindingCode::ExitTargetMissing,
                "the exit rule of `working` leads to `pending`, and no transition lets the engine go there",
            ),
        ),
        mutant(
            "crashes counted to nowhere",
            vec![edit(
                r"      action: crash
      on_crash: mark
",
                r"      action: crash
      stuck_after: 2
",
            )],
            found(
                FindingCode::ExitTargetMissing,
                "the exit rule of `working` counts crashes up to 2, and there is no state for what comes then",
            ),
        ),
        mutant(
            "crash respawns",
            vec![edit(
                r"      action: crash
      on_crash: mark
",
                r"      action: crash
      on_crash: respawn
",
            )],
            found(
                FindingCode::EndlessLoop,
                "in `working` an agent is started again and again, and nothing ends it",
            ),
        ),
        mutant(
            "changes acquire nothing",
            vec![edit(
                r"      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
",
                "",
            )],
            found(
                FindingCode::HookWithoutWorkspace,
                "when `acquire_workspace` fails on the way into `reviewing`, the task stays there without a workspace, and later the transition from `reviewing` to `working` runs `spawn_agent` where no workspace is held",
            ),
        ),
        mutant(
            "changes start nobody",
            vec![edit(
                r"      - { action: spawn_agent, prompt: worker_changes, harness: task, permissions: full }
",
                "",
            )],
            found(
                FindingCode::AgentAbsent,
                "the transition from `reviewing` to `working` enters `working`, which expects the worker, and none is there",
            ),
        ),
        mutant(
            "worker to done",
            vec![edit(
                r"    by: [worker, human, engine]
    gates: [handoff, committed]
    hooks:
      - action: kill_session
",
                r"    by: [worker, human, engine]
    gates: [handoff, committed]
    hooks:
      - action: kill_session
  - from: working
    to: done
    by: worker
    gates: [handoff, committed]
    hooks: [kill_session, release_workspace]
",
            )],
            found(
                FindingCode::AgentMayFinish,
                "the transition from `working` to `done` lets the worker end the task by asking for it",
            ),
        ),
        mutant(
            "handoff edge retargeted",
            vec![edit(
                r"  - from: working
    to: reviewing
    by: [worker, human, engine]
",
                r"  - from: working
    to: pending
    by: [worker, human, engine]
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `pending` → `working` → `pending` needs no person",
            ),
        ),
        mutant(
            "verb complete",
            vec![edit("  complete: reviewing", "  complete: done")],
            found(
                FindingCode::VerbLeadsNowhere,
                "the verb `complete` leads to `done`, and no transition to it can be asked for",
            ),
        ),
        mutant(
            "prompt asks done",
            vec![edit(
                r"    3. Run: orange task update --status reviewing

    Do not push.

  worker_changes",
                r"    3. Run: orange task update --status done

    Do not push.

  worker_changes",
            )],
            found(
                FindingCode::PromptStatusClosed,
                "prompt `worker_respawn` tells the worker to ask for `done`, which is never open to it",
            ),
        ),
        mutant(
            "reviewing expects",
            vec![edit(
                r"  reviewing:
    kind: human
    expects: []
",
                r"  reviewing:
    kind: human
    expects: [worker]
",
            )],
            found(
                FindingCode::ExitRuleMissing,
                "`reviewing` expects the worker, and no exit rule says what its death means",
            ),
        ),
        mutant(
            "unknown prompt",
            vec![edit("prompt: worker_changes,", "prompt: worker_change,")],
            refused(ProblemCode::PromptUnknown),
        ),
        mutant(
            "unknown gate",
            vec![edit(
                r"    gates: [handoff, committed]
",
                r"    gate: handof
",
            )],
            refused(ProblemCode::GateUnknown),
        ),
        mutant(
            "nothing is an end",
            vec![edit_all(
                2,
                r"    kind: terminal
",
                r"    kind: human
",
            )],
            refused(ProblemCode::MissingKey),
        ),
        mutant(
            "unused prompt",
            vec![edit("prompt: worker_changes,", "prompt: worker,")],
            found(FindingCode::Unused, "prompt `worker_changes` is not used"),
        ),
        mutant(
            "timeout",
            vec![edit(
                r"    expects: [worker]
    respawn",
                r"    timeout: { after: 2h, then: reviewing }
    expects: [worker]
    respawn",
            )],
            refused(ProblemCode::StateUnknown),
        ),
        mutant(
            "timeout kills nobody",
            vec![
                edit(
                    r"    expects: [worker]
    respawn",
                    r"    timeout: { after: 2h, then: cancelled }
    expects: [worker]
    respawn",
                ),
                edit(
                    r"  - from: pending
    to: cancelled
    by: human
",
                    r"  - from: pending
    to: cancelled
    by: human
  - { from: working, to: cancelled, trigger: timeout }
",
                ),
            ],
            found(
                FindingCode::WorkspaceLeaked,
                "the transition from `working` to `cancelled` reaches `cancelled` with a workspace still bound",
            ),
        ),
    ]
}
