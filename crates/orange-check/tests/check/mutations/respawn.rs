//! Deliberate mistakes in `respawn`, each with what it must lead to.

use orange_check::check::FindingCode;
use orange_engine::language::ProblemCode;

use super::{Mutant, edit, edit_all, found, mutant, refused};

pub fn rows() -> Vec<Mutant> {
    vec![
        mutant(
            "fix without workspace",
            vec![edit(
                r"hooks: &start_fix
      - action: kill_session
      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
      - { action: spawn_agent, prompt: worker_fix, harness: task, permissions: full }
",
                r"hooks: &start_fix
      - action: kill_session
      # Held already, unless the task began in review and found none.
      - { action: spawn_agent, prompt: worker_fix, harness: task, permissions: full }
",
            )],
            found(
                FindingCode::HookWithoutWorkspace,
                "when `acquire_workspace` fails on the way into `agent-review`, the task stays there without a workspace, and later the transition from `agent-review` to `working` runs `spawn_agent` where no workspace is held",
            ),
        ),
        mutant(
            "fix by nobody",
            vec![edit(
                r"hooks: &start_fix
      - action: kill_session
      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
      - { action: spawn_agent, prompt: worker_fix, harness: task, permissions: full }
",
                r"hooks: &start_fix
      - action: kill_session
      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
",
            )],
            found(
                FindingCode::AgentAbsent,
                "the transition from `agent-review` to `working` enters `working`, which expects the worker, and none is there",
            ),
        ),
        mutant(
            "fix by a reviewer",
            vec![edit(
                r"hooks: &start_fix
      - action: kill_session
      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
      - { action: spawn_agent, prompt: worker_fix, harness: task, permissions: full }
",
                r"hooks: &start_fix
      - action: kill_session
      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
      - { action: spawn_agent, prompt: worker_fix, harness: review, permissions: full }
",
            )],
            found(
                FindingCode::AgentAbsent,
                "the transition from `agent-review` to `working` enters `working`, which expects the worker, and none is there",
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
                "an old `## Handoff` leads from `working` to `agent-review` in a later round",
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
            "pass from anybody old",
            vec![edit(
                r"    verdict: PASS
    from_role: [reviewer, human]
    fresh: true
",
                r"    verdict: PASS
",
            )],
            found(
                FindingCode::JudgesItself,
                "the worker can write the PASS that leads from `agent-review` to `reviewing` itself",
            ),
        ),
        mutant(
            "crash edge of working gone",
            vec![edit(
                r"  - from: working
    to: stuck
    trigger: crash
    hooks:
      - action: kill_session
",
                "",
            )],
            found(
                FindingCode::ExitTargetMissing,
                "the exit rule of `working` leads to `stuck`, and no transition lets the engine go there",
            ),
        ),
        mutant(
            "crash edge of review gone",
            vec![edit(
                r"  - from: agent-review
    to: stuck
    trigger: crash
    hooks:
      - action: kill_session
",
                "",
            )],
            found(
                FindingCode::ExitRefused,
                "the reviewer crashes 2 times in `agent-review`, the exit rule leads to `stuck`, and the transition is refused",
            ),
        ),
        mutant(
            "crash edge retargeted",
            vec![edit(
                r"  - from: agent-review
    to: stuck
    trigger: crash
    hooks:
      - action: kill_session
",
                r"  - from: agent-review
    to: reviewing
    trigger: crash
    hooks:
      - action: kill_session
",
            )],
            found(
                FindingCode::ExitRefused,
                "the reviewer crashes 2 times in `agent-review`, the exit rule leads to `stuck`, and the transition is refused",
            ),
        ),
        mutant(
            "crash rule retargeted",
            vec![edit(
                r"      stuck_after: max_crashes
      then: stuck
      on_crash",
                r"      stuck_after: max_crashes
      then: working
      on_crash",
            )],
            found(
                FindingCode::ExitRefused,
                "the reviewer crashes 2 times in `agent-review`, the exit rule leads to `working`, and the transition is refused",
            ),
        ),
        mutant(
            "stuck fix beside",
            vec![edit(
                r"    set: { review_round: 0, clarifications: 0 }
    hooks:
      - action: kill_session
      - action: acquire_workspace
      - { action: spawn_agent, prompt: stuck_fix",
                r"    set: { review_round: 0, clarifications: 0 }
    hooks:
      - action: acquire_workspace
      - { action: spawn_agent, prompt: stuck_fix",
            )],
            found(
                FindingCode::AgentDoubled,
                "the transition from `stuck` to `working` starts a second worker beside one that is alive",
            ),
        ),
        mutant(
            "reviewing keeps round",
            vec![edit(
                r"    set: { review_round: 0, clarifications: 0 }
    hooks: *start_fix",
                r"    set: { clarifications: 0 }
    hooks: *start_fix",
            )],
            found(
                FindingCode::LimitExceeded,
                "the transition from `working` to `agent-review` counts `review_round` beyond its limit of 2",
            ),
        ),
        mutant(
            "stuck keeps round",
            vec![edit(
                r"    gates: [handoff, committed]
    set: { review_round: 0, clarifications: 0 }
",
                r"    gates: [handoff, committed]
    set: { clarifications: 0 }
",
            )],
            found(
                FindingCode::LimitExceeded,
                "the transition from `stuck` to `agent-review` counts `review_round` beyond its limit of 2",
            ),
        ),
        mutant(
            "clarification uncounted",
            vec![edit(
                r"    when: clarifications < max_clarifications
    set: { clarifications: increment }
",
                r"    when: clarifications < max_clarifications
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `clarification` → `working` → `clarification` needs no person",
            ),
        ),
        mutant(
            "clarification by all",
            vec![edit(
                r"    by: worker
    when: clarifications < max_clarifications
    set: { clarifications: increment }
",
                r"    by: worker
",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `clarification` → `working` → `clarification` needs no person",
            ),
        ),
        mutant(
            "rounds uncounted",
            vec![edit(
                "permissions: reduced, increment: review_round }",
                "permissions: reduced }",
            )],
            found(
                FindingCode::EndlessLoop,
                "the cycle `agent-review` → `working` → `agent-review` needs no person",
            ),
        ),
        mutant(
            "entry guard",
            vec![edit(
                r"    when: summary_chars == 0
    hooks:
      - action",
                r"    when: summary_chars > 0 and summary_chars < 0
    hooks:
      - action",
            )],
            found(
                FindingCode::EntryDead,
                "no task can begin in `clarification`: its `when` never holds at the beginning",
            ),
        ),
        mutant(
            "ambiguous",
            vec![edit(
                r"    by: engine
    when: summary_chars > 0 and spawn_failures",
                "    when: summary_chars > 0 and spawn_failures",
            )],
            refused(ProblemCode::TransitionAmbiguous),
        ),
        mutant(
            "round guard",
            vec![edit(
                r"    when: review_round >= max_review_rounds
",
                r"    when: review_round > max_review_rounds
",
            )],
            found(
                FindingCode::ExitRefused,
                "the reviewer dies in `agent-review`, the exit rule leads to `stuck`, and the transition is refused",
            ),
        ),
        mutant(
            "then_when",
            vec![edit(
                r"        - when: review_round < max_review_rounds
          then: working
",
                r"        - when: review_round <= max_review_rounds
          then: working
",
            )],
            found(
                FindingCode::ExitRefused,
                "the reviewer dies in `agent-review`, the exit rule leads to `working`, and the transition is refused",
            ),
        ),
        mutant(
            "role of exit",
            vec![edit(
                r"    - status: stuck
      role: worker
",
                r"    - status: stuck
      role: reviewer
",
            )],
            found(
                FindingCode::ExitRuleDead,
                "this exit rule of `stuck` is never asked: no reviewer is ever alive there",
            ),
        ),
        mutant(
            "prompt of reviewer",
            vec![edit(
                r"       - PASS: orange task update --status reviewing
",
                r"       - PASS: orange task update --status done
",
            )],
            found(
                FindingCode::PromptStatusClosed,
                "prompt `reviewer` tells the reviewer to ask for `done`, which is never open to it",
            ),
        ),
        mutant(
            "reviewer told nothing",
            vec![edit(
                "    4. Write `## Review` into TASK.md. Its first line is exactly",
                "    4. Say",
            )],
            found(
                FindingCode::SectionUnmentioned,
                "the reviewer needs `## Review` to ask for `reviewing`, and no prompt of its tells it so",
            ),
        ),
        mutant(
            "unused field",
            vec![edit(
                r"gates:
",
                r"fields: { naps: 0 }

gates:
",
            )],
            found(FindingCode::Unused, "field `naps` is not used"),
        ),
        mutant(
            "role unknown",
            vec![edit_all(
                2,
                r"    from_role: [reviewer, human]
",
                r"    from_role: [critic, human]
",
            )],
            refused(ProblemCode::RoleUnknown),
        ),
    ]
}
