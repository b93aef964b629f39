//! The documents and the table that the shipped workflows come from.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::Decision;
use orange_engine::check::{FindingCode, check};
use orange_engine::effect::Effect;
use orange_engine::evidence::Evidence;
use orange_engine::input::Observation;
use orange_engine::language::exit_rules::{ExitOutcome, OnCrash};

use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::{Kind, Permissions, Target, Trigger};
use orange_engine::load;
use orange_engine::names::PromptName;
use orange_engine::role::Role;

use crate::kit::{ALL_HOLD, World, git_facts, load_clean, shipped_workflow, status};
use crate::witness;

/// The structure of both documents, with prompts in our own words.
const LARGE: &str = include_str!("seeds/large.yml");
const MINIMAL: &str = include_str!("seeds/minimal.yml");

#[test]
fn both_documents_load_without_a_problem() {
    assert_eq!(load_clean(LARGE).states.len(), 8);
    assert_eq!(load_clean(MINIMAL).states.len(), 5);
}

/// The documents themselves lie beside the checkout, not in it. Where they do, they must load
/// unchanged and differ from the copies above in nothing but the text of their prompts.
#[test]
fn the_original_documents_load_unchanged_where_they_are_at_hand() {
    let Some(folder) = seed_folder() else {
        return;
    };
    let text = seed_text(&folder, "002_");
    let documents = original_documents(&text);
    assert_eq!(documents.len(), 2);
    for (document, copy) in documents.iter().zip([LARGE, MINIMAL]) {
        let mut original = load_clean(document);
        let copy = load_clean(copy);
        let names: Vec<&PromptName> = original.prompts.keys().collect();
        assert_eq!(names, copy.prompts.keys().collect::<Vec<_>>());
        original.prompts = copy.prompts.clone();
        assert_eq!(without_places(&original), without_places(&copy));
    }
}

fn original_documents(text: &str) -> Vec<&str> {
    text.split("```yaml\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .filter(|block| block.starts_with("name:"))
        .collect()
}

/// Everything but line numbers, which the comments of the original shift.
fn without_places(workflow: &orange_engine::Workflow) -> String {
    serde_json::to_string(workflow).unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the original documents are files beside the checkout"
)]
fn seed_folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    fs::canonicalize(beside).ok()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the original documents are files beside the checkout"
)]
fn seed_text(folder: &Path, prefix: &str) -> String {
    let file = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        })
        .unwrap();
    fs::read_to_string(file).unwrap()
}

#[test]
fn version_1_fills_in_what_the_documents_leave_out() {
    let workflow = load_clean(LARGE);
    let state = |name: &str| workflow.state(&status(name)).unwrap();
    assert_eq!(workflow.entries.len(), 1);
    assert_eq!(workflow.entries[0].status, status("pending"));
    assert_eq!(state("pending").kind, Kind::Queued);
    assert_eq!(state("working").kind, Kind::Agent);
    assert_eq!(state("agent-review").kind, Kind::Agent);
    assert_eq!(state("reviewing").kind, Kind::Human);
    assert_eq!(state("stuck").kind, Kind::Human);
    assert_eq!(state("done").kind, Kind::Terminal);
    assert_eq!(state("working").expects, [Role::Worker]);
    assert_eq!(state("agent-review").expects, [Role::Reviewer]);
    assert_eq!(state("clarification").expects, [Role::Worker]);
    assert_eq!(state("reviewing").expects, []);
    let respawn = &state("agent-review").respawn[&Role::Reviewer];
    assert_eq!(respawn.prompt.as_str(), "reviewer");
    assert_eq!(respawn.permissions, Permissions::Reduced);
    assert_eq!(
        state("stuck").respawn[&Role::Worker].prompt.as_str(),
        "stuck_fix"
    );
    assert!(workflow.edges.iter().all(|edge| edge.by.is_empty()));
    assert!(
        workflow
            .edges
            .iter()
            .all(|edge| edge.trigger == Trigger::Request)
    );
    let crash = workflow
        .exit_rules
        .iter()
        .find_map(|rule| match &rule.outcome {
            ExitOutcome::Crash(crash) => Some(crash),
            _ => None,
        });
    let crash = crash.unwrap();
    assert_eq!(crash.stuck_after, Some(2));
    assert_eq!(crash.then, Some(status("stuck")));
    assert_eq!(crash.on_crash, OnCrash::Mark);
    let verb = |verb| workflow.verbs[&verb].clone();
    let to = |name: &str| Target::Status(status(name));
    assert_eq!(verb(Verb::Spawn), [to("working"), to("clarification")]);
    assert_eq!(verb(Verb::Merge), [to("done")]);
    assert_eq!(verb(Verb::Cancel), [to("cancelled")]);
    assert_eq!(verb(Verb::Complete), [to("agent-review"), to("reviewing")]);
    assert_eq!(verb(Verb::Stuck), [to("stuck")]);
    assert_eq!(verb(Verb::RequestChanges), [to("working")]);
    assert_eq!(verb(Verb::Retry), [to("pending")]);
    assert_eq!(verb(Verb::Unblock), [to("pending")]);
}

/// One of the six mistakes that the documents are known to have.
struct Known {
    document: &'static str,
    code: FindingCode,
    message: &'static str,
    /// What the last steps of its story say; a mistake that the file alone shows has none.
    story: &'static [&'static str],
}

const KNOWN: [Known; 7] = [
    Known {
        document: MINIMAL,
        code: FindingCode::ExitTargetMissing,
        message: "the exit rule of `working` counts crashes up to 2, and there is no state for",
        story: &[],
    },
    Known {
        document: LARGE,
        code: FindingCode::ExitRefused,
        message: "the reviewer crashes 2 times in `agent-review`, the exit rule leads to `stuck`",
        story: &["the person respawns the reviewer", "the reviewer dies"],
    },
    Known {
        document: LARGE,
        code: FindingCode::LimitExceeded,
        message: "from `stuck` to `agent-review` counts `review_round` beyond its limit of 2",
        story: &[
            "the reviewer asks for `stuck`, showing FAIL in `## Review`",
            "the person asks for `agent-review`",
        ],
    },
    Known {
        document: LARGE,
        code: FindingCode::StaleArtifact,
        message: "an old FAIL in `## Review` leads from `agent-review` to `stuck` in a later round",
        story: &[
            "the worker asks for `agent-review`, showing `## Handoff` and the old FAIL in `## Review`",
            "the reviewer dies, showing the old FAIL in `## Review`",
        ],
    },
    Known {
        document: LARGE,
        code: FindingCode::StaleArtifact,
        message: "an old `## Handoff` leads from `working` to `agent-review` in a later round",
        story: &["the worker dies, showing the old `## Handoff`"],
    },
    Known {
        document: LARGE,
        code: FindingCode::JudgesItself,
        message: "the worker can write the PASS that leads from `agent-review` to `reviewing`",
        story: &[
            "the worker writes PASS in `## Review`",
            "the worker asks for `agent-review`, showing `## Handoff` and the old PASS in `## Review`",
            "the reviewer dies, showing the old PASS in `## Review`",
        ],
    },
    Known {
        document: LARGE,
        code: FindingCode::AskerEnded,
        message: "from `working` to `agent-review`, asked for by the worker, ends the worker",
        story: &["the worker asks for `agent-review`, showing `## Handoff`"],
    },
];

#[test]
fn the_known_mistakes_of_the_documents_are_found() {
    for known in &KNOWN {
        let workflow = load_clean(known.document);
        let checked = check(&workflow);
        let mut findings = checked.findings.iter();
        let found = findings.find(|it| it.code == known.code && it.message.contains(known.message));
        let found = found.unwrap_or_else(|| panic!("{} {}", known.code, known.message));
        witness::is_true(&workflow, found);
        let told = found.story.iter().flat_map(|story| &story.told);
        let told: Vec<&str> = told.map(|told| told.what.as_str()).collect();
        assert_eq!(told.is_empty(), known.story.is_empty(), "{}", known.message);
        let last = &told[told.len() - known.story.len()..];
        assert_eq!(last, known.story, "{told:#?}");
    }
}

/// Every finding on both documents; the originals differ from the copies in nothing but prompts.
#[test]
fn everything_that_is_wrong_with_the_documents() {
    let mut shown = String::new();
    for (name, document) in [("large", LARGE), ("minimal", MINIMAL)] {
        let workflow = load_clean(document);
        let checked = check(&workflow);
        assert!(checked.covered.is_complete);
        for finding in &checked.findings {
            witness::is_true(&workflow, finding);
            let (severity, code) = (finding.severity, finding.code);
            let _ = writeln!(shown, "{name}: {severity}: {code}: {}", finding.message);
            for told in finding.story.iter().flat_map(|story| &story.told) {
                let _ = writeln!(shown, "    {} -> {}", told.what, told.status);
            }
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("seeds_findings", shown);
    });
}

/// What prompts say aside, the originals have the same findings.
#[test]
fn the_originals_have_the_same_mistakes_where_they_are_at_hand() {
    let Some(folder) = seed_folder() else {
        return;
    };
    let text = seed_text(&folder, "002_");
    for (original, copy) in original_documents(&text).iter().zip([LARGE, MINIMAL]) {
        let listed = |source: &str| -> Vec<String> {
            let checked = check(&load_clean(source));
            let findings = checked.findings.iter();
            let about_prompts = [
                FindingCode::PromptStatusClosed,
                FindingCode::SectionUnmentioned,
                FindingCode::VariableInBraces,
            ];
            findings
                .filter(|finding| !about_prompts.contains(&finding.code))
                .map(|finding| format!("{} {}", finding.code, finding.message))
                .map(without_line_numbers)
                .collect()
        };
        assert_eq!(listed(original), listed(copy));
    }
}

/// Some messages name lines, which the comments of the original shift.
fn without_line_numbers(message: String) -> String {
    match message.split_once(" in line ") {
        Some((before, _)) => before.to_owned(),
        None => message,
    }
}

#[test]
fn the_small_document_counts_crashes_towards_nothing() {
    let workflow = load_clean(MINIMAL);
    let mut world = World::placed(&workflow, "working");
    world.set("crash_count", 1);
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("working"));
    assert_eq!(world.task.crash_count, 2);
    assert_eq!(
        world.task.attention,
        [
            "the worker exited with code 1; it crashed 2 times in this status, and the workflow names \
          no state for that"
        ]
    );
}

#[test]
fn the_large_document_cannot_leave_agent_review_after_crashes() {
    let workflow = load_clean(LARGE);
    let mut world = World::placed(&workflow, "agent-review");
    world.set("review_round", 1);
    world.set("crash_count", 1);
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("agent-review"));
    assert_eq!(world.task.attention.len(), 1);
    assert_eq!(
        world.task.attention[0],
        "the reviewer exited with code 1; it crashed 2 times in this status, and nothing could be \
         done: `review_round >= 2` does not hold: review_round is 1; `## Review` is missing in \
         TASK.md"
    );
}

/// A row of the table that `default` comes from: from, to, what it needs, what it does.
struct Row {
    from: &'static str,
    to: &'static str,
    /// What TASK.md must say, and in which round.
    given: Given,
    hooks: &'static [&'static str],
    /// How `default` differs on purpose, if it does.
    differs: Option<(&'static [&'static str], &'static str)>,
}

#[derive(Clone, Copy)]
enum Given {
    Nothing,
    Plan,
    Handoff,
    Pass,
    Fail(i64),
}

const fn row(
    from: &'static str,
    to: &'static str,
    given: Given,
    hooks: &'static [&'static str],
) -> Row {
    Row {
        from,
        to,
        given,
        hooks,
        differs: None,
    }
}

const LET_GO: &[&str] = &["kill_session", "release_workspace"];

static TABLE: [Row; 20] = [
    row(
        "pending",
        "planning",
        Given::Nothing,
        &["acquire_workspace", "spawn_agent"],
    ),
    row("pending", "cancelled", Given::Nothing, &[]),
    row("planning", "working", Given::Plan, &[]),
    row("planning", "clarification", Given::Nothing, &[]),
    row("planning", "cancelled", Given::Nothing, LET_GO),
    Row {
        differs: Some((
            &["clarifications"],
            "leaving is counted, so that a worker tires of it",
        )),
        ..row("clarification", "planning", Given::Nothing, &[])
    },
    row("clarification", "cancelled", Given::Nothing, LET_GO),
    Row {
        differs: Some((
            &["archive_section", "review_round", "spawn_reviewer"],
            "the round is counted before the spawn that uses it, and an old review is set aside",
        )),
        ..row(
            "working",
            "agent-review",
            Given::Handoff,
            &["spawn_reviewer", "review_round"],
        )
    },
    row("working", "clarification", Given::Nothing, &[]),
    Row {
        differs: Some((
            &["notify_worker"],
            "entering stuck makes sure that an agent is there",
        )),
        ..row("working", "stuck", Given::Nothing, &[])
    },
    row("working", "cancelled", Given::Nothing, LET_GO),
    row("agent-review", "reviewing", Given::Pass, &["kill_reviewer"]),
    row(
        "agent-review",
        "working",
        Given::Fail(1),
        &["kill_reviewer", "notify_worker"],
    ),
    Row {
        differs: Some((
            &["kill_reviewer", "notify_worker"],
            "entering stuck makes sure that an agent is there",
        )),
        ..row("agent-review", "stuck", Given::Fail(2), &["kill_reviewer"])
    },
    row(
        "agent-review",
        "cancelled",
        Given::Nothing,
        &["kill_reviewer", "kill_session", "release_workspace"],
    ),
    Row {
        differs: Some((
            &[
                "review_round",
                "clarifications",
                "delegations",
                "notify_worker",
            ],
            "a person's decision begins a new account",
        )),
        ..row("reviewing", "working", Given::Nothing, &["notify_worker"])
    },
    row(
        "reviewing",
        "done",
        Given::Nothing,
        &[
            "kill_session",
            "release_workspace",
            "delete_remote_branch",
            "spawn_next",
        ],
    ),
    row("reviewing", "cancelled", Given::Nothing, LET_GO),
    Row {
        differs: Some((
            &["review_round", "clarifications", "delegations"],
            "a person's decision begins a new account",
        )),
        ..row("stuck", "reviewing", Given::Nothing, &[])
    },
    row("stuck", "cancelled", Given::Nothing, LET_GO),
];

#[test]
fn the_table_of_the_first_seed_is_a_subset_of_default() {
    let workflow = shipped_workflow("default");
    for row in &TABLE {
        let done = take(&workflow, row);
        let wanted = row.differs.map_or(row.hooks, |(hooks, _)| hooks);
        let set_by_a_start = ["spawn_failures"];
        let done: Vec<&str> = done
            .iter()
            .map(String::as_str)
            .filter(|name| !set_by_a_start.contains(name))
            .collect();
        assert_eq!(done, wanted, "{} -> {}", row.from, row.to);
        if let Some((hooks, reason)) = row.differs {
            assert_ne!(hooks, row.hooks, "{reason}");
        }
    }
}

/// What the table asks for is asked for: without it, the same row is refused.
#[test]
fn every_gate_of_the_first_seed_is_a_gate_of_default() {
    let workflow = shipped_workflow("default");
    let gated = TABLE
        .iter()
        .filter(|row| !matches!(row.given, Given::Nothing));
    assert_eq!(gated.clone().count(), 5);
    for row in gated {
        let mut world = World::placed(&workflow, row.from);
        if let Given::Fail(round) = row.given {
            world.set("review_round", round);
        }
        let refusal = world.refused(asker(row), row.to);
        assert_eq!(refusal.code(), "gate-failed", "{} -> {}", row.from, row.to);
    }
    // The other round leads elsewhere.
    for (round, to) in [(2, "working"), (1, "stuck")] {
        let mut world = World::placed(&workflow, "agent-review");
        world.write(&[("## Review", "Verdict: FAIL")]);
        world.set("review_round", round);
        assert_eq!(world.refused(Role::Reviewer, to).code(), "guard-failed");
    }
}

/// Whom the seed's prompts tell to run the command, else the person.
fn asker(row: &Row) -> Role {
    match (row.from, row.to) {
        (_, "cancelled" | "done") | ("pending" | "reviewing" | "stuck", _) => Role::Human,
        ("agent-review", _) => Role::Reviewer,
        _ => Role::Worker,
    }
}

fn take(workflow: &orange_engine::Workflow, row: &Row) -> Vec<String> {
    let mut world = World::placed(workflow, row.from);
    match row.given {
        Given::Nothing => {}
        Given::Plan => world.write(&[("## Plan", "TOUCHING: src")]),
        Given::Handoff => world.write(&[("## Handoff", "UNCERTAIN: the name")]),
        Given::Pass => world.write(&[("## Review", "Verdict: PASS")]),
        Given::Fail(round) => {
            world.write(&[("## Review", "Verdict: FAIL")]);
            world.set("review_round", round);
        }
    }
    let decision = if row.to == "done" {
        // Only a merge that happened leads there: no role can just claim it.
        assert_eq!(world.refused(Role::Human, "done").code(), "not-by-request");
        world.facts.git = Some(git_facts(&ALL_HOLD));
        world.verb(Role::Human, Verb::Merge);
        let merge = world.task.merging().unwrap();
        let effect = world
            .task
            .pending_effect(merge)
            .unwrap()
            .planned
            .effect
            .clone();
        assert!(matches!(effect, Effect::Merge(_)));
        let outcome = world.outcome_of(&effect);
        let plan = world.observe(Observation::EffectDone {
            effect: merge,
            outcome,
        });
        Decision::Plan(plan)
    } else {
        world.move_to(asker(row), row.to)
    };
    let Decision::Plan(plan) = decision else {
        panic!("{} -> {}: {decision:#?}", row.from, row.to)
    };
    assert_eq!(world.task.status, status(row.to));
    plan.events
        .iter()
        .filter_map(|event| match &event.fact {
            orange_engine::event::Fact::EffectPlanned(planned) => {
                Some(planned.effect.label().to_owned())
            }
            orange_engine::event::Fact::FieldSet { field, .. } => Some(field.to_string()),
            _ => None,
        })
        .collect()
}

#[test]
fn an_unreadable_document_is_never_a_workflow() {
    assert!(load("name: x\nversion: 1\n").workflow.is_none());
}
