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
    // A rule that may be refused leaves room for one that asks for more.
    (
        &[],
        &[(
            RULE,
            "    - { status: busy, role: worker, has_artifact: handoff, then: asked }\n    - { status: busy, role: worker, has_artifact: [handoff, tidy], action: mark_dead }\n",
        )],
        &[
            "busy + when the worker ends: with a line `DONE:` or `LEFT:` in `## Handoff`, a fresh `## Handoff`, a clean worktree and a commit of its own on the branch: now only remembered",
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
    // A merge goes to the first target that has a way.
    (
        &[("  merge: over", "  merge: [over, dropped]")],
        &[("  merge: over", "  merge: [dropped, over]")],
        &[
            "asked - the human may no longer ask for a merge to `over`",
            "asked + the human may now ask for a merge to `dropped`; then `kill_session`, `release_workspace`",
            "* ~ the verb `merge` leads to `dropped`, else `over`; was to `over`, else `dropped`",
        ],
    ),
    // From nowhere are both of these open to the same role, or for the same values.
    (
        &[
            ("  complete: [asked]", "  complete: [asked, busy]"),
            (
                "    to: asked\n    by: engine\n",
                "    to: asked\n    by: reviewer\n",
            ),
        ],
        &[
            ("  complete: [asked]", "  complete: [busy, asked]"),
            (
                "    to: asked\n    by: engine\n",
                "    to: asked\n    by: reviewer\n",
            ),
        ],
        &[],
    ),
    (
        &[
            ("  complete: [asked]", "  complete: [asked, busy]"),
            (
                "    to: asked\n    by: engine\n",
                "    to: asked\n    when: loops > 3\n",
            ),
            (
                "    to: busy\n    by: [human, engine]\n",
                "    to: busy\n    when: loops < 2\n",
            ),
        ],
        &[
            ("  complete: [asked]", "  complete: [busy, asked]"),
            (
                "    to: asked\n    by: engine\n",
                "    to: asked\n    when: loops > 3\n",
            ),
            (
                "    to: busy\n    by: [human, engine]\n",
                "    to: busy\n    when: loops < 2\n",
            ),
        ],
        &[],
    ),
    // Anyone is the same role as everybody else.
    (
        &[
            ("  complete: [asked]", "  complete: [asked, busy]"),
            ("    to: asked\n    by: engine\n", "    to: asked\n"),
        ],
        &[
            ("  complete: [asked]", "  complete: [busy, asked]"),
            ("    to: asked\n    by: engine\n", "    to: asked\n"),
        ],
        &["* ~ the verb `complete` leads to `busy`, else `asked`; was to `asked`, else `busy`"],
    ),
    // A merge that somebody asks for, and one that is only seen.
    (
        &[],
        &[(
            "  - from: asked\n    to: busy\n",
            "  - { from: open, to: over, trigger: merged }\n  - from: asked\n    to: busy\n",
        )],
        &[
            "open + a merge made elsewhere now leads to `over`",
            "open + anyone may now ask for a merge to `over`",
        ],
    ),
    // A way that cannot be open together with another is not tried before it.
    (
        &[(
            "    to: open\n    trigger: spawn_failed\n",
            "    to: open\n    trigger: spawn_failed\n    when: loops <= 3\n",
        )],
        &[(
            "    to: open\n    trigger: spawn_failed\n",
            "    to: over\n    trigger: spawn_failed\n    when: loops > 3\n  - from: busy\n    to: open\n    trigger: spawn_failed\n    when: loops <= 3\n",
        )],
        &["busy + a failed start now leads to `over` if loops >= 4"],
    ),
    // A prompt that is used elsewhere now, and says something else.
    (
        &[
            (
                "      - { action: spawn_agent, prompt: look, role: qa }\n",
                "",
            ),
            ("      qa: { prompt: look }\n", ""),
            ("    expects: [worker, qa]", "    expects: worker"),
            (
                "    hooks: [push_branch, create_pr]",
                "    hooks: [{ action: spawn_agent, prompt: look, role: qa }]",
            ),
        ],
        &[
            (
                "      - { action: spawn_agent, prompt: look, role: qa }\n",
                "",
            ),
            ("      qa: { prompt: look }\n", ""),
            ("    expects: [worker, qa]", "    expects: worker"),
            (
                "    to: asked\n    by: engine\n",
                "    to: asked\n    by: engine\n    hooks: [{ action: spawn_agent, prompt: look, role: qa }]\n",
            ),
            ("    hooks: [push_branch, create_pr]\n", ""),
            ("  look: Look at", "  look: Look well at"),
        ],
        &[
            "open + the engine asking for `asked`: also does `spawn_agent` of the qa (prompt `look`), first",
            "busy - the human, the engine or the worker asking for `asked`: no longer does `spawn_agent` of the qa (prompt `look`)",
            "* ~ the prompt `look` says something else",
        ],
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
    (
        &[],
        &[
            (
                "    hooks: [push_branch, create_pr]",
                "    hooks: [push_branch, create_pr]\n  - { from: open, to: over, by: qa, hooks: [release_workspace] }",
            ),
            (
                "    hooks: &end [kill_session, release_workspace]",
                "    hooks: &end [kill_session]",
            ),
            (
                "    to: dropped\n    by: human\n    hooks: *end\n",
                "    to: dropped\n    by: human\n    hooks: [kill_session, release_workspace]\n",
            ),
        ],
        &[
            "open + the qa may now ask for `over`; then `release_workspace`",
            "open + the qa may now ask for a merge to `over`; then `release_workspace`",
            "open - a merged pull request, to `over`: no longer does `release_workspace`",
            "busy - a merged pull request, to `over`: no longer does `release_workspace`",
            "asked - a merge, to `over`: no longer does `release_workspace`",
            "asked - a merged pull request, to `over`: no longer does `release_workspace`",
        ],
    ),
    // Neither is what is open for more values now.
    (
        &[],
        &[
            (
                "    hooks: [push_branch, create_pr]",
                "    hooks: [push_branch, create_pr]\n  - { from: busy, to: asked, by: human, when: review_round > 5 }",
            ),
            (
                "    on_enter:\n      - { action: notify, message: \"{id} waits in round {review_round} of {max_rounds}\" }\n",
                "",
            ),
            (
                "  asked: { when: summary_chars == 0 }",
                "  asked: { when: summary_chars == 0, hooks: [route] }",
            ),
            (
                "    to: asked\n    by: engine\n",
                "    to: asked\n    by: engine\n    hooks: [route]\n",
            ),
            (
                "    hooks: [push_branch, create_pr]",
                "    hooks: [push_branch, create_pr, route]",
            ),
            (
                "    trigger: timeout\n",
                "    trigger: timeout\n    hooks: [route]\n",
            ),
            (
                "    gate: { report: outcome, is: done }\n",
                "    gate: { report: outcome, is: done }\n    hooks: [route]\n",
            ),
        ],
        &[
            "open + the engine asking for `asked`: also does `route`",
            "busy + the human asking for `asked`: now also if review_round >= 6",
            "busy + the human, the engine or the worker asking for `asked`: also does `route`, after `create_pr`",
            "busy + the timeout, to `asked`: also does `route`",
            "busy + a report, to `asked`: also does `route`",
            "asked - on every way in: no longer does `notify` (message \"{id} waits in round {review_round} of 2\")",
            "asked + a task that begins here: also does `route`",
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
