//! Properties that hold for any bytes, fuzzed or from the corpus.

use orange_check::diff::diff;
use orange_engine::decision::Decision;
use orange_engine::document::reading::{self, VerdictMode};
use orange_engine::document::{Document, FieldValue, Frontmatter, SectionName, demote_headings};
use orange_engine::input::{Cause, DecisionContext, Facts, Input, NewTask, Request, RequestKind};
use orange_engine::language::intervals::{find_overlap, find_uncovered};
use orange_engine::language::prompt::Prompt;
use orange_engine::language::when::{Limits, When};
use orange_engine::names::{BranchName, FreshId, HarnessName, LimitName, ProjectName, TaskId};
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::time::Timestamp;
use orange_engine::{create, decide, load, replay, shipped_workflows};

/// A document reads back byte for byte, and an edit changes only what it names.
pub fn task_file(data: &[u8]) {
    let Ok(document) = Document::parse(data) else {
        return;
    };
    assert_eq!(document.text().as_bytes(), data);
    for section in document.sections() {
        let content = document.content(section);
        let fields = [String::from("DONE"), String::from("UNCERTAIN")];
        let _ = reading::has_content(content);
        let _ = reading::field_with_content(content, &fields);
        let _ = reading::empty_fields(content, &fields);
        let _ = reading::verdict(content, VerdictMode::FirstLine);
        let _ = reading::verdict(content, VerdictMode::Scan);
    }
    let status = FieldValue::Text(String::from("agent-review"));
    let edited = document.with_fields(&[
        ("status", status.clone()),
        ("version", FieldValue::Integer(7)),
    ]);
    let Frontmatter::Present(fields) = edited.frontmatter() else {
        panic!("a written frontmatter cannot be read: {:?}", edited.text());
    };
    assert_eq!(fields.text("status"), Some("agent-review"));
    assert_eq!(fields.integer("version"), Some(7));
    let again = edited.with_fields(&[("status", status), ("version", FieldValue::Integer(7))]);
    assert_eq!(again.text(), edited.text());
    let review = SectionName::from_title("Review");
    let archived = document.with_section_archived(&review);
    assert!(archived.section(&review).is_none(), "{:?}", archived.text());
    let demoted = demote_headings(document.text());
    let placed = format!("## Context\n\n{demoted}\n\n## Plan\n\nAPPROACH: x\n");
    if let Ok(placed) = Document::parse(placed.as_bytes()) {
        let names: Vec<String> = placed
            .sections()
            .iter()
            .map(|section| section.name().to_string())
            .collect();
        assert_eq!(names, ["## Context", "## Plan"], "{:?}", placed.text());
    }
}

/// A file is a workflow or a list of problems; every query of a workflow works.
pub fn workflow(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    let loaded = load(source);
    for problem in &loaded.problems {
        assert!(problem.at.line >= 1 && problem.at.column >= 1);
        let _ = problem.at.render_excerpt(&problem.excerpt);
    }
    assert!(loaded.workflow.is_some() || !loaded.problems.is_empty());
    let Ok(workflow) = loaded.into_result() else {
        return;
    };
    assert!(diff(&workflow, &workflow).is_empty());
    for shipped in &shipped_workflows::ALL {
        for difference in load(shipped.source)
            .workflow
            .map_or_else(Vec::new, |it| diff(&it, &workflow))
        {
            assert!(!difference.to_string().is_empty());
        }
    }
    let new = NewTask {
        id: TaskId::new("k3f9"),
        project: ProjectName::new("coffee"),
        by: Role::Human,
        status: None,
        summary: String::from("Add a thing"),
        branch: BranchName::new("b"),
        harness: HarnessName::new("claude"),
        review_harness: HarnessName::new("codex"),
        agent_settings: orange_engine::task::AgentSettings::default(),
        routing: Routing::default(),
        queueing: orange_engine::task::Queueing::default(),
        issue: None,
        job: None,
        pull_request: None,
    };
    let Decision::Plan(plan) = create(&workflow, &new, &known()) else {
        return;
    };
    let Ok(task) = replay(&plan.events) else {
        panic!("a plan is not a history");
    };
    for state in &workflow.states {
        for by in [Role::Worker, Role::Human, Role::Engine] {
            let ask = RequestKind::Move {
                to: state.name.clone(),
            };
            let request = Request {
                by,
                kind: ask,
                is_confirmed: true,
                message: None,
                head: None,
                if_version: None,
            };
            let input = Input {
                context: known(),
                cause: Cause::Request(request),
            };
            let decision = decide(&workflow, &task, &input);
            if let Decision::Plan(next) = decision {
                let events = plan.events.iter().chain(&next.events);
                assert!(replay(events).is_ok());
            }
        }
    }
}

/// A guard parses or the error says where; proofs about it agree with it.
pub fn when(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let limits = Limits::from([(LimitName::new("max"), 2)]);
    match When::parse(text, &limits) {
        Err(error) => assert!(error.offset <= text.chars().count()),
        Ok(guard) => {
            if let Some(witness) = find_overlap(Some(&guard), None) {
                assert!(guard.holds(|field| witness.get(field).copied().unwrap_or(0)));
            }
            if let Ok(Some(witness)) = find_uncovered(&[&guard]) {
                assert!(!guard.holds(|field| witness.get(field).copied().unwrap_or(0)));
            }
        }
    }
}

/// A prompt parses or the error says where; substituted values are never parsed again.
pub fn prompt(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Prompt::parse(text) {
        Err(error) => assert!(error.offset <= text.chars().count()),
        Ok(prompt) => {
            let variables = prompt.variables().count();
            let filled = prompt.fill(|_| Some(String::from("{x}")));
            assert!(filled.matches("{x}").count() >= variables);
        }
    }
}

fn known() -> DecisionContext {
    DecisionContext {
        at: Timestamp::from_millis(0),
        fresh: FreshId::new("r1"),
        document: Document::parse(b"## Plan\n\nAPPROACH: x\n").ok(),
        facts: Facts::default(),
    }
}
