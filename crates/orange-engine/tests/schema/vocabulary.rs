//! The schema has the same keys and words as the reader.
//!
//! For an unknown key or word, the reader's message lists the valid ones. So the reader itself is
//! the list to compare with, and no second list has to be maintained.

use std::collections::BTreeSet;

use orange_engine::language::ProblemCode;
use orange_engine::load;
use serde_json::Value;

use crate::fixtures::{EVERYTHING, SCHEMA, json, pointers, quoted};

/// A word so unlike any other that the reader suggests none.
const NONSENSE: &str = "qqqqqq";

/// The reader's message for a mistake in one line of the workflow that uses everything.
fn answer(right: &str, wrong: &str) -> Vec<(ProblemCode, String, String)> {
    assert!(EVERYTHING.contains(right), "there is no `{right}`");
    let problems = load(&EVERYTHING.replacen(right, wrong, 1)).problems;
    problems
        .into_iter()
        .map(|it| (it.code, it.message, it.hint.unwrap_or_default()))
        .collect()
}

/// The keys that the reader accepts in place of the nonsensical one.
fn keys(right: &str, wrong: &str) -> BTreeSet<String> {
    let found = answer(right, wrong).into_iter().find_map(|it| {
        let (_, list) = it.2.split_once(" takes ")?;
        (it.0 == ProblemCode::UnknownKey).then(|| quoted(list))
    });
    let found = found.unwrap_or_else(|| panic!("nothing was said about {wrong}"));
    found.into_iter().collect()
}

/// The words that the reader accepts in place of the nonsensical one.
fn words(right: &str, wrong: &str) -> BTreeSet<String> {
    let nonsense = format!(", not `{NONSENSE}`");
    let found = answer(right, wrong).into_iter().find_map(|it| {
        let (list, _) = it.1.split_once(&nonsense)?;
        let (_, list) = list.split_once(" must be ")?;
        Some(quoted(list))
    });
    let found = found.unwrap_or_else(|| panic!("nothing was said about {wrong}"));
    found.into_iter().collect()
}

fn schema(place: &str) -> &'static Value {
    SCHEMA.pointer(place).unwrap_or_else(|| panic!("{place}"))
}

fn properties(place: &str) -> BTreeSet<String> {
    let properties = schema(place)["properties"].as_object().unwrap();
    properties.keys().cloned().collect()
}

fn enum_values(place: &str) -> BTreeSet<String> {
    assert!(schema(place)["enum"].is_array(), "{place}");
    texts(&schema(place)["enum"]).collect()
}

/// The strings of a list, if there is one.
fn texts(list: &'static Value) -> impl Iterator<Item = String> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap().to_owned())
}

/// Where a key can be written, and where the schema lists the keys for that place.
const MAPPINGS: [(&str, &str, &str); 11] = [
    ("roles: [qa]", "qqqqqq: 1", ""),
    ("    kind: waiting", "    qqqqqq: 1", "/$defs/state"),
    (
        "qa: { prompt: say }",
        "qa: { prompt: say, qqqqqq: 1 }",
        "/$defs/respawn",
    ),
    (
        "{ after: 10s,",
        "{ qqqqqq: 1, after: 10s,",
        "/$defs/state/properties/timeout",
    ),
    ("queued: { set", "queued: { qqqqqq: 1, set", "/$defs/entry"),
    ("    confirm: Really?", "    qqqqqq: 1", "/$defs/transition"),
    (
        "{ pr: {",
        "{ pr: { qqqqqq: 1,",
        "/$defs/written_gate/properties/pr",
    ),
    (
        "unblock: { from",
        "unblock: { qqqqqq: 1, from",
        "/$defs/verb/anyOf/1",
    ),
    (
        "  poll_interval: 5",
        "  qqqqqq: 1",
        "/properties/exit_monitoring",
    ),
    (
        "      role: qa\n      action",
        "      qqqqqq: 1\n      action",
        "/$defs/exit_rule",
    ),
    (
        "        - else: over",
        "        - { else: over, qqqqqq: 1 }",
        "/$defs/case",
    ),
];

#[test]
fn mappings_have_the_same_keys() {
    for (right, wrong, place) in MAPPINGS {
        assert_eq!(keys(right, wrong), properties(place), "{place}");
    }
}

/// The reader treats verbs as words, the schema as keys.
#[test]
fn verbs_are_the_same() {
    let known = listed("verbs:\n", "verbs:\n  qqqqqq: over\n", "the verbs are ");
    assert_eq!(known, properties("/properties/verbs"));
}

#[test]
fn gates_have_the_same_keys() {
    let branches = schema("/$defs/written_gate")["oneOf"].as_array().unwrap();
    let allowed = |kind: &str| -> BTreeSet<String> {
        let of_kind = branches.iter().filter(|it| it["required"][0] == kind);
        let words = of_kind.flat_map(|it| texts(&it["propertyNames"]["enum"]));
        words.collect()
    };
    let mut all = BTreeSet::new();
    for (gate, kind) in [
        ("plan", "section"),
        ("said", "report"),
        ("tidy", "git"),
        ("open", "pr"),
        ("tests", "command"),
    ] {
        let right = format!("  {gate}: {{");
        let known = keys(&right, &format!("{right} qqqqqq: 1,"));
        assert_eq!(known, allowed(kind), "{kind}");
        all.extend(known);
    }
    assert_eq!(all, properties("/$defs/written_gate"));
    let kinds: BTreeSet<&str> = branches
        .iter()
        .filter_map(|it| it["required"][0].as_str())
        .collect();
    assert_eq!(kinds.len(), 5);
}

/// The schema's conditions for hooks, each with the actions it applies to.
fn conditions() -> impl Iterator<Item = (BTreeSet<String>, &'static Value)> {
    let conditions = schema("/$defs/written_hook")["allOf"].as_array().unwrap();
    conditions.iter().map(|condition| {
        let actions = texts(&condition["if"]["properties"]["action"]["enum"]);
        (actions.collect(), &condition["then"])
    })
}

fn actions() -> BTreeSet<String> {
    listed(
        "      - push_branch\n",
        "      - qqqqqq\n",
        "the hooks are ",
    )
}

#[test]
fn hooks_have_the_same_keys() {
    assert_eq!(
        enum_values("/$defs/written_hook/properties/action"),
        actions()
    );
    let mut all = BTreeSet::new();
    for action in actions() {
        let found: Vec<_> = conditions().filter(|it| it.0.contains(&action)).collect();
        let [(_, then)] = found.as_slice() else {
            panic!("{action} is in {} conditions", found.len());
        };
        let right = "      - push_branch\n";
        let known = keys(
            right,
            &format!("      - {{ action: {action}, qqqqqq: 1 }}\n"),
        );
        let allowed: BTreeSet<String> = texts(&then["propertyNames"]["enum"]).collect();
        assert_eq!(known, allowed, "{action}");
        all.extend(known);
        let alone = answer(right, &format!("      - {action}\n"));
        let missing = alone.iter().filter(|it| it.0 == ProblemCode::MissingKey);
        let missing = missing
            .flat_map(|it| quoted(&it.1))
            .filter(|it| *it != action);
        let required: BTreeSet<String> = texts(&then["required"]).collect();
        assert_eq!(missing.collect::<BTreeSet<String>>(), required, "{action}");
    }
    assert_eq!(all, properties("/$defs/written_hook"));
}

#[test]
fn a_hook_is_a_single_word_where_it_needs_nothing_else() {
    let alone = |action: &String| {
        let found = answer("      - push_branch\n", &format!("      - {action}\n"));
        !found.iter().any(|it| it.0 == ProblemCode::MissingKey)
    };
    let alone: BTreeSet<String> = actions().into_iter().filter(alone).collect();
    assert_eq!(enum_values("/$defs/hook/else"), alone);
}

/// Where a word of a list can be written, and where the schema has that list.
const WORDS: [(&str, &str, &str); 18] = [
    ("sandbox: full", "sandbox: qqqqqq", "/properties/sandbox"),
    (
        "kind: queued",
        "kind: qqqqqq",
        "/$defs/state/properties/kind",
    ),
    (
        "trigger: report",
        "trigger: qqqqqq",
        "/$defs/transition/properties/trigger",
    ),
    (
        "permissions: full }\n      qa",
        "permissions: qqqqqq }\n      qa",
        "/$defs/permissions",
    ),
    (
        "verdict: PASS",
        "verdict: qqqqqq",
        "/$defs/written_gate/properties/verdict",
    ),
    (
        "verdict_mode: scan",
        "verdict_mode: qqqqqq",
        "/$defs/written_gate/properties/verdict_mode",
    ),
    (
        "report: status",
        "report: qqqqqq",
        "/$defs/written_gate/properties/report",
    ),
    ("git: [clean,", "git: [qqqqqq,", "/$defs/git_condition"),
    (
        "{ state: open,",
        "{ state: qqqqqq,",
        "/$defs/written_gate/properties/pr/properties/state",
    ),
    (
        "checks: passing",
        "checks: qqqqqq",
        "/$defs/written_gate/properties/pr/properties/checks",
    ),
    (
        "review: approved",
        "review: qqqqqq",
        "/$defs/written_gate/properties/pr/properties/review",
    ),
    (
        "threads: resolved",
        "threads: qqqqqq",
        "/$defs/written_gate/properties/pr/properties/threads",
    ),
    (
        "strategy: squash",
        "strategy: qqqqqq",
        "/$defs/written_hook/properties/strategy",
    ),
    (
        "harness: review",
        "harness: qqqqqq",
        "/$defs/written_hook/properties/harness",
    ),
    (
        "on_error: continue",
        "on_error: qqqqqq",
        "/$defs/written_hook/properties/on_error",
    ),
    ("via: [desktop,", "via: [qqqqqq,", "/$defs/channel"),
    (
        "action: mark_dead",
        "action: qqqqqq",
        "/$defs/exit_rule/properties/action",
    ),
    (
        "on_crash: respawn",
        "on_crash: qqqqqq",
        "/$defs/exit_rule/properties/on_crash",
    ),
];

#[test]
fn lists_have_the_same_words() {
    for (right, wrong, place) in WORDS {
        assert_eq!(words(right, wrong), enum_values(place), "{place}");
    }
}

/// The roles that the hint offers, without the one the file declares.
fn roles(right: &str, wrong: &str) -> BTreeSet<String> {
    let found = answer(right, wrong);
    let hint = found.iter().find_map(|it| it.2.strip_prefix("use "));
    let (list, _) = hint.unwrap().split_once(", or declare").unwrap();
    quoted(list).into_iter().filter(|it| it != "qa").collect()
}

#[test]
fn roles_are_the_same() {
    let asking = roles("by: [worker, qa]", "by: [qqqqqq]");
    assert_eq!(enum_values("/$defs/asking_role/anyOf/0"), asking);
    assert_eq!(enum_values("/$defs/own_role/not"), asking);
    let agents = roles("expects: [worker, qa]", "expects: [qqqqqq]");
    assert_eq!(enum_values("/$defs/agent_role/anyOf/0"), agents);
    let vouches = |role: &String| {
        let wrong = format!("from_role: [{role}]");
        answer("from_role: [reviewer, human, qa]", &wrong).is_empty()
    };
    let vouching: BTreeSet<String> = asking.into_iter().filter(vouches).collect();
    assert_eq!(enum_values("/$defs/vouching_role/anyOf/0"), vouching);
}

/// The names that a hint lists after `before`.
fn listed(right: &str, wrong: &str, before: &str) -> BTreeSet<String> {
    let found = answer(right, wrong);
    let hint = found.iter().find_map(|it| it.2.strip_prefix(before));
    quoted(hint.unwrap()).into_iter().collect()
}

#[test]
fn names_that_are_taken_are_the_same() {
    let compared = listed("when: loops < 5", "when: qqqqqq < 5", "the fields are ");
    let set = listed("set: { loops: 1 }", "set: { qqqqqq: 1 }", "the fields are ");
    let kept: BTreeSet<String> = compared.difference(&set).cloned().collect();
    assert_eq!(enum_values("/$defs/kept_by_orange"), kept);
    let variables = listed("{{{summary}}}", "{qqqqqq}", "the variables are ");
    let mut texts: BTreeSet<String> = variables.difference(&set).cloned().collect();
    assert!(texts.remove("max_rounds"), "a limit is a variable");
    // The parser would take `and` as joining two comparisons.
    texts.insert("and".to_owned());
    assert_eq!(enum_values("/$defs/taken_by_texts"), texts);
    for name in texts {
        let wrong = format!("limits:\n  {name}: 1\n");
        assert_eq!(
            answer("limits:\n", &wrong)[0].0,
            ProblemCode::InvalidValue,
            "{name}"
        );
    }
}

/// Single words, each in a line that is valid with it and invalid without.
#[test]
fn single_words_are_the_same() {
    let constants: BTreeSet<String> = pointers(&SCHEMA)
        .iter()
        .filter(|pointer| pointer.ends_with("/const"))
        .map(|pointer| schema(pointer).to_string())
        .collect();
    let expected = [
        "\"*active\"",
        "\"@previous\"",
        "\"anyone\"",
        "\"increment\"",
        "1",
        "true",
    ];
    assert_eq!(constants, expected.map(str::to_owned).into());
    for (line, word) in [
        ("from: \"*active\"", "\"*active\""),
        ("to: \"@previous\"", "\"@previous\""),
        ("by: anyone", "anyone"),
        ("set: { loops: increment }", "increment"),
        ("version: 1", "1"),
        ("required: true", "true"),
    ] {
        assert_eq!(answer(line, line).len(), 0, "{line}");
        assert_ne!(
            answer(line, &line.replace(word, NONSENSE)).len(),
            0,
            "{line}"
        );
    }
}

/// A new list or mapping in the schema must be added to the tables above.
#[test]
fn nothing_of_the_schema_is_left_out() {
    let mut covered: BTreeSet<&str> = WORDS.iter().map(|it| it.2).collect();
    covered.extend(MAPPINGS.iter().map(|it| it.2));
    covered.extend([
        "/properties/verbs",
        "/$defs/written_gate",
        "/$defs/written_hook",
        "/$defs/written_hook/properties/action",
        "/$defs/hook/else",
        "/$defs/asking_role/anyOf/0",
        "/$defs/own_role/not",
        "/$defs/agent_role/anyOf/0",
        "/$defs/vouching_role/anyOf/0",
        "/$defs/kept_by_orange",
        "/$defs/taken_by_texts",
    ]);
    let places = pointers(&SCHEMA);
    let lists = places.iter().filter(|place| {
        let value = schema(place);
        let is_list = value.get("enum").is_some_and(Value::is_array)
            || value.get("properties").is_some_and(Value::is_object);
        // These combine what is listed elsewhere; the mutants cover the combinations.
        let is_condition = place.contains("/allOf/") || place.contains("/oneOf/");
        is_list && !is_condition
    });
    let lists: BTreeSet<&str> = lists.map(String::as_str).collect();
    assert_eq!(lists, covered);
}

#[test]
fn the_workflow_that_uses_everything_is_right() {
    assert_eq!(load(EVERYTHING).problems, []);
    assert!(json(EVERYTHING).is_object());
}
