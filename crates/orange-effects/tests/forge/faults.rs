//! Every fault of the scripted forge, as the client sees it.

use orange_effects::forge::error::{ForgeError, QuotaKind, Trouble};
use orange_effects::forge::github::pull_requests::MergeMethod;
use orange_effects::forge::github::{details, mutations};
use scripted_forge::Fault;

use crate::stage::{ISSUE, PULL, REPOSITORY, Stage, text};

struct Operation {
    /// The name by which the forge counts and spoils it.
    name: &'static str,
    is_write: bool,
    is_graph: bool,
    run: fn(&mut Stage) -> Result<(), ForgeError>,
}

const OPERATIONS: [Operation; 5] = [
    Operation {
        name: "pulls/get",
        is_write: false,
        is_graph: false,
        run: |it| it.repository().fetch_pull_request(PULL).map(drop),
    },
    Operation {
        name: "node",
        is_write: false,
        is_graph: true,
        run: |it| {
            let id = it.pull_id();
            details::fetch_details(&mut it.client, &id).map(drop)
        },
    },
    Operation {
        name: "issues/create-comment",
        is_write: true,
        is_graph: false,
        run: |it| it.repository().create_comment(ISSUE, &text("x")).map(drop),
    },
    Operation {
        name: "markPullRequestReadyForReview",
        is_write: true,
        is_graph: true,
        run: |it| {
            let id = it.pull_id();
            mutations::mark_ready(&mut it.client, &id)
        },
    },
    Operation {
        name: "pulls/merge",
        is_write: true,
        is_graph: false,
        run: |it| {
            let (head, method) = (it.head(), MergeMethod::Merge);
            let mut repository = it.repository();
            repository
                .merge_pull_request(PULL, &head, method, None)
                .map(drop)
        },
    },
];

/// Whether this is what the client should make of a fault.
fn is_expected(operation: &Operation, fault: Fault, result: &Result<(), ForgeError>) -> bool {
    let trouble = match result {
        Ok(()) => {
            return match fault {
                Fault::Slow(_) => true,
                // Only an answer of GraphQL can have a hole.
                Fault::PartialData => !operation.is_graph,
                _ => false,
            };
        }
        Err(error) => &error.trouble,
    };
    match fault {
        Fault::CutBefore | Fault::CutAfter => matches!(trouble, Trouble::Unreachable { .. }),
        Fault::PartialData | Fault::BadGateway | Fault::GatewayTimeout | Fault::ServerError => {
            matches!(trouble, Trouble::ServerTrouble { .. })
        }
        Fault::Slow(_) => false,
        Fault::Garbage | Fault::WrongType | Fault::Truncated => {
            matches!(trouble, Trouble::Malformed { .. })
        }
        Fault::Unauthorized => matches!(trouble, Trouble::Unauthorised { .. }),
        Fault::QuotaUsedUp => {
            let primary = QuotaKind::Primary;
            matches!(trouble, Trouble::QuotaUsedUp { kind, .. } if *kind == primary)
        }
        Fault::TooMany => {
            let secondary = QuotaKind::Secondary;
            matches!(trouble, Trouble::QuotaUsedUp { kind, .. } if *kind == secondary)
        }
    }
}

#[test]
fn lesson_90_every_fault_is_sorted_and_every_write_is_sent_once() {
    for operation in &OPERATIONS {
        for fault in Fault::ALL {
            let mut stage = Stage::new();
            if operation.is_write {
                stage
                    .forge
                    .set_draft(REPOSITORY, PULL, "octo", operation.is_graph);
            }
            stage.forge.fault(operation.name, 1, fault);
            let before = stage.picture();
            let result = (operation.run)(&mut stage);
            let case = format!("{} with {fault:?}: {result:?}", operation.name);
            assert!(is_expected(operation, fault, &result), "{case}");
            // A read of a token that has not changed is not repeated either.
            assert_eq!(stage.forge.count(operation.name), 1, "{case}");
            let is_done = operation.is_write && fault.takes_effect();
            assert_eq!(stage.forge.writes().len(), usize::from(is_done), "{case}");
            assert_eq!(!stage.changes(&before).is_empty(), is_done, "{case}");
            // No error may say that nothing was done when it was.
            if let Err(error) = &result {
                assert!(!is_done || error.may_have_taken_effect(), "{case}");
            }
            stage.forge.finish();
        }
    }
}

#[test]
fn lesson_87_a_failed_write_does_not_stop_the_next() {
    for fault in Fault::ALL {
        let mut stage = Stage::new();
        stage.forge.fault_always("issues/create-comment", fault);
        let mut repository = stage.repository();
        let _failed = repository.create_comment(ISSUE, &text("x"));
        repository.add_labels(ISSUE, &[text("one")]).unwrap();
        let _failed = repository.create_comment(ISSUE, &text("y"));
        repository.add_labels(ISSUE, &[text("two")]).unwrap();
        let labels = stage.forge.get(REPOSITORY, ISSUE).labels;
        assert_eq!(labels, ["bug", "one", "two"], "{fault:?}");
        stage.forge.finish();
    }
}
