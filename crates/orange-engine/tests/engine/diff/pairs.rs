//! Differences between two workflows that are both changed from the base.

use super::Replaced;

const CUT_IN_TWO: &str = "    when: review_round == 0\n    gates: &g [handoff, tests]\n    set: &s { review_round: increment }\n    hooks: &h [push_branch, create_pr]\n  - from: busy\n    to: asked\n    by: [worker, human, engine]\n    when: review_round == 1\n    gates: *g\n    set: *s\n    hooks: *h\n";

const CUT_IN_TWO_AND_LABELLED: &str = "    when: review_round == 0\n    gates: &g [handoff, tests]\n    set: &s { review_round: increment }\n    hooks: &h [push_branch, create_pr]\n  - from: busy\n    to: asked\n    by: [worker, human, engine]\n    when: review_round == 1\n    gates: [handoff]\n    set: *s\n    hooks: [push_branch, create_pr, { action: label_issue, label: late }]\n";

const WHOLE: &str = "    when: review_round < max_rounds\n    gates: [handoff, tests]\n    set: { review_round: increment }\n    hooks: [push_branch, create_pr]\n";

const RULE: &str = "    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n";

/// What was, what is, and the sentences about it.
pub(crate) const PAIRS: &[(Replaced, Replaced, &[&str])] = &[
    // What differs for some values only says for which.
    (
        &[(WHOLE, CUT_IN_TWO)],
        &[(WHOLE, CUT_IN_TWO_AND_LABELLED)],
        &[
            "busy - the human, the engine or the worker asking for `asked`, if review_round == 1: no longer needs `make test` to succeed within 10m",
            "busy + the human, the engine or the worker asking for `asked`, if review_round == 1: also does `label_issue` `late`, after `create_pr`",
        ],
    ),
    (
        &[],
        &[(WHOLE, CUT_IN_TWO_AND_LABELLED)],
        &[
            "busy - the human, the engine or the worker asking for `asked`, if review_round == 1: no longer needs `make test` to succeed within 10m",
            "busy + the human, the engine or the worker asking for `asked`, if review_round == 1: also does `label_issue` `late`, after `create_pr`",
        ],
    ),
    // What differs for all of them does not.
    (
        &[(WHOLE, CUT_IN_TWO)],
        &[
            (WHOLE, CUT_IN_TWO),
            (
                "hooks: &h [push_branch, create_pr]",
                "hooks: &h [push_branch, create_pr, spawn_next]",
            ),
            ("gates: &g [handoff, tests]", "gates: &g [handoff]"),
        ],
        &[
            "busy - the human, the engine or the worker asking for `asked`: no longer needs `make test` to succeed within 10m",
            "busy + the human, the engine or the worker asking for `asked`: also does `spawn_next`, after `create_pr`",
        ],
    ),
    // `@previous` leads back to several states, and only one of them is entered in another way.
    (
        &[(
            "    timeout: { after: 2h",
            "    on_enter: [route]\n    timeout: { after: 2h",
        )],
        &[
            (
                "      - acquire_workspace\n      - { action: spawn_agent, prompt: work }\n      - { action: spawn_agent, prompt: look, role: qa }\n",
                "      - acquire_workspace\n      - { action: spawn_agent, prompt: work }\n      - { action: spawn_agent, prompt: look, role: qa }\n      - route\n",
            ),
            (
                "    hooks: [{ action: notify_worker, message: \"Again: {message}\" }]",
                "    hooks: [{ action: notify_worker, message: \"Again: {message}\" }, route]",
            ),
        ],
        &["asked - the worker asking for `@previous` (back to `busy`): no longer does `route`"],
    ),
    // Rules that change places.
    (
        &[(
            RULE,
            "    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n    - { status: busy, role: worker, has_artifact: tidy, action: crash }\n",
        )],
        &[(
            RULE,
            "    - { status: busy, role: worker, has_artifact: tidy, action: crash }\n    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n",
        )],
        &[
            "busy ~ when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff` and a fresh `## Handoff`: now asked last",
        ],
    ),
    (
        &[(
            RULE,
            "    - { status: busy, role: worker, has_artifact: tidy, action: crash, stuck_after: 1 }\n    - { status: busy, role: worker, has_artifact: passed, action: crash, stuck_after: 2, then: dropped }\n    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n",
        )],
        &[(
            RULE,
            "    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n    - { status: busy, role: worker, has_artifact: tidy, action: crash, stuck_after: 0, then: dropped }\n    - { status: busy, role: worker, has_artifact: passed, action: crash, stuck_after: 2, then: dropped }\n",
        )],
        &[
            "busy ~ when the worker ends: with a clean worktree and a commit of its own on the branch: a crash, to `dropped`; was a crash, left to a person",
            "busy ~ when the worker ends: with the verdict PASS in the first line of `## Review` and `## Review` brought by the human or the reviewer: now asked last",
        ],
    ),
    // What a rule about crashes never looks at.
    (
        &[(
            RULE,
            "    - { status: busy, role: worker, action: crash }\n",
        )],
        &[(
            RULE,
            "    - { status: busy, role: worker, action: crash, then: asked, backoff: 5s }\n",
        )],
        &[],
    ),
    // Reports and guards that exclude each other can stand in any order.
    (
        &[(
            "    to: open\n    trigger: report\n",
            "    to: open\n    trigger: report\n    gate: { report: outcome, is: blocked }\n",
        )],
        &[
            (
                "    to: asked\n    trigger: report\n    gate: { report: outcome, is: done }\n",
                "    to: open\n    trigger: report\n    gate: { report: outcome, is: blocked }\n    hooks: [kill_session, release_workspace]\n",
            ),
            (
                "    to: open\n    trigger: report\n    hooks: [kill_session, release_workspace]\n  - from: busy\n    to: open\n    trigger: spawn_failed\n",
                "    to: asked\n    trigger: report\n    gate: { report: outcome, is: done }\n  - from: busy\n    to: open\n    trigger: spawn_failed\n",
            ),
        ],
        &[],
    ),
    (
        &[
            (
                "  open:\n  asked: { when: summary_chars == 0 }",
                "  open: { when: summary_chars > 0 }\n  asked: { when: summary_chars == 0 }",
            ),
            (
                "  complete: [asked]",
                "  complete: [asked]\n  retry: []\n  unblock: []",
            ),
        ],
        &[
            (
                "  open:\n  asked: { when: summary_chars == 0 }",
                "  asked: { when: summary_chars == 0 }\n  open: { when: summary_chars > 0 }",
            ),
            (
                "  complete: [asked]",
                "  complete: [asked]\n  retry: []\n  unblock: []",
            ),
        ],
        &[],
    ),
    // A verb tries its targets in order, and both are open.
    (
        &[("  complete: [asked]", "  complete: [asked, busy]")],
        &[("  complete: [asked]", "  complete: [busy, asked]")],
        &["* ~ the verb `complete` leads to `busy`, else `asked`; was to `asked`, else `busy`"],
    ),
    // From nowhere are both of these open.
    (
        &[("  complete: [asked]", "  complete: [over, busy]")],
        &[("  complete: [asked]", "  complete: [busy, over]")],
        &[],
    ),
    // Who is brought back is brought back as it is started at first.
    (
        &[],
        &[(
            "prompt: look, role: qa }",
            "prompt: look, role: qa, harness: review, window: \"look-{loops}\" }",
        )],
        &[
            "open ~ the human or the engine asking for `busy`: `spawn_agent` of the qa has harness review, was task",
            "open ~ the human or the engine asking for `busy`: `spawn_agent` of the qa has permissions reduced, was full",
            "open ~ the human or the engine asking for `busy`: `spawn_agent` of the qa has window \"look-{loops}\", was \"qa\"",
            "busy ~ the qa is brought back with harness review, was task",
            "busy ~ the qa is brought back with window \"look-{loops}\", was \"qa\"",
        ],
    ),
    // A field that a text shows is counted before it or after it.
    (
        &[(
            "    hooks: [push_branch, create_pr]",
            "    hooks: [{ action: comment_issue, message: \"Round {review_round}\" }]",
        )],
        &[(
            "    set: { review_round: increment }\n    hooks: [push_branch, create_pr]",
            "    hooks: [{ action: comment_issue, message: \"Round {review_round}\" }, increment_review_round]",
        )],
        &[
            "busy ~ the human, the engine or the worker asking for `asked`: count review_round up now comes after `comment_issue`",
        ],
    ),
    // A message that begins like the other.
    (
        &[(
            "Again: {message}",
            "Again, and this time with more care than before: {message}",
        )],
        &[(
            "Again: {message}",
            "Again, and this time with more care than ever before: {message}",
        )],
        &[
            "asked ~ the human asking for `busy`: `notify_worker` has another message: \"Again, and this time with more care than…\"",
        ],
    ),
    // What a new way does not do is not told of every way. It also shadows the wildcard.
    (
        &[],
        &[
            (
                "    hooks: [push_branch, create_pr]",
                "    hooks: [push_branch, create_pr]\n  - { from: asked, to: dropped, by: qa, hooks: [route] }",
            ),
            (
                "    hooks: &end [kill_session, release_workspace]",
                "    hooks: &end [kill_session, release_workspace, spawn_next]",
            ),
            (
                "    trigger: crash\n",
                "    trigger: crash\n    hooks: [spawn_next]\n",
            ),
        ],
        &[
            "open + the human asking for `dropped`: also does `spawn_next`, after `release_workspace`",
            "busy + the human asking for `dropped`: also does `spawn_next`, after `release_workspace`",
            "busy + one crash too many, to `dropped`: also does `spawn_next`",
            "asked - the human may no longer ask for `dropped`",
            "asked + the qa may now ask for `dropped`; then `route`",
            "over + on every way in: also does `spawn_next`",
        ],
    ),
    (
        &[],
        &[
            (
                "    hooks: [push_branch, create_pr]",
                "    hooks: [push_branch, create_pr]\n  - { from: asked, to: dropped, by: qa, hooks: [spawn_next] }",
            ),
            (
                "    hooks: &end [kill_session, release_workspace]",
                "    hooks: &end [kill_session, release_workspace, spawn_next]",
            ),
            (
                "    trigger: crash\n",
                "    trigger: crash\n    hooks: [spawn_next]\n",
            ),
        ],
        &[
            "asked - the human may no longer ask for `dropped`",
            "asked + the qa may now ask for `dropped`; then `spawn_next`",
            "over + on every way in: also does `spawn_next`",
            "dropped + on every way in: also does `spawn_next`",
        ],
    ),
    // A section by its name, and arguments that only look alike.
    (
        &[(
            "    hooks: [push_branch, create_pr]",
            "    hooks: [{ action: archive_section, section: \"## Review\" }, { action: run_command, command: [echo, \"a b\"] }]",
        )],
        &[(
            "    hooks: [push_branch, create_pr]",
            "    hooks: [{ action: archive_section, section: \"##  review\" }, { action: run_command, command: [echo, a, b] }]",
        )],
        &[
            "busy + the human, the engine or the worker asking for `asked`: also does `run_command` `echo a b`, after `archive_section` `## review`",
            "busy - the human, the engine or the worker asking for `asked`: no longer does `run_command` `echo \"a b\"`",
        ],
    ),
    // A hook that comes first.
    (
        &[],
        &[(
            "    hooks: [push_branch, create_pr]",
            "    hooks: [spawn_next, push_branch, create_pr]",
        )],
        &[
            "busy + the human, the engine or the worker asking for `asked`: also does `spawn_next`, first",
        ],
    ),
    // The same words can be said under swapped names.
    (
        &[],
        &[
            ("  work: |\n    Work on", "  look: |\n    Work on"),
            ("  look: Look at", "  work: Look at"),
            ("worker: { prompt: work }", "worker: { prompt: look }"),
            ("qa: { prompt: look }", "qa: { prompt: work }"),
            ("respawn_prompt: work", "respawn_prompt: look"),
            (
                "{ action: spawn_agent, prompt: work }",
                "{ action: spawn_agent, prompt: look }",
            ),
            ("prompt: look, role: qa }", "prompt: work, role: qa }"),
        ],
        &[],
    ),
    // Exchanged where they are written, but not where they are used.
    (
        &[],
        &[
            ("  work: |\n    Work on", "  look: |\n    Work on"),
            ("  look: Look at", "  work: Look at"),
        ],
        &[
            "* ~ the prompt `look` says something else",
            "* ~ the prompt `work` says something else",
        ],
    ),
];
