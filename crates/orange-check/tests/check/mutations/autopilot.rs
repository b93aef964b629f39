//! Deliberate mistakes in `autopilot`, each with what it must lead to.

use orange_check::check::FindingCode;
use orange_engine::language::ProblemCode;

use super::{Mutant, edit, found, mutant, refused};

pub fn rows() -> Vec<Mutant> {
    vec![
        mutant(
            "vanished run not counted",
            vec![edit(
                r"    trigger: exit
    when: attempts < max_attempts
    set: { attempts: increment }
",
                r"    trigger: exit
    when: attempts < max_attempts
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `new` → `routed` → `in_progress` → `new` needs no person",
            ),
        ),
        mutant(
            "unfinished not counted",
            vec![edit(
                r"    gate: is_unfinished
    set: { attempts: increment }
",
                r"    gate: is_unfinished
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `new` → `routed` → `in_progress` → `new` needs no person",
            ),
        ),
        mutant(
            "failed start not counted",
            vec![edit(
                r"    trigger: spawn_failed
    when: attempts < max_attempts
    set: { attempts: increment }
",
                r"    trigger: spawn_failed
    when: attempts < max_attempts
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `new` → `routed` → `new` needs no person",
            ),
        ),
        mutant(
            "children not counted",
            vec![edit(
                r"    trigger: children_done
    when: attempts < max_attempts
    set: { attempts: increment }
",
                r"    trigger: children_done
    when: attempts < max_attempts
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `new` → `routed` → `in_progress` → `delegated` → `new` needs no person",
            ),
        ),
        mutant(
            "spawn_failed unbounded",
            vec![edit(
                r"    trigger: spawn_failed
    when: attempts < max_attempts
    set",
                r"    trigger: spawn_failed
    set",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `new` → `routed` → `new` needs no person",
            ),
        ),
        mutant(
            "children unbounded",
            vec![edit(
                r"    trigger: children_done
    when: attempts < max_attempts
    set",
                r"    trigger: children_done
    set",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `new` → `routed` → `in_progress` → `delegated` → `new` needs no person",
            ),
        ),
        mutant(
            "interactive",
            vec![edit(
                "action: run_headless, prompt: attempt",
                "action: spawn_agent, prompt: attempt",
            )],
            found(
                FindingCode::EdgeDead,
                "the transition from `in_progress` to `delegated` on `report` can never be taken",
            ),
        ),
        mutant(
            "no workspace",
            vec![edit(
                r"      - { action: acquire_workspace, restore: true }
",
                "",
            )],
            found(
                FindingCode::HookWithoutWorkspace,
                "the transition from `routed` to `in_progress` runs `run_headless` where no workspace is held",
            ),
        ),
        mutant(
            "no run",
            vec![edit(
                r"      - { action: run_headless, prompt: attempt }
",
                "",
            )],
            found(
                FindingCode::AgentAbsent,
                "the transition from `routed` to `in_progress` enters `in_progress`, which expects the worker, and none is there",
            ),
        ),
        mutant(
            "let go alive",
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
                FindingCode::AgentDoubled,
                "the transition from `routed` to `in_progress` starts a second worker beside one that is alive",
            ),
        ),
        mutant(
            "let go holding",
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
                "the transition from `new` to `cancelled` reaches `cancelled` with a workspace still bound",
            ),
        ),
        mutant(
            "done holding",
            vec![edit(
                r"      # A remote that does not answer must not keep the workspace.
      - action: kill_session
      - action: release_workspace
      - { action: push_branch, on_error: continue }
",
                r"      # A remote that does not answer must not keep the workspace.
      - action: kill_session
      - { action: push_branch, on_error: continue }
",
            )],
            found(
                FindingCode::WorkspaceLeaked,
                "the transition from `in_progress` to `done` reaches `done` with a workspace still bound",
            ),
        ),
        mutant(
            "done pushes first",
            vec![edit(
                r"      # A remote that does not answer must not keep the workspace.
      - action: kill_session
      - action: release_workspace
      - { action: push_branch, on_error: continue }
",
                r"      - action: push_branch
      - action: kill_session
      - action: release_workspace
",
            )],
            found(
                FindingCode::FailureKeepsHold,
                "when `push_branch` fails, the transition from `in_progress` to `done` lets go of nothing",
            ),
        ),
        mutant(
            "done pushes between",
            vec![edit(
                r"      # A remote that does not answer must not keep the workspace.
      - action: kill_session
      - action: release_workspace
      - { action: push_branch, on_error: continue }
",
                r"      - action: kill_session
      - { action: push_branch }
      - action: release_workspace
",
            )],
            found(
                FindingCode::FailureKeepsHold,
                "when `push_branch` fails, the transition from `in_progress` to `done` lets go of nothing",
            ),
        ),
        mutant(
            "exit edge new gone",
            vec![edit(
                r"  - from: in_progress
    to: new
    trigger: exit
    when: attempts < max_attempts
    set: { attempts: increment }
    hooks: *let_go
",
                "",
            )],
            found(
                FindingCode::ExitTargetMissing,
                "the exit rule of `in_progress` leads to `new`, and no transition lets the engine go there",
            ),
        ),
        mutant(
            "exit edge blocked gone",
            vec![edit(
                r"  - from: in_progress
    to: blocked
    trigger: exit
    hooks: *let_go
",
                "",
            )],
            found(
                FindingCode::ExitTargetMissing,
                "the exit rule of `in_progress` leads to `blocked`, and no transition lets the engine go there",
            ),
        ),
        mutant(
            "children_done gone",
            vec![edit(
                r"  - from: delegated
    to: new
    trigger: children_done
    when: attempts < max_attempts
    set: { attempts: increment }
  - from: delegated
    to: needs_review
    trigger: children_done
    when: attempts >= max_attempts
",
                "",
            )],
            found(
                FindingCode::KindMismatch,
                "`delegated` is of the kind `waiting`, and nothing but a person leads on from there",
            ),
        ),
        mutant(
            "spawn_failed all gone",
            vec![edit(
                r"  - from: in_progress
    to: needs_review
    trigger: spawn_failed
    when: same_errors >= max_same_errors
    hooks: *let_go
  - from: in_progress
    to: new
    trigger: spawn_failed
    when: attempts < max_attempts
    set: { attempts: increment }
    hooks: *let_go
  - from: in_progress
    to: blocked
    trigger: spawn_failed
    hooks: *let_go
",
                "",
            )],
            found(
                FindingCode::StartUnanswered,
                "when `acquire_workspace` fails, the transition from `routed` to `in_progress` leaves the task in `in_progress` with nobody at it",
            ),
        ),
        mutant(
            "rule then_when swapped",
            vec![edit(
                r"        - when: same_errors >= max_same_errors
          then: needs_review
        - when: attempts >= max_attempts
          then: blocked
",
                r"        - when: attempts >= max_attempts
          then: blocked
",
            )],
            found(
                FindingCode::EdgeDead,
                "the transition from `in_progress` to `needs_review` on `exit` can never be taken",
            ),
        ),
        mutant(
            "rule guard",
            vec![edit(
                r"        - when: attempts >= max_attempts
          then: blocked
",
                r"        - when: attempts > max_attempts
          then: blocked
",
            )],
            found(
                FindingCode::ExitRefused,
                "the worker dies in `in_progress`, the exit rule leads to `new`, and the transition is refused",
            ),
        ),
        mutant(
            "rule gone",
            vec![edit(
                r"    - status: in_progress
      no_artifact: true
      then_when:
        - when: same_errors >= max_same_errors
          then: needs_review
        - when: attempts >= max_attempts
          then: blocked
        - else: new
",
                r"    []
",
            )],
            found(
                FindingCode::ExitRuleMissing,
                "`in_progress` expects the worker, and no exit rule says what its death means",
            ),
        ),
        mutant(
            "done by anybody",
            vec![edit(
                r"  - from: [blocked, needs_review]
    to: done
    by: human
",
                r"  - from: [in_progress, blocked, needs_review]
    to: done
",
            )],
            found(
                FindingCode::AgentMayFinish,
                "the transition from `in_progress` to `done` lets the worker end the task by asking for it",
            ),
        ),
        mutant(
            "retry by anybody",
            vec![edit(
                r"    to: new
    by: human
    set: { attempts: 1 }
",
                r"    to: new
    set: { attempts: 1 }
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `new` → `routed` → `new` needs no person",
            ),
        ),
        mutant(
            "retry keeps",
            vec![edit(
                r"    set: { attempts: 1 }
    hooks: *let_go
",
                r"    set: { attempts: 1 }
",
            )],
            found(
                FindingCode::AgentDoubled,
                "the transition from `routed` to `in_progress` starts a second worker beside one that is alive",
            ),
        ),
        mutant(
            "max attempts 0",
            vec![edit(
                r"  max_attempts: 5
",
                r"  max_attempts: 0
",
            )],
            found(
                FindingCode::LimitExceeded,
                "the transition from `blocked` to `new` counts `attempts` beyond its limit of 0",
            ),
        ),
        mutant(
            "done without commits",
            vec![edit(
                "    gate: [is_done, committed]\n",
                "    gate: is_done\n",
            )],
            found(FindingCode::Unused, "gate `committed` is not used"),
        ),
        mutant(
            "comments on an issue",
            vec![edit(
                "      - { action: push_branch, on_error: continue }\n",
                "      - { action: push_branch, on_error: continue }\n      - { action: comment_issue, message: done, on_error: continue }\n",
            )],
            found(
                FindingCode::NotAvailable,
                "`comment_issue` cannot be performed by this version of orange",
            ),
        ),
        mutant(
            "waits for a pull request",
            vec![edit(
                "  - from: [blocked, needs_review]\n    to: done\n    by: human\n",
                "  - from: [blocked, needs_review]\n    to: done\n    trigger: pr_merged\n",
            )],
            found(
                FindingCode::NotAvailable,
                "`trigger: pr_merged` never happens in this version of orange",
            ),
        ),
        mutant(
            "asks for a pull request",
            vec![edit(
                "  - from: [blocked, needs_review]\n    to: done\n    by: human\n",
                "  - from: [blocked, needs_review]\n    to: done\n    by: human\n    gate: { pr: { state: open } }\n",
            )],
            found(
                FindingCode::NotAvailable,
                "the gate `pr` never holds in this version of orange",
            ),
        ),
        mutant(
            "braces",
            vec![edit(
                "Attempt: {attempts} of {max_attempts}",
                "Attempt: {attempts} of {{max_attempts}}",
            )],
            found(
                FindingCode::VariableInBraces,
                "prompt `attempt` has `{{max_attempts}}`, which is not filled in",
            ),
        ),
        mutant(
            "variable",
            vec![edit("    # Task: {summary}", "    # Task: {sumary}")],
            refused(ProblemCode::VariableUnknown),
        ),
        mutant(
            "expects nobody",
            vec![edit(
                r"    kind: agent
    expects: [worker]
",
                r"    kind: agent
    expects: []
",
            )],
            found(
                FindingCode::ExitRuleDead,
                "this exit rule of `in_progress` is never asked: `in_progress` expects nobody, and the rule names no `role`",
            ),
        ),
        mutant(
            "respawn gone",
            vec![edit(
                r"    respawn:
      worker: { prompt: attempt, permissions: full }
",
                "",
            )],
            found(
                FindingCode::RespawnMissing,
                "`in_progress` expects the worker and does not say how to bring it back",
            ),
        ),
        mutant(
            "entry in_progress",
            vec![edit(
                r"entry: new
",
                r"entry: [new, in_progress]
",
            )],
            found(
                FindingCode::AgentAbsent,
                "the entry `in_progress` enters `in_progress`, which expects the worker, and none is there",
            ),
        ),
        mutant(
            "engine does not start",
            vec![edit(
                r"    to: in_progress
    by: [human, engine]
",
                r"    to: in_progress
    by: [reviewer]
",
            )],
            found(
                FindingCode::StateUnreachable,
                "no task ever comes into `in_progress`",
            ),
        ),
        mutant(
            "engine field",
            vec![edit(
                r"  - from: new
    to: routed
    by: [human, engine]
",
                r"  - from: new
    to: routed
    by: [human, engine]
    when: atempts > 0
",
            )],
            refused(ProblemCode::FieldUnknown),
        ),
    ]
}
