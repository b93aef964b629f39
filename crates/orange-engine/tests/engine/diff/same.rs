//! Changes of a text that change nothing else.

use super::Replaced;

/// What was done, and to which lines of the base.
pub(crate) const SAME: &[(&str, Replaced)] = &[
    (
        "comments",
        &[("states:\n", "# All of them.\nstates: # these\n")],
    ),
    (
        "the name and a description",
        &[("name: base", "name: other\ndescription: Another.")],
    ),
    (
        "a gate by another name",
        &[
            ("  handoff: {", "  said: {"),
            ("gates: [handoff, tests]", "gates: [said, tests]"),
            ("has_artifact: handoff", "has_artifact: said"),
        ],
    ),
    (
        "a gate written out",
        &[(
            "gates: [handoff, tests]",
            "gates: [{ section: \"## Handoff\", fields: [DONE, LEFT], fresh: true }, tests]",
        )],
    ),
    (
        "a gate cut in two",
        &[(
            "gates: [handoff, tests]",
            "gates: [{ section: \"## handoff\", fields: [LEFT, DONE] }, tests, { section: \"## Handoff\", fresh: true }]",
        )],
    ),
    (
        "git gates cut in two",
        &[(
            "gates: [passed, tidy]",
            "gates: [{ git: commits_ahead }, passed, { git: clean }]",
        )],
    ),
    (
        "gates in another order",
        &[("gates: [handoff, tests]", "gates: [tests, handoff]")],
    ),
    (
        "a gate that nobody uses",
        &[("gates:\n", "gates:\n  unused: { git: clean }\n")],
    ),
    (
        "what is required anyway",
        &[(
            "fields: [DONE, LEFT]",
            "required: true, fields: [DONE, LEFT]",
        )],
    ),
    (
        "a limit by another name",
        &[
            ("max_rounds: 2", "rounds: 2"),
            ("{max_rounds}\" }", "{rounds}\" }"),
            ("< max_rounds", "< rounds"),
            ("{max_rounds} rounds", "{rounds} rounds"),
        ],
    ),
    (
        "a limit written out",
        &[
            ("< max_rounds", "< 2"),
            ("stuck_after: max_crashes", "stuck_after: 3"),
        ],
    ),
    ("a guard by another comparison", &[("< max_rounds", "<= 1")]),
    (
        "a guard by several comparisons",
        &[(
            "review_round < max_rounds",
            "review_round != 2 and review_round < 3 and loops >= 0",
        )],
    ),
    (
        "a guard cut in two",
        &[(
            "    when: review_round < max_rounds\n    gates: [handoff, tests]\n    set: { review_round: increment }\n    hooks: [push_branch, create_pr]\n",
            "    when: review_round == 0\n    gates: &g [handoff, tests]\n    set: &s { review_round: increment }\n    hooks: &h [push_branch, create_pr]\n  - from: busy\n    to: asked\n    by: [worker, human, engine]\n    when: review_round == 1\n    gates: *g\n    set: *s\n    hooks: *h\n",
        )],
    ),
    (
        "a transition by roles",
        &[(
            "    by: human\n    hooks: *end\n",
            "    by: [human]\n    hooks: *end\n",
        )],
    ),
    (
        "a transition that is never open",
        &[(
            "  - from: asked\n    to: busy\n",
            "  - { from: open, to: over, by: human, when: loops < 0 }\n  - from: asked\n    to: busy\n",
        )],
    ),
    (
        "roles in another order",
        &[("by: [worker, human, engine]", "by: [engine, worker, human]")],
    ),
    (
        "everybody instead of nobody named",
        &[(
            "    to: busy\n    by: [human, engine]\n",
            "    to: busy\n    by: [human, engine]\n    trigger: request\n",
        )],
    ),
    (
        "the wildcard written out",
        &[(
            "  - from: \"*active\"\n    to: dropped\n",
            "  - from: [asked, open, busy]\n    to: dropped\n",
        )],
    ),
    (
        "the wildcard over an equal edge",
        &[(
            "  - from: \"*active\"\n    to: dropped\n",
            "  - { from: open, to: dropped, by: human, hooks: [kill_session, release_workspace] }\n  - from: \"*active\"\n    to: dropped\n",
        )],
    ),
    (
        "an anchor written out",
        &[(
            "    hooks: *end\n",
            "    hooks: [kill_session, { action: release_workspace }]\n",
        )],
    ),
    (
        "states in another order",
        &[(
            "  over: { terminal: true }\n  dropped: { terminal: true }\n",
            "  dropped: { terminal: true }\n  over: { kind: terminal }\n",
        )],
    ),
    (
        "what a state leaves out",
        &[
            ("  busy:\n", "  busy:\n    kind: agent\n"),
            (
                "      qa: { prompt: look }\n",
                "      qa: { prompt: look, permissions: reduced }\n",
            ),
        ],
    ),
    (
        "the long form of a respawn",
        &[(
            "    respawn_prompt: work\n",
            "    respawn: { worker: { prompt: work } }\n",
        )],
    ),
    (
        "hooks by their long names",
        &[(
            "      - { action: spawn_agent, prompt: look, role: qa }",
            "      - { action: spawn_agent, prompt: look, role: qa, harness: task, permissions: full, window: qa, on_error: stop }",
        )],
    ),
    (
        "hooks on every way in",
        &[
            (
                "    on_enter:\n      - { action: notify, message: \"{id} waits in round {review_round} of {max_rounds}\" }\n",
                "",
            ),
            (
                "  asked: { when: summary_chars == 0 }",
                "  asked: { when: summary_chars == 0, hooks: &n [{ action: notify, message: \"{id} waits in round {review_round} of {max_rounds}\" }] }",
            ),
            (
                "    hooks: [push_branch, create_pr]\n  - from: busy\n    to: asked\n    trigger: timeout\n",
                "    hooks: [push_branch, create_pr, { action: notify, message: \"{id} waits in round {review_round} of {max_rounds}\", via: desktop }]\n  - from: busy\n    to: asked\n    trigger: timeout\n    hooks: *n\n",
            ),
            (
                "    gate: { report: outcome, is: done }\n",
                "    gate: { report: outcome, is: done }\n    hooks: *n\n",
            ),
            (
                "    to: asked\n    by: engine\n",
                "    to: asked\n    by: engine\n    hooks: *n\n",
            ),
        ],
    ),
    (
        "a field set by a hook",
        &[(
            "    set: { review_round: increment }\n    hooks: [push_branch, create_pr]",
            "    hooks: [increment_review_round, push_branch, create_pr]",
        )],
    ),
    (
        "a field set by a later hook",
        &[(
            "    set: { review_round: increment }\n    hooks: [push_branch, create_pr]",
            "    hooks: [push_branch, create_pr, { action: set_field, field: review_round, value: increment, on_error: continue }]",
        )],
    ),
    (
        "an unused field and an unused prompt",
        &[
            ("fields: { loops: 0 }", "fields: { loops: 0, spare: 0 }"),
            ("prompts:\n", "prompts:\n  spare: Nothing.\n"),
        ],
    ),
    (
        "a prompt by another name",
        &[
            ("  look: Look", "  see: Look"),
            ("      qa: { prompt: look }", "      qa: { prompt: see }"),
            ("prompt: look, role: qa", "prompt: see, role: qa"),
        ],
    ),
    (
        "a prompt with its limit written out",
        &[("at most {max_rounds} rounds", "at most 2 rounds")],
    ),
    (
        "a prompt without a last line end",
        &[(
            "  look: Look at {summary}.",
            "  look: |\n    Look at {summary}.",
        )],
    ),
    (
        "verbs that are usual or lead nowhere",
        &[
            (
                "  cancel: dropped\n",
                "  cancel: [dropped]\n  unblock: []\n",
            ),
            (
                "  complete: [asked]",
                "  complete: [asked, asked]\n  stuck: []",
            ),
        ],
    ),
    (
        "exit rules by role",
        &[(
            "    - { status: busy, no_artifact: true, action: crash,",
            "    - { status: busy, role: qa, action: crash, stuck_after: 3, then: dropped, on_crash: respawn, backoff: 10s }\n    - { status: busy, role: worker, action: crash,",
        )],
    ),
    (
        "exit rules that are never asked",
        &[(
            "    - { status: asked, action: mark_dead }\n",
            "    - { status: busy, has_artifact: handoff, then: asked }\n",
        )],
    ),
    (
        "an exit rule by cases",
        &[(
            "has_artifact: handoff, then: asked }",
            "has_artifact: handoff, then_when: [{ when: loops < 3, then: asked }, { else: asked }] }",
        )],
    ),
    (
        "a gate on what has happened",
        &[(
            "    trigger: pr_merged\n",
            "    trigger: pr_merged\n    by: human\n    gate: tidy\n",
        )],
    ),
    (
        "an edge that no exit rule leads to",
        &[(
            "  - from: asked\n    to: busy\n",
            "  - { from: asked, to: dropped, trigger: exit }\n  - from: asked\n    to: busy\n",
        )],
    ),
    (
        "transitions in another order",
        &[(
            "  - from: busy\n    to: asked\n    trigger: timeout\n  - from: busy\n    to: dropped\n    trigger: crash\n",
            "  - from: busy\n    to: dropped\n    trigger: crash\n  - from: busy\n    to: asked\n    trigger: timeout\n",
        )],
    ),
    (
        "times in other units",
        &[
            ("after: 2h", "after: 120m"),
            ("timeout: 10m", "timeout: 600"),
            ("poll_interval: 30", "poll_interval: 2m"),
        ],
    ),
    (
        "a timeout that leads elsewhere",
        &[(
            "    to: asked\n    trigger: timeout\n",
            "    to: asked\n    trigger: timeout\n  - { from: busy, to: over, trigger: timeout }\n",
        )],
    ),
    (
        "a question that nobody is asked",
        &[(
            "    to: asked\n    by: engine\n",
            "    to: asked\n    by: engine\n    confirm: Sure?\n",
        )],
    ),
];
