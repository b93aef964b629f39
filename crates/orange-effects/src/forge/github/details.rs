//! Reads all checks and the whole discussion of one pull request.

use std::mem;

use orange_engine::forge::checks::{Check, Rollup};
use orange_engine::forge::feedback::{Comment, Discussion, Review, ReviewVerdict, Thread};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::names::CommitId;
use orange_engine::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::glance::rollup;
use super::wire::{
    GraphAccount, check_outcome, graph_account, nullable, or_default, status_outcome,
};
use crate::forge::client::Client;
use crate::forge::error::{ForgeError, Trouble};

/// How many pages of one list are read; a longer list is reported as incomplete.
const MAX_PAGES: usize = 50;

const PAGE: &str = "pageInfo{hasNextPage endCursor}";
const AUTHOR: &str = "author{login __typename}";

/// What is known about one pull request while its head is this commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    pub head: CommitId,
    pub checks: Vec<Check>,
    pub are_checks_complete: bool,
    pub rollup: Knowledge<Rollup>,
    pub discussion: Discussion,
}

#[derive(Serialize)]
struct Variables<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a str>,
}

#[derive(Deserialize)]
struct NodeData<T> {
    // No default: the answer must have this key, even if its value is `null`.
    node: Option<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequestDetails {
    head_ref_oid: CommitId,
    #[serde(default, deserialize_with = "nullable")]
    status_check_rollup: Knowledge<RollupDetails>,
    #[serde(default)]
    review_threads: Option<Connection<ThreadNode>>,
    #[serde(default)]
    reviews: Option<Connection<ReviewNode>>,
    #[serde(default)]
    comments: Option<Connection<CommentNode>>,
}

#[derive(Deserialize)]
struct RollupDetails {
    #[serde(default, deserialize_with = "nullable")]
    state: Knowledge<String>,
    contexts: Connection<ContextNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection<T> {
    page_info: PageInfo,
    nodes: Vec<Option<T>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    #[serde(default)]
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "__typename")]
enum ContextNode {
    #[serde(rename_all = "camelCase")]
    CheckRun {
        name: String,
        status: String,
        #[serde(default)]
        conclusion: Option<String>,
        #[serde(default)]
        started_at: Option<Timestamp>,
        #[serde(default, deserialize_with = "or_default")]
        is_required: bool,
        #[serde(default)]
        check_suite: Option<SuiteNode>,
    },
    #[serde(rename_all = "camelCase")]
    StatusContext {
        context: String,
        state: String,
        #[serde(default)]
        created_at: Option<Timestamp>,
        #[serde(default, deserialize_with = "or_default")]
        is_required: bool,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SuiteNode {
    #[serde(default)]
    workflow_run: Option<WorkflowRunNode>,
    #[serde(default)]
    app: Option<NameNode>,
}

#[derive(Deserialize)]
struct WorkflowRunNode {
    workflow: NameNode,
}

#[derive(Deserialize)]
struct NameNode {
    #[serde(default, deserialize_with = "or_default")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadNode {
    id: String,
    is_resolved: bool,
    #[serde(default, deserialize_with = "or_default")]
    is_outdated: bool,
    #[serde(default, deserialize_with = "or_default")]
    path: String,
    #[serde(default)]
    line: Option<u64>,
    comments: Connection<CommentNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewNode {
    id: String,
    #[serde(default)]
    author: Option<GraphAccount>,
    state: String,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    /// Absent while the review is a draft.
    #[serde(default)]
    submitted_at: Option<Timestamp>,
    #[serde(default)]
    commit: Option<CommitNode>,
}

#[derive(Deserialize)]
struct CommitNode {
    oid: CommitId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommentNode {
    id: String,
    #[serde(default)]
    database_id: Option<u64>,
    #[serde(default)]
    author: Option<GraphAccount>,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct ThreadComments {
    comments: Connection<CommentNode>,
}

/// The part of a query that reads the checks. The next three functions are the same for threads,
/// reviews and comments. `page` is empty for the first page and `AFTER` for a later one.
fn contexts(page: &str) -> String {
    format!(
        "statusCheckRollup{{state contexts(first:100{page}){{{PAGE} nodes{{__typename \
         ...on CheckRun{{name status conclusion startedAt isRequired(pullRequestId:$id) \
         checkSuite{{app{{name}} workflowRun{{workflow{{name}}}}}}}} \
         ...on StatusContext{{context state createdAt isRequired(pullRequestId:$id)}}}}}}}}"
    )
}

fn threads(page: &str) -> String {
    let comments = comments("", 50);
    format!(
        "reviewThreads(first:30{page}){{{PAGE} nodes{{id isResolved isOutdated path line \
         {comments}}}}}"
    )
}

fn reviews(page: &str) -> String {
    format!(
        "reviews(first:50{page}){{{PAGE} nodes{{id {AUTHOR} state body submittedAt commit{{oid}}}}}}"
    )
}

fn comments(page: &str, count: usize) -> String {
    format!(
        "comments(first:{count}{page}){{{PAGE} nodes{{id databaseId {AUTHOR} body createdAt}}}}"
    )
}

fn pull_request_query(after: bool, parts: &str) -> String {
    let after = if after { ",$after:String!" } else { "" };
    format!("query($id:ID!{after}){{node(id:$id){{...on PullRequest{{headRefOid {parts}}}}}}}")
}

/// Reads everything about a pull request. If the head moves in the meantime, neither the checks nor
/// the discussion count as complete.
pub fn fetch_details(client: &mut Client, id: &str) -> Result<Details, ForgeError> {
    let parts = [contexts(""), threads(""), reviews(""), comments("", 50)].join(" ");
    let query = pull_request_query(false, &parts);
    let first: Page<PullRequestDetails> = fetch_node(client, &query, id, None)?;
    let mut reading = Reading {
        head: first.node.head_ref_oid.clone(),
        client,
        id,
        has_moved: false,
    };
    let mut node = first.node;
    let mut found_rollup = Knowledge::Unknown;
    let contexts_found = match mem::take(&mut node.status_check_rollup) {
        Knowledge::Known(found) => {
            found_rollup = rollup(&found.state);
            reading.all(found.contexts, &contexts(AFTER), |it| {
                match it.status_check_rollup {
                    Knowledge::Known(found) => Some(found.contexts),
                    Knowledge::None | Knowledge::Unknown => None,
                }
            })?
        }
        // A commit without any check has no rollup: it is known that there are no checks.
        Knowledge::None => {
            found_rollup = Knowledge::None;
            All::empty(first.is_whole)
        }
        Knowledge::Unknown => All::empty(false),
    };
    let threads_found = reading.all_of(node.review_threads.take(), &threads(AFTER), |it| {
        it.review_threads
    })?;
    let reviews_found = reading.all_of(node.reviews.take(), &reviews(AFTER), |it| it.reviews)?;
    let comments_found =
        reading.all_of(node.comments.take(), &comments(AFTER, 50), |it| it.comments)?;
    let mut is_whole = first.is_whole;
    let mut found_threads = Vec::new();
    for thread in threads_found.nodes {
        let (thread, is_complete) = reading.thread(thread)?;
        is_whole &= is_complete;
        found_threads.push(thread);
    }
    let is_stable = is_whole && !reading.has_moved;
    let check_count = contexts_found.nodes.len();
    let checks = contexts_found.nodes.into_iter().filter_map(check);
    let checks: Vec<Check> = checks.collect();
    // A check of an unknown kind is left out, but it may have failed.
    let are_all_known = checks.len() == check_count;
    Ok(Details {
        head: reading.head,
        checks,
        are_checks_complete: contexts_found.is_complete && are_all_known && is_stable,
        rollup: found_rollup,
        discussion: Discussion {
            threads: found_threads,
            reviews: reviews_found.nodes.into_iter().map(review).collect(),
            comments: comments_found.nodes.into_iter().map(comment).collect(),
            is_complete: threads_found.is_complete
                && reviews_found.is_complete
                && comments_found.is_complete
                && is_stable,
        },
    })
}

/// The argument that asks for a further page.
const AFTER: &str = ",after:$after";

struct Page<T> {
    node: T,
    /// Whether no part is missing from the answer.
    is_whole: bool,
}

fn fetch_node<T: DeserializeOwned>(
    client: &mut Client,
    query: &str,
    id: &str,
    after: Option<&str>,
) -> Result<Page<T>, ForgeError> {
    let answer = client.query::<NodeData<T>>(query, Variables { id, after })?;
    let Some(node) = answer.data.node else {
        let trouble = Trouble::AbsentOrNotAllowed {
            message: id.to_owned(),
        };
        let request = String::from("POST /graphql");
        return Err(ForgeError { request, trouble });
    };
    Ok(Page {
        node,
        is_whole: answer.missing.is_empty(),
    })
}

/// A list, and whether it is whole.
struct All<T> {
    nodes: Vec<T>,
    is_complete: bool,
}

impl<T> All<T> {
    fn empty(is_complete: bool) -> All<T> {
        All {
            nodes: Vec::new(),
            is_complete,
        }
    }

    fn add(&mut self, connection: Connection<T>) -> PageInfo {
        let before = connection.nodes.len();
        let held = self.nodes.len();
        self.nodes.extend(connection.nodes.into_iter().flatten());
        self.is_complete &= self.nodes.len() - held == before;
        connection.page_info
    }
}

struct Reading<'a> {
    client: &'a mut Client,
    id: &'a str,
    head: CommitId,
    has_moved: bool,
}

impl Reading<'_> {
    /// Like `all`, but for a list that may be missing from the answer.
    fn all_of<T>(
        &mut self,
        first: Option<Connection<T>>,
        part: &str,
        pick: impl Fn(PullRequestDetails) -> Option<Connection<T>>,
    ) -> Result<All<T>, ForgeError> {
        match first {
            Some(first) => self.all(first, part, pick),
            None => Ok(All::empty(false)),
        }
    }

    fn all<T>(
        &mut self,
        first: Connection<T>,
        part: &str,
        pick: impl Fn(PullRequestDetails) -> Option<Connection<T>>,
    ) -> Result<All<T>, ForgeError> {
        let query = pull_request_query(true, part);
        let mut all = All::empty(true);
        let mut page = all.add(first);
        for _ in 1..MAX_PAGES {
            let Some(after) = next(&mut page) else {
                break;
            };
            let answer: Page<PullRequestDetails> =
                fetch_node(self.client, &query, self.id, Some(&after))?;
            self.has_moved |= answer.node.head_ref_oid != self.head;
            all.is_complete &= answer.is_whole;
            page = match pick(answer.node) {
                Some(connection) => all.add(connection),
                None => break,
            };
        }
        all.is_complete &= !page.has_next_page;
        Ok(all)
    }

    /// A thread with all its comments.
    fn thread(&mut self, node: ThreadNode) -> Result<(Thread, bool), ForgeError> {
        let part = comments(AFTER, 50);
        let query = format!(
            "query($id:ID!,$after:String!){{node(id:$id){{...on PullRequestReviewThread{{{part}}}}}}}"
        );
        let mut all = All::empty(true);
        let mut page = all.add(node.comments);
        for _ in 1..MAX_PAGES {
            let Some(after) = next(&mut page) else {
                break;
            };
            let answer: Page<ThreadComments> =
                fetch_node(self.client, &query, &node.id, Some(&after))?;
            all.is_complete &= answer.is_whole;
            page = all.add(answer.node.comments);
        }
        let is_complete = all.is_complete && !page.has_next_page;
        let thread = Thread {
            id: node.id,
            is_resolved: node.is_resolved,
            is_outdated: node.is_outdated,
            path: node.path,
            line: node.line,
            comments: all.nodes.into_iter().map(comment).collect(),
        };
        Ok((thread, is_complete))
    }
}

/// The cursor of the next page, if there is one; without a cursor the page cannot be requested.
fn next(page: &mut PageInfo) -> Option<String> {
    if page.has_next_page {
        mem::take(&mut page.end_cursor)
    } else {
        None
    }
}

fn check(node: ContextNode) -> Option<Check> {
    match node {
        ContextNode::CheckRun {
            name,
            status,
            conclusion,
            started_at,
            is_required,
            check_suite,
        } => {
            let group = check_suite.and_then(|suite| {
                let workflow = suite.workflow_run.map(|it| it.workflow.name);
                workflow.or(suite.app.map(|it| it.name))
            });
            Some(Check {
                group: group.unwrap_or_default(),
                name,
                outcome: check_outcome(&status, conclusion.as_deref()),
                is_required,
                started: started_at,
            })
        }
        ContextNode::StatusContext {
            context,
            state,
            created_at,
            is_required,
        } => Some(Check {
            group: String::new(),
            name: context,
            outcome: status_outcome(&state),
            is_required,
            started: created_at,
        }),
        ContextNode::Other => None,
    }
}

fn review(node: ReviewNode) -> Review {
    Review {
        id: node.id,
        author: graph_account(node.author),
        verdict: match node.state.as_str() {
            "APPROVED" => ReviewVerdict::Approved,
            "CHANGES_REQUESTED" => ReviewVerdict::ChangesRequested,
            "DISMISSED" => ReviewVerdict::Dismissed,
            "PENDING" => ReviewVerdict::Draft,
            _ => ReviewVerdict::Commented,
        },
        body: node.body,
        commit: node.commit.map(|it| it.oid),
        at: node.submitted_at.unwrap_or_default(),
    }
}

fn comment(node: CommentNode) -> Comment {
    Comment {
        id: node.id,
        reply_id: node.database_id,
        author: graph_account(node.author),
        body: node.body,
        at: node.created_at,
    }
}
