//! Each load rule, an example that breaks it, and the exact message.

use orange_engine::language::{Problem, ProblemCode, Workflow, load_pinned};
use orange_engine::load;

/// A small workflow; tests replace one of its lines.
const BASE: &str = r###"name: tiny
version: 1
limits:
  max_rounds: 2
gates:
  done: { section: "## Done", required: true }
states:
  waiting:
    terminal: false
  working:
    terminal: false
    respawn_prompt: work
  ended:
    terminal: true
transitions:
  - from: waiting
    to: working
    hooks:
      - action: acquire_workspace
      - action: spawn_agent
        prompt: work
  - from: working
    to: ended
    gate: done
    when: "review_round < 2"
  - from: working
    to: ended
    when: "review_round >= 2"
exit_monitoring:
  rules:
    - status: working
      has_artifact: done
      then_when:
        - when: "review_round < 2"
          then: ended
        - when: "review_round >= 2"
          then: waiting
prompts:
  work: |
    Do {summary}.
"###;

fn problems(source: &str) -> Vec<Problem> {
    load(source).problems
}

/// The only problem that replacing a piece of the base causes.
fn problem(from: &str, to: &str) -> Problem {
    assert!(BASE.contains(from), "the base has no `{from}`");
    let source = BASE.replacen(from, to, 1);
    let problems = problems(&source);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.into_iter().next().unwrap()
}

fn expect(from: &str, to: &str, code: ProblemCode, at: (usize, usize), message: &str) {
    let problem = problem(from, to);
    assert_eq!(problem.message, message);
    assert_eq!(problem.code, code);
    assert_eq!((problem.at.line, problem.at.column), at, "{problem:#?}");
    let line = load_line(from, to, problem.at.line);
    assert_eq!(problem.excerpt, line);
}

fn load_line(from: &str, to: &str, line: usize) -> String {
    let source = BASE.replacen(from, to, 1);
    source.lines().nth(line - 1).unwrap().to_owned()
}

#[test]
fn the_base_workflow_is_valid() {
    assert_eq!(problems(BASE), Vec::new());
}

#[test]
fn rule_1_a_target_must_exist() {
    expect(
        "    to: working\n    hooks",
        "    to: wroking\n    hooks",
        ProblemCode::TransitionTargetUnknown,
        (17, 9),
        "transition `waiting` -> `wroking`: state `wroking` does not exist",
    );
}

#[test]
fn rule_2_a_source_must_exist() {
    expect(
        "  - from: waiting\n",
        "  - from: wating\n",
        ProblemCode::TransitionSourceUnknown,
        (16, 11),
        "transition `wating` -> `working`: state `wating` does not exist",
    );
}

#[test]
fn rule_3_nothing_leaves_a_terminal_state() {
    expect(
        "  - from: waiting\n",
        "  - from: ended\n",
        ProblemCode::TransitionFromTerminal,
        (16, 11),
        "transition `ended` -> `working`: `ended` is terminal, so no transition may leave it",
    );
}

#[test]
fn rule_4_a_hooks_prompt_must_exist() {
    expect(
        "        prompt: work\n",
        "        prompt: wrok\n",
        ProblemCode::PromptUnknown,
        (21, 17),
        "hook `spawn_agent` uses prompt `wrok`, which does not exist",
    );
}

#[test]
fn rule_5_a_respawn_prompt_must_exist() {
    expect(
        "    respawn_prompt: work\n",
        "    respawn_prompt: wrok\n",
        ProblemCode::RespawnPromptUnknown,
        (12, 21),
        "state `working` uses prompt `wrok`, which does not exist",
    );
}

#[test]
fn rule_6_an_exit_target_must_exist() {
    expect(
        "          then: waiting\n",
        "          then: wating\n",
        ProblemCode::ExitTargetUnknown,
        (37, 17),
        "exit rule for `working`: state `wating` does not exist",
    );
}

#[test]
fn rule_7_transitions_of_one_pair_must_exclude_each_other() {
    let problem = problem(
        "when: \"review_round >= 2\"\nexit",
        "when: \"review_round >= 1\"\nexit",
    );
    assert_eq!(problem.code, ProblemCode::TransitionAmbiguous);
    assert_eq!(
        problem.message,
        "transitions `working` -> `ended` are ambiguous: this one and the one in line 22 both apply \
         when review_round = 1"
    );
    assert_eq!((problem.at.line, problem.at.column), (26, 5));
}

#[test]
fn rule_7_two_unguarded_transitions_are_always_ambiguous() {
    let source = BASE
        .replacen("    when: \"review_round < 2\"\n", "", 1)
        .replacen("    when: \"review_round >= 2\"\nexit", "exit", 1);
    let messages: Vec<String> = problems(&source).into_iter().map(|p| p.message).collect();
    assert_eq!(
        messages,
        [
            "transitions `working` -> `ended` are ambiguous: this one and the one in line 22 both apply always"
        ]
    );
}

#[test]
fn rule_7_transitions_for_different_roles_do_not_conflict() {
    let source = BASE
        .replacen("    when: \"review_round < 2\"\n", "    by: worker\n", 1)
        .replacen(
            "    when: \"review_round >= 2\"\nexit",
            "    by: human\nexit",
            1,
        );
    assert_eq!(problems(&source), Vec::new());
}

#[test]
fn rule_8_a_when_must_parse() {
    expect(
        "    when: \"review_round < 2\"\n",
        "    when: \"review_round < two rounds\"\n",
        ProblemCode::WhenInvalid,
        (25, 27),
        "`when` does not parse: `two` is neither an integer nor declared under `limits`",
    );
}

#[test]
fn rule_9_then_when_must_cover_every_case() {
    let problem = problem(
        "        - when: \"review_round >= 2\"\n          then: waiting\n",
        "        - when: \"review_round > 2\"\n          then: waiting\n",
    );
    assert_eq!(problem.code, ProblemCode::ThenWhenNotExhaustive);
    assert_eq!(
        problem.message,
        "exit rule for `working`: `then_when` has no case for review_round = 2"
    );
    assert_eq!(
        problem.hint.as_deref(),
        Some("add a case for it, or end with `- else: <state>`")
    );
}

#[test]
fn rule_9_else_covers_the_rest() {
    let source = BASE.replacen(
        "        - when: \"review_round >= 2\"\n          then: waiting\n",
        "        - else: waiting\n",
        1,
    );
    assert_eq!(problems(&source), Vec::new());
}

#[test]
fn every_problem_is_reported_at_once_in_the_order_of_the_file() {
    let source = BASE
        .replacen("version: 1", "version: 7", 1)
        .replacen("respawn_prompt: work", "respawn_prompt: a", 1)
        .replacen("    to: working", "    to: b", 1)
        .replacen("action: acquire_workspace", "action: c", 1)
        .replacen("gate: done", "gate: d", 1)
        .replacen("review_round < 2\"\n  - from", "e < 2\"\n  - from", 1)
        .replacen("Do {summary}", "Do {f}", 1);
    let problems = problems(&source);
    let codes: Vec<&str> = problems
        .iter()
        .map(|problem| problem.code.as_str())
        .collect();
    assert_eq!(
        codes,
        [
            "unknown-version",
            "respawn-prompt-unknown",
            "transition-target-unknown",
            "action-unknown",
            "gate-unknown",
            "field-unknown",
            "variable-unknown",
        ]
    );
    assert!(problems.is_sorted_by_key(|problem| problem.at));
}

#[test]
fn the_vocabulary_is_closed() {
    let cases: [(&str, &str, &str); 24] = [
        (
            "name: tiny\n",
            "name: Tiny!\n",
            "`name` must be a name of lower-case letters, digits, `-` and `_`, at most 64 characters, beginning with a letter",
        ),
        (
            "version: 1\n",
            "version: 2\n",
            "version `2` is not supported; this version of orange reads version 1",
        ),
        (
            "limits:\n",
            "extra: 1\nlimits:\n",
            "a workflow has no key `extra`",
        ),
        (
            "limits:\n",
            "roles: [worker]\nlimits:\n",
            "role `worker` already exists",
        ),
        (
            "    terminal: false\n  working",
            "    terminal: maybe\n  working",
            "`terminal` must be `true` or `false`, not `maybe`",
        ),
        (
            "    terminal: false\n  working",
            "    kind: idle\n  working",
            "`kind` must be `queued`, `agent`, `human`, `waiting` or `terminal`, not `idle`",
        ),
        (
            "    terminal: false\n  working",
            "    expects: [robot]\n  working",
            "`expects`: role `robot` does not exist",
        ),
        (
            "    terminal: false\n  working",
            "    expects: [human]\n  working",
            "`expects`: `human` is not an agent",
        ),
        (
            "    terminal: false\n  working",
            "    timeout: { after: soon, then: ended }\n  working",
            "`after` must be a time like `90s`, `30m`, `2h` or `1d`, not `soon`",
        ),
        (
            "    terminal: false\n  working",
            "    timeout: { after: 5m, then: ended }\n  working",
            "state `waiting` times out to `ended`, but no transition with `trigger: timeout` leads there",
        ),
        (
            "  - from: waiting\n",
            "  - from: waiting\n    trigger: magic\n",
            "`trigger` must be `request`, `exit`, `crash`, `timeout`, `spawn_failed`, `merged`, `pr_merged`, `pr_closed`, `pr_failing`, `pr_conflicting`, `pr_feedback`, `pr_ready`, `children_done` or `report`, not `magic`",
        ),
        (
            "  - from: waiting\n",
            "  - from: waiting\n    by: boss\n",
            "transition `waiting` -> `working`: role `boss` does not exist",
        ),
        (
            "  - from: waiting\n",
            "  - from: [waiting, waiting]\n",
            "transition `waiting, waiting` -> `working`: `waiting` appears twice in `from`",
        ),
        (
            "  - from: waiting\n",
            "  - from: waiting\n    set: { summary_chars: 1 }\n",
            "field `summary_chars` is computed by orange and cannot be set",
        ),
        (
            "  - from: waiting\n",
            "  - from: waiting\n    set: { crash_count: 0 }\n",
            "field `crash_count` is computed by orange and cannot be set",
        ),
        (
            "  - from: waiting\n",
            "  - from: waiting\n    set: { review_round: more }\n",
            "`set` of `review_round` must be a whole number of at least 0, not `more`",
        ),
        (
            "    gate: done\n",
            "    gate: { section: \"## Done\", required: false }\n",
            "a gate always requires its section; leave `required: false` out",
        ),
        (
            "    gate: done\n",
            "    gate: { section: \"# Done\" }\n",
            "section-name",
        ),
        (
            "    gate: done\n",
            "    gate: { git: [spotless] }\n",
            "`git` must be `clean`, `commits_ahead`, `branch_not_default` or `task_file_untracked`, not `spotless`",
        ),
        (
            "    gate: done\n",
            "    gate: { command: cargo test }\n",
            "`command` must be a list of a program and its arguments",
        ),
        (
            "    gate: done\n",
            "    gate: { section: \"## Done\", git: clean }\n",
            "a gate needs exactly one of `section`, `report`, `git`, `pr`, `command`",
        ),
        (
            "        prompt: work\n",
            "        prompt: work\n        window: \"{f}\"\n",
            "hook `spawn_agent` uses `{f}`, which does not exist",
        ),
        (
            "        prompt: work\n",
            "        prompt: work\n        wait: 1\n",
            "hook `spawn_agent` has no key `wait`",
        ),
        (
            "    Do {summary}.\n",
            "    Do {summary.\n",
            "prompt `work`: a `{` begins a variable like `{summary}`; write `{{` for a brace",
        ),
    ];
    for (from, to, message) in cases {
        let source = BASE.replacen(from, to, 1);
        let found: Vec<String> = problems(&source).into_iter().map(|p| p.message).collect();
        if message == "section-name" {
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains("# Done"), "{found:?}");
        } else {
            assert!(found.contains(&message.to_owned()), "{to}: {found:#?}");
        }
    }
}

#[test]
fn constructs_without_effect_are_refused() {
    let gate = |gate: &str| {
        (
            String::from("    gate: done\n"),
            format!("    gate: {gate}\n"),
        )
    };
    let edge = |line: &str| {
        let from = String::from("  - from: waiting\n");
        (from.clone(), format!("{from}    {line}\n"))
    };
    let cases = [
        (gate("{ git: [] }"), "`git` must not be empty"),
        (gate("[]"), "a list of gates must not be empty"),
        (
            gate("{ section: \"## Done\", fields: [] }"),
            "`fields` must not be empty",
        ),
        (
            gate("{ section: \"## Done\", from_role: [] }"),
            "`from_role` must not be empty",
        ),
        (gate("{ report: status, is: [] }"), "`is` must not be empty"),
        (
            gate("{ section: \"## Done\", from_role: engine }"),
            "`from_role`: the engine cannot vouch for a section",
        ),
        (
            gate("{ section: \"## Done\", verdict_mode: scan }"),
            "`verdict_mode` says how a `verdict` is read, but this gate has none",
        ),
        (
            edge("trigger: timeout"),
            "state `waiting` has no `timeout` to trigger this transition",
        ),
        (
            edge("trigger: exit\n    confirm: Sure?"),
            "transition `waiting` -> `working`: `trigger: exit` is not a request, so `confirm` is never asked",
        ),
    ];
    for ((from, to), message) in cases {
        assert!(BASE.contains(&from), "{from}");
        let source = BASE.replacen(&from, &to, 1);
        let found: Vec<String> = problems(&source).into_iter().map(|p| p.message).collect();
        assert!(found.contains(&message.to_owned()), "{to}: {found:#?}");
    }
}

/// The messages that one mistake causes, each with its hint.
fn messages(from: &str, to: &str) -> Vec<String> {
    assert!(BASE.contains(from), "{from}");
    let found = problems(&BASE.replacen(from, to, 1));
    found
        .into_iter()
        .map(|problem| match problem.hint {
            Some(hint) => format!("{} | {}", problem.message, hint),
            None => problem.message,
        })
        .collect()
}

#[test]
fn a_mistake_is_reported_once_at_its_position() {
    let done = "  done: { section: \"## Done\", required: true }\n";
    // A reference to a definition that could not be read is not reported as well.
    assert_eq!(
        messages(done, "  done: { command: cargo test }\n"),
        [
            "`command` must be a list of a program and its arguments | write it like `[cargo, test]`; it does not run in a shell"
        ]
    );
    assert_eq!(
        messages("    Do {summary}.\n", "    Do { it }.\n"),
        ["prompt `work`: a `{` begins a variable like `{summary}`; write `{{` for a brace"]
    );
    assert_eq!(
        messages("  max_rounds: 2\n", "  max_rounds: three\n"),
        ["limit `max_rounds` must be a whole number of at least 0, not `three`"]
    );
    assert_eq!(messages("limits:\n", "roles: [QA]\nlimits:\n").len(), 1);
    assert_eq!(
        messages("    gate: done\n", "    gate: done\n    trigger: merge\n"),
        [
            "`trigger` must be `request`, `exit`, `crash`, `timeout`, `spawn_failed`, `merged`, `pr_merged`, `pr_closed`, `pr_failing`, `pr_conflicting`, `pr_feedback`, `pr_ready`, `children_done` or `report`, not `merge` | did you mean `merged`?"
        ]
    );
    // An alias that repeats a mistake does not report it twice.
    let found = messages(
        "      - action: acquire_workspace\n",
        "      - &go kil_session\n      - *go\n      - action: acquire_workspace\n",
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    // An empty value is not a text.
    assert_eq!(
        messages(done, "  done:\n    section: ## Done\n"),
        [
            "`section` is empty | `#` begins a comment; put a text that contains it in quotes, like \"## Handoff\""
        ]
    );
    assert_eq!(
        messages(
            "    when: \"review_round < 2\"\n  - from",
            "    when:\n  - from"
        ),
        ["`when` is empty"]
    );
    assert_eq!(
        messages(
            "  work: |\n    Do {summary}.\n",
            "  work: Do {summary}. Write ## Done.\n"
        ),
        [
            "prompt `work` is cut off at ` #`, which begins a comment | write the text as a block below `|`, or in quotes"
        ]
    );
}

#[test]
fn every_hint_leads_to_a_fix() {
    let edge = "  - from: waiting\n";
    assert_eq!(
        messages(edge, "  - from: waiting\n    set: { review_rond: 0 }\n"),
        [
            "field `review_rond` does not exist | did you mean `review_round`? the fields are `attempts`, `clarifications`, `delegations`, `review_round` and `spawn_failures`; declare more under `fields`"
        ]
    );
    assert_eq!(
        messages(
            "    terminal: false\n  working",
            "    expects: [workr]\n  working"
        ),
        [
            "`expects`: role `workr` does not exist | use `worker` or `reviewer`, or declare it under `roles`"
        ]
    );
    assert_eq!(
        messages(
            "    when: \"review_round < 2\"\n  - from",
            "    when: max_rounds > review_round\n  - from"
        ),
        [
            "`when` does not parse: `review_round` is neither an integer nor declared under `limits` | write a field on the left, and a number or a limit on the right"
        ]
    );
    assert_eq!(
        messages(
            "    when: \"review_round < 2\"\n  - from",
            "    when: review_round < 2 or crash_count < 1\n  - from"
        ),
        [
            "`when` does not parse: expected `and` or the end, found `or` | there is only `and`; for `or`, write a second transition"
        ]
    );
    assert_eq!(
        messages(
            "    gate: done\n",
            "    gate: { section: \"## Done\", from: worker }\n"
        ),
        [
            "this gate has no key `from` | this gate takes `section`, `required`, `fields`, `verdict`, `verdict_mode`, `from_role` and `fresh`"
        ]
    );
    let found = messages("    gate: done\n", "    gate: { commnd: [x] }\n");
    let unknown = "a gate has no key `commnd` | did you mean `command`? a gate takes `section`, `report`, `git`, `pr` and `command`";
    assert!(found.contains(&unknown.to_owned()), "{found:#?}");
    assert_eq!(
        messages(edge, "  - from: *active\n"),
        [
            "this is not YAML: while parsing node, found unknown anchor | `*name` repeats what `&name` marked above; a text with `*`, like \"*active\", needs quotes"
        ]
    );
    let tab = messages(
        "    terminal: false\n  working",
        "\tterminal: false\n  working",
    );
    assert!(
        tab[0].ends_with("| indent with spaces, never with tabs"),
        "{tab:?}"
    );
}

#[test]
fn rule_7_previous_may_equal_a_named_target() {
    let source = BASE
        .replacen("    terminal: true\n", "    terminal: true\n  back:\n", 1)
        .replacen(
            "exit_monitoring:\n",
            "  - { from: working, to: back, when: review_round > 9 }\n  - { from: back, to: \"@previous\" }\n  - { from: back, to: working }\nexit_monitoring:\n",
            1,
        );
    let found: Vec<String> = problems(&source).into_iter().map(|p| p.message).collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].starts_with("transitions `back` -> `working` are ambiguous"),
        "{found:#?}"
    );
}

#[test]
fn invalid_yaml_is_reported_with_its_position() {
    let cases = [
        ("name: [tiny\n", ProblemCode::YamlSyntax),
        (
            "name: tiny\nname: again\nversion: 1\nstates: {}\ntransitions: []\n",
            ProblemCode::DuplicateKey,
        ),
        ("", ProblemCode::MissingKey),
        ("just a text", ProblemCode::WrongType),
        ("- a\n- b\n", ProblemCode::WrongType),
        ("name: tiny\n---\nname: other\n", ProblemCode::YamlSyntax),
        ("? [a]\n: b\n", ProblemCode::WrongType),
        ("a: &x [*x]\n", ProblemCode::YamlSyntax),
        ("a: *nobody\n", ProblemCode::YamlSyntax),
    ];
    for (source, code) in cases {
        let problems = problems(source);
        assert!(
            problems.iter().any(|problem| problem.code == code),
            "{source}: {problems:#?}"
        );
        assert!(
            problems
                .iter()
                .all(|problem| problem.at.line >= 1 && problem.at.column >= 1)
        );
        assert!(load(source).workflow.is_none(), "{source}");
    }
}

#[test]
fn an_alias_bomb_is_refused_quickly() {
    use std::fmt::Write as _;
    let mut source = String::from("name: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = level - 1;
        let _ = writeln!(
            source,
            "k{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}]"
        );
    }
    let problems = problems(&source);
    assert_eq!(problems[0].code, ProblemCode::TooLarge);
}

#[test]
fn a_huge_file_is_refused_unread() {
    let source = format!(
        "{BASE}# {}",
        "x".repeat(orange_engine::language::MAX_WORKFLOW_BYTES)
    );
    let problems = problems(&source);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, ProblemCode::TooLarge);
}

#[test]
fn short_forms_read_like_the_long_form() {
    let long = load(BASE).workflow.unwrap();
    let short = BASE.replacen(
        "      - action: acquire_workspace\n",
        "      - acquire_workspace\n",
        1,
    );
    let short = load(&short).into_result().unwrap();
    assert_eq!(
        long.edges[0].hooks[0].action,
        short.edges[0].hooks[0].action
    );
}

#[test]
fn an_excerpt_points_at_the_column() {
    let problem = problem("    to: working\n    hooks", "    to: wroking\n    hooks");
    assert_eq!(
        problem.at.render_excerpt(&problem.excerpt),
        "17 |     to: wroking\n   |         ^"
    );
    assert_eq!(
        problem.to_string(),
        "17:9: transition `waiting` -> `wroking`: state `wroking` does not exist"
    );
    assert_eq!(
        problem.hint.as_deref(),
        Some("did you mean `working`? the states are `ended`, `waiting` and `working`")
    );
}

#[test]
fn an_unknown_variable_deep_in_a_prompt_is_pointed_at() {
    let problem = problem(
        "    Do {summary}.\n",
        "    Do {summary}.\n    Then {nothing}.\n",
    );
    assert_eq!(
        problem.message,
        "prompt `work` uses `{nothing}`, which does not exist"
    );
    assert_eq!(problem.at.line, 41, "{problem:#?}");
    assert!(problem.excerpt.contains("{nothing}"), "{problem:#?}");
}

#[test]
fn a_pinned_text_may_have_hooks_of_earlier_versions() {
    let hooks = "    hooks:\n      - close_issue\n      - { action: label_issue, label: x }\n";
    let source = BASE.replacen("    hooks:\n", hooks, 1);
    let codes: Vec<ProblemCode> = problems(&source).iter().map(|it| it.code).collect();
    assert_eq!(codes, [ProblemCode::ActionUnknown; 2]);
    let pinned = load_pinned(&source).into_result().unwrap();
    let base = load(BASE).into_result().unwrap();
    let labels =
        |it: &Workflow| -> Vec<&str> { it.every_hook().map(|hook| hook.action.label()).collect() };
    assert_eq!(labels(&pinned), labels(&base));
    let unknown = BASE.replacen("acquire_workspace", "acquire_workplace", 1);
    assert_eq!(load_pinned(&unknown).problems, load(&unknown).problems);
    assert_eq!(load(&unknown).problems.len(), 1);
}
