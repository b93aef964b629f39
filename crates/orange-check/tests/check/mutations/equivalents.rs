//! Changes that are harmless in truth, each with the reason.

use super::{Harmless, edit, harmless};

pub fn rows() -> Vec<Harmless> {
    vec![
        harmless(
            "respawn",
            "a confirmation is a person's: an agent's yes answers nothing",
            vec![edit(
                r"    by: human
    confirm: Not reviewed. Force merge?
",
                r"    by: [human, worker]
    confirm: Not reviewed. Force merge?
",
            )],
        ),
        harmless(
            "default",
            "a confirmation is a person's: an agent's yes answers nothing",
            vec![edit(
                r"    to: done
    trigger: merged
    by: human
    confirm: Not reviewed. Force merge?
",
                r"    to: done
    trigger: merged
    confirm: Not reviewed. Force merge?
",
            )],
        ),
        harmless(
            "default",
            "the old review is set aside on every way in, and a pass must come from the judge",
            vec![edit(
                r"    verdict: PASS
    from_role: [reviewer, human]
    fresh: true
",
                r"    verdict: PASS
    from_role: [reviewer, human]
",
            )],
        ),
        harmless(
            "default",
            "a worker that fails itself only works more",
            vec![edit(
                r"    verdict: FAIL
    from_role: [reviewer, human]
    fresh: true
",
                r"    verdict: FAIL
    fresh: true
",
            )],
        ),
        harmless(
            "default",
            "the pass itself must still come from the judge",
            vec![edit(
                r"    to: reviewing
    by: [reviewer, human, engine]
    gate: review_pass
    hooks:
      - action: kill_reviewer
",
                r"    to: reviewing
    gate: review_pass
    hooks:
      - action: kill_reviewer
",
            )],
        ),
        harmless(
            "default",
            "the way from `reviewing` to `working` sets it to zero",
            vec![edit(
                r"  - from: stuck
    to: reviewing
    by: human
    gate: committed
    set: { review_round: 0, clarifications: 0, delegations: 0 }
",
                r"  - from: stuck
    to: reviewing
    by: human
    gate: committed
",
            )],
        ),
        harmless(
            "default",
            "one more round, counted all the same",
            vec![edit(
                r"prompt: reviewer, increment: review_round }
  reviewing",
                r"prompt: reviewer }
  reviewing",
            )],
        ),
        harmless(
            "minimal",
            "a death that no rule matches is shown to the person, as `mark` does",
            vec![edit(
                r"    - status: working
      no_artifact: true
      action: crash
      on_crash: mark
",
                "",
            )],
        ),
        harmless(
            "minimal",
            "the person sees the death and moves the task on",
            vec![edit(
                r"    - status: working
      has_artifact: handoff
      then: reviewing
",
                "",
            )],
        ),
        harmless(
            "minimal",
            "nobody but a person is there to ask in `reviewing`",
            vec![edit(
                r"  - from: reviewing
    to: working
    by: human
",
                r"  - from: reviewing
    to: working
",
            )],
        ),
        harmless(
            "minimal",
            "an entry less",
            vec![edit(
                r"  reviewing:
    hooks:
      - action: acquire_workspace

",
                r"
",
            )],
        ),
        harmless(
            "minimal",
            "the transition of every active state does the same, and asks first",
            vec![
                edit(
                    r"  - from: reviewing
    to: done
    trigger: merged
    by: human
    gates: [committed, task_file_untracked]
    hooks: &wrap_up
      - action: kill_session
      - action: release_workspace
      - action: delete_remote_branch
      - action: spawn_next
",
                    "",
                ),
                edit(
                    r"    gates: [committed, task_file_untracked]
    hooks: *wrap_up",
                    r"    gates: [committed, task_file_untracked]
    hooks: &wrap_up
      - action: kill_session
      - action: release_workspace
      - action: delete_remote_branch
      - action: spawn_next",
                ),
            ],
        ),
        harmless(
            "respawn",
            "whatever starts another worker ends the first",
            vec![edit(
                r"    gates: [handoff, committed]
    hooks:
      - action: kill_session
      - &archive",
                r"    gates: [handoff, committed]
    hooks:
      - &archive",
            )],
        ),
        harmless(
            "respawn",
            "the reviewer is ended when the fix is handed over",
            vec![edit(
                r"hooks: &start_fix
      - action: kill_session
      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
      - { action: spawn_agent, prompt: worker_fix, harness: task, permissions: full }
",
                r"hooks: &start_fix
      # Held already, unless the task began in review and found none.
      - action: acquire_workspace
      - { action: spawn_agent, prompt: worker_fix, harness: task, permissions: full }
",
            )],
        ),
        harmless(
            "respawn",
            "every way out of `reviewing` ends the reviewer",
            vec![edit(
                r"    gate: review_pass
    hooks:
      - action: kill_session
",
                r"    gate: review_pass
",
            )],
        ),
        harmless(
            "respawn",
            "every way out of `stuck` ends the worker",
            vec![edit(
                r"    by: [worker, human]
    hooks:
      - action: kill_session
",
                r"    by: [worker, human]
",
            )],
        ),
        harmless(
            "autopilot",
            "the transition to `blocked` above it takes the last attempt",
            vec![edit(
                r"    when: attempts < max_attempts
    gate: is_unfinished
",
                r"    gate: is_unfinished
",
            )],
        ),
        harmless(
            "autopilot",
            "the exit rule leads to `blocked` at the last attempt",
            vec![edit(
                r"    trigger: exit
    when: attempts < max_attempts
    set",
                r"    trigger: exit
    set",
            )],
        ),
        harmless(
            "autopilot",
            "the person may look at it, and every way out gives it back",
            vec![edit(
                r"    gate: needs_person
    hooks: *let_go
",
                r"    gate: needs_person
    hooks: [kill_session]
",
            )],
        ),
        harmless(
            "autopilot",
            "a person gets one attempt instead of five",
            vec![edit(
                r"    to: new
    by: human
    set: { attempts: 1 }
",
                r"    to: new
    by: human
",
            )],
        ),
    ]
}
