//! Changes of a workflow, and everything that is told of each.

use super::Replaced;

/// Which lines of the base were changed, and the sentences about it.
pub(crate) const DIFFERENT: &[(Replaced, &[&str])] = &[
    // States.
    (
        &[(
            "  dropped: { terminal: true }",
            "  dropped: { terminal: true }\n  parked: { kind: waiting, expects: qa }",
        )],
        &[
            "parked + a new state of kind waiting that expects the qa",
            "parked + a merged pull request now leads to `over`; then `kill_session`, `release_workspace`",
            "parked + the human may now ask for `dropped`; then `kill_session`, `release_workspace`",
        ],
    ),
    (
        &[("    kind: human", "    kind: waiting")],
        &["asked ~ is of kind waiting, was human"],
    ),
    (
        &[("    expects: [worker, qa]", "    expects: worker")],
        &[
            "busy ~ expects the worker, was the worker and the qa",
            "busy - when the qa ends: always: no longer a crash, brought back after 10s, after 3 to `dropped`",
        ],
    ),
    (
        &[(
            "      qa: { prompt: look }",
            "      qa: { prompt: look, permissions: full }",
        )],
        &["busy ~ the qa is brought back with permissions full, was reduced"],
    ),
    (
        &[(
            "      qa: { prompt: look }",
            "      reviewer: { prompt: look }",
        )],
        &[
            "busy + the reviewer can now be brought back (prompt `look`)",
            "busy - the qa can no longer be brought back",
        ],
    ),
    (
        &[(
            "      worker: { prompt: work }",
            "      worker: { prompt: look }",
        )],
        &["busy ~ the worker is brought back with prompt `look`, was `work`"],
    ),
    (
        &[("    expects: [worker, qa]", "    expects: [qa, worker]")],
        &["busy ~ brings back the qa, then the worker; was the worker, then the qa"],
    ),
    (
        &[("after: 2h", "after: 90m")],
        &["busy ~ times out after 90m to `asked`, was after 2h to `asked`"],
    ),
    (
        &[
            ("    timeout: { after: 2h, then: asked }\n", ""),
            ("  - from: busy\n    to: asked\n    trigger: timeout\n", ""),
        ],
        &[
            "busy - no longer times out",
            "busy - the timeout no longer leads to `asked`",
        ],
    ),
    // Who may ask.
    (
        &[("by: [worker, human, engine]", "by: [human, engine, qa]")],
        &[
            "busy - the worker may no longer ask for `asked`",
            "busy + the qa may now ask for `asked` if review_round <= 1, needs a line `DONE:` or `LEFT:` in `## Handoff`, a fresh `## Handoff` and `make test` to succeed within 10m; then count review_round up, `push_branch`, `create_pr`, `notify` (message \"{id} waits in round {review_round} of 2\")",
        ],
    ),
    (
        &[("    to: busy\n    by: [human, engine]\n", "    to: busy\n")],
        &[
            "open + the worker, the reviewer or the qa may now ask for `busy`; then `acquire_workspace`, `spawn_agent` of the worker (prompt `work`), `spawn_agent` of the qa (prompt `look`)",
        ],
    ),
    (
        &[(
            "  - from: asked\n    to: busy\n",
            "  - { from: open, to: over }\n  - from: asked\n    to: busy\n",
        )],
        &[
            "open + anyone may now ask for `over`",
            "open + anyone may now ask for a merge to `over`",
        ],
    ),
    (
        &[(
            "  - from: asked\n    to: \"@previous\"\n    by: worker\n",
            "",
        )],
        &["asked - the worker may no longer ask for `@previous`"],
    ),
    // What nobody asks for happens as far as the engine may.
    (
        &[(
            "    trigger: timeout\n",
            "    trigger: timeout\n    by: human\n",
        )],
        &["busy - the timeout no longer leads to `asked`"],
    ),
    (
        &[(
            "    trigger: report\n    gate",
            "    trigger: report\n    by: worker\n    gate",
        )],
        &["busy - a report no longer leads to `asked`"],
    ),
    // Guards.
    (
        &[
            ("max_rounds: 2", "max_rounds: 4"),
            ("of {max_rounds}\"", "of 2\""),
            ("at most {max_rounds}", "at most 2"),
        ],
        &[
            "busy + the human, the engine or the worker asking for `asked`: now also if review_round >= 2 and review_round <= 3",
            "busy ~ when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: to `asked` if review_round <= 3; was to `asked` if review_round <= 1",
        ],
    ),
    (
        &[("< max_rounds", "== 0")],
        &[
            "busy - the human, the engine or the worker asking for `asked`: no longer if review_round == 1",
            "busy ~ when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: to `asked` if review_round == 0; was to `asked` if review_round <= 1",
        ],
    ),
    (
        &[("review_round < max_rounds", "loops < 2")],
        &[
            "busy + the human, the engine or the worker asking for `asked`: now also if loops <= 1 and review_round >= 2",
            "busy - the human, the engine or the worker asking for `asked`: no longer if loops >= 2 and review_round <= 1",
            "busy ~ when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: to `asked` if loops <= 1; was to `asked` if review_round <= 1",
        ],
    ),
    (
        &[("    when: review_round < max_rounds\n", "")],
        &[
            "busy + the human, the engine or the worker asking for `asked`: now also if review_round >= 2",
            "busy ~ when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: to `asked`; was to `asked` if review_round <= 1",
        ],
    ),
    (
        &[(
            "  - from: busy\n    to: asked\n    trigger: timeout",
            "  - { from: busy, to: asked, by: human, when: review_round >= max_rounds, confirm: Too often? }\n  - from: busy\n    to: asked\n    trigger: timeout",
        )],
        &[
            "busy + the human asking for `asked`: now also if review_round >= 2, asks first: \"Too often?\"; then `notify` (message \"{id} waits in round {review_round} of 2\")",
        ],
    ),
    // Gates and confirmations.
    (
        &[("fields: [DONE, LEFT], fresh: true", "fields: [DONE]")],
        &[
            "busy ~ the human, the engine or the worker asking for `asked`: needs a line `DONE:` in `## Handoff`, was a line `DONE:` or `LEFT:` in `## Handoff`",
            "busy - the human, the engine or the worker asking for `asked`: no longer needs a fresh `## Handoff`",
            "busy ~ when the worker ends: to `asked` if review_round <= 1 with a line `DONE:` in `## Handoff`; was with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`",
        ],
    ),
    (
        &[("gates: [handoff, tests]", "gates: tests")],
        &[
            "busy - the human, the engine or the worker asking for `asked`: no longer needs a line `DONE:` or `LEFT:` in `## Handoff`",
            "busy - the human, the engine or the worker asking for `asked`: no longer needs a fresh `## Handoff`",
        ],
    ),
    (
        &[("timeout: 10m", "timeout: 1h")],
        &[
            "busy ~ the human, the engine or the worker asking for `asked`: needs `make test` to succeed within 1h, was `make test` to succeed within 10m",
        ],
    ),
    (
        &[
            ("verdict: PASS", "verdict: FAIL, verdict_mode: scan"),
            ("git: [clean, commits_ahead]", "git: [clean]"),
        ],
        &[
            "asked ~ the human asking for a merge to `over`: needs the verdict FAIL anywhere in `## Review`, was the verdict PASS in the first line of `## Review`",
            "asked - the human asking for a merge to `over`: no longer needs a commit of its own on the branch",
        ],
    ),
    (
        &[("is: done }", "is: [done, blocked] }")],
        &[
            "busy ~ a report, to `asked`: needs a report whose `outcome` is `blocked` or `done`, was a report whose `outcome` is `done`",
        ],
    ),
    (
        &[("    confirm: Really?\n", "")],
        &["asked - the human asking for a merge to `over`: no longer asks first"],
    ),
    (
        &[("confirm: Really?", "confirm: Sure?")],
        &["asked ~ the human asking for a merge to `over`: asks first: \"Sure?\", was \"Really?\""],
    ),
    // What happens.
    (
        &[(
            "    set: { review_round: increment }\n",
            "    set: { review_round: increment, loops: 5 }\n",
        )],
        &["busy + the human, the engine or the worker asking for `asked`: also sets loops to 5"],
    ),
    (
        &[(
            "    set: { review_round: increment }\n",
            "    set: { review_round: 1 }\n",
        )],
        &[
            "busy ~ the human, the engine or the worker asking for `asked`: sets review_round to 1 instead of: count review_round up",
        ],
    ),
    (
        &[(
            "    hooks: [push_branch, create_pr]",
            "    hooks: [create_pr, push_branch]",
        )],
        &[
            "busy ~ the human, the engine or the worker asking for `asked`: `push_branch` now comes after `create_pr`",
        ],
    ),
    (
        &[(
            "    hooks: [push_branch, create_pr]",
            "    hooks: [push_branch, { action: create_pr, timeout: 30s, on_error: continue }]",
        )],
        &[
            "busy ~ the human, the engine or the worker asking for `asked`: `create_pr` has timeout 30s, was not set",
            "busy ~ the human, the engine or the worker asking for `asked`: `create_pr` has on_error continue, was stop",
        ],
    ),
    (
        &[(
            "    on_enter:\n",
            "    on_enter:\n      - { action: run_command, command: [make, lint] }\n",
        )],
        &["asked + on every way in: also does `run_command` `make lint`"],
    ),
    (
        &[(
            "prompt: look, role: qa }",
            "prompt: work, role: qa, permissions: reduced }",
        )],
        &[
            "open ~ the human or the engine asking for `busy`: `spawn_agent` of the qa has prompt `work`, was `look`",
            "open ~ the human or the engine asking for `busy`: `spawn_agent` of the qa has permissions reduced, was full",
        ],
    ),
    (
        &[(
            "    hooks: &end [kill_session, release_workspace]",
            "    hooks: &end [kill_session, release_workspace, spawn_next]",
        )],
        &[
            "open + the human asking for `dropped`: also does `spawn_next`, after `release_workspace`",
            "busy + the human asking for `dropped`: also does `spawn_next`, after `release_workspace`",
            "asked + the human asking for `dropped`: also does `spawn_next`, after `release_workspace`",
            "over + on every way in: also does `spawn_next`",
        ],
    ),
    (
        &[(
            "message: \"Again: {message}\"",
            "message: \"Once more: {message}\"",
        )],
        &[
            "asked ~ the human asking for `busy`: `notify_worker` has message \"Once more: {message}\", was \"Again: {message}\"",
        ],
    ),
    // A merge: who asks for it, and what comes of it.
    (
        &[(
            "    trigger: merged\n    by: human\n",
            "    trigger: merged\n    by: [human, reviewer]\n",
        )],
        &[
            "asked + the reviewer may now ask for a merge to `over`, needs the verdict PASS in the first line of `## Review`, `## Review` brought by the human or the reviewer, a clean worktree and a commit of its own on the branch, asks first: \"Really?\"; then `kill_session`, `release_workspace`",
        ],
    ),
    (
        &[("    trigger: merged\n    by: human\n", "    by: human\n")],
        &[
            "asked + the human may now ask for `over`, needs the verdict PASS in the first line of `## Review`, `## Review` brought by the human or the reviewer, a clean worktree and a commit of its own on the branch, asks first: \"Really?\"; then `kill_session`, `release_workspace`",
            "asked - a merge made elsewhere no longer leads to `over`",
        ],
    ),
    // The order in which things are tried.
    (
        &[(
            "    trigger: report\n    gate: { report: outcome, is: done }\n  - from: busy\n    to: open\n    trigger: report\n    hooks: [kill_session, release_workspace]\n",
            "    trigger: spawn_failed\n    gate: { report: outcome, is: done }\n  - from: busy\n    to: open\n    trigger: report\n    hooks: [kill_session, release_workspace]\n",
        )],
        &[
            "busy + a failed start now leads to `asked`, needs a report whose `outcome` is `done`; then `notify` (message \"{id} waits in round {review_round} of 2\"); tried before `open`",
            "busy - a report no longer leads to `asked`",
        ],
    ),
    (
        &[(
            "    to: asked\n    trigger: report\n    gate: { report: outcome, is: done }\n  - from: busy\n    to: open\n    trigger: report\n    hooks: [kill_session, release_workspace]\n",
            "    to: open\n    trigger: report\n    hooks: [kill_session, release_workspace]\n  - from: busy\n    to: asked\n    trigger: report\n    gate: { report: outcome, is: done }\n",
        )],
        &["busy ~ after a report, `open` is now tried before `asked`"],
    ),
    (
        &[(
            "  open:\n  asked: { when: summary_chars == 0 }",
            "  asked: { when: summary_chars == 0 }\n  open:",
        )],
        &[
            "* ~ for the beginning of a task, `asked` is now tried before `open`",
            "* ~ the verb `retry` leads to `asked`; was nowhere",
            "* ~ the verb `unblock` leads to `asked`; was nowhere",
        ],
    ),
    // Exit rules.
    (
        &[
            (
                "has_artifact: handoff, then: asked",
                "has_artifact: handoff, then: dropped",
            ),
            (
                "  - from: busy\n    to: dropped\n    trigger: crash\n",
                "  - from: busy\n    to: dropped\n    trigger: crash\n  - { from: busy, to: dropped, trigger: exit }\n",
            ),
        ],
        &[
            "busy + the end of an agent now leads to `dropped`",
            "busy ~ when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: to `dropped`; was to `asked` if review_round <= 1",
        ],
    ),
    (
        &[
            ("max_crashes: 3", "max_crashes: 2"),
            ("backoff: 10s", "backoff: 0"),
        ],
        &[
            "busy ~ when the worker ends: otherwise: a crash, brought back, after 2 to `dropped`; was a crash, brought back after 10s, after 3 to `dropped`",
            "busy ~ when the qa ends: always: a crash, brought back, after 2 to `dropped`; was a crash, brought back after 10s, after 3 to `dropped`",
        ],
    ),
    (
        &[(
            "    - { status: asked, action: mark_dead }\n",
            "    - { status: asked, action: crash }\n",
        )],
        &["asked + when the worker ends: always: now a crash, left to a person"],
    ),
    (
        &[
            (
                "has_artifact: handoff, then: asked }",
                "has_artifact: handoff, then_when: [{ when: loops < 3, then: asked }, { else: dropped }] }",
            ),
            (
                "  - from: busy\n    to: dropped\n    trigger: crash\n",
                "  - from: busy\n    to: dropped\n    trigger: crash\n  - { from: busy, to: dropped, trigger: exit }\n",
            ),
        ],
        &[
            "busy + the end of an agent now leads to `dropped`",
            "busy ~ when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: to `asked` if loops <= 2 and review_round <= 1, to `dropped` if loops >= 3; was to `asked` if review_round <= 1",
        ],
    ),
    (
        &[
            (
                "    - { status: busy, role: worker, has_artifact",
                "    - { status: busy, role: worker, has_artifact: tidy, then: dropped }\n    - { status: busy, role: worker, has_artifact",
            ),
            (
                "  - from: busy\n    to: dropped\n    trigger: crash\n",
                "  - from: busy\n    to: dropped\n    trigger: crash\n  - { from: busy, to: dropped, trigger: exit }\n",
            ),
        ],
        &[
            "busy + the end of an agent now leads to `dropped`",
            "busy + when the worker ends: with a clean worktree and a commit of its own on the branch: now to `dropped`; asked before: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`",
        ],
    ),
    (
        &[(
            "  - from: busy\n    to: dropped\n    trigger: crash\n",
            "  - { from: busy, to: dropped, trigger: crash, hooks: [spawn_next] }\n",
        )],
        &["busy + one crash too many, to `dropped`: also does `spawn_next`"],
    ),
    (
        &[(
            "    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n",
            "    - { status: busy, role: worker, has_artifact: tests, action: mark_dead }\n    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n",
        )],
        &[
            "busy + when the worker ends: with `make test` to succeed within 10m: now only remembered; asked before: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`",
        ],
    ),
    (
        &[("by: [worker, human, engine]", "by: [worker, human]")],
        &[
            "busy - the engine may no longer ask for `asked`",
            "busy - when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: no longer to `asked` if review_round <= 1",
        ],
    ),
    // Entries.
    (
        &[("  asked: { when: summary_chars == 0 }\n", "")],
        &["asked - a task can no longer begin here"],
    ),
    (
        &[(
            "  asked: { when: summary_chars == 0 }",
            "  asked: { when: summary_chars < 3, set: { loops: 1 } }\n  busy:",
        )],
        &[
            "busy + a task can now begin here",
            "asked + a task that begins here: now also if summary_chars >= 1 and summary_chars <= 2",
            "asked + a task that begins here: also sets loops to 1",
        ],
    ),
    // The whole workflow.
    (
        &[("  complete: [asked]", "  complete: [asked, busy]")],
        &["* ~ the verb `complete` leads to `asked`, else `busy`; was to `asked`"],
    ),
    (
        &[("  cancel: dropped", "  cancel: []")],
        &["* ~ the verb `cancel` leads nowhere; was to `dropped`"],
    ),
    (
        &[("fields: { loops: 0 }", "fields: { loops: 2 }")],
        &["* ~ the field loops begins at 2, was 0"],
    ),
    (
        &[(
            "  cancel: dropped",
            "  cancel: { from: asked, to: dropped }",
        )],
        &["* ~ the verb `cancel` can be used in `asked`; was every status"],
    ),
    (
        &[("Then stop.", "Then go on.")],
        &["* ~ the prompt `work` says something else"],
    ),
    (
        &[("fields: { loops: 0 }", "fields: { loops: 0, spare: 4 }")],
        &["* ~ the field spare begins at 4, was 0"],
    ),
];
