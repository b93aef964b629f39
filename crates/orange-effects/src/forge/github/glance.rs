//! Reads many pull requests cheaply: one point of quota per request.

use std::collections::BTreeMap;

use orange_engine::forge::checks::Rollup;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::{ChunkSize, Quota};
use orange_engine::forge::pull_request::{Mergeability, PullRequest, ReviewDecision};
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{BranchName, CommitId};
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::wire::{Maybe, is_blocked, nullable, or_default};
use crate::forge::client::Client;
use crate::forge::error::ForgeError;

/// The fields that are requested for a pull request. None of them is a list, because a list would
/// cost extra quota.
pub(super) const FIELDS: &str = "id number state isDraft headRefOid baseRefName mergeable \
     mergeStateStatus reviewDecision updatedAt isInMergeQueue statusCheckRollup{state}";

#[derive(Serialize)]
struct Ids<'a> {
    ids: &'a [String],
}

/// What was read about several pull requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// The pull requests that were read, by id.
    pub seen: BTreeMap<String, PullRequest>,
    /// The ids about which nothing is known: absent, not allowed, or not answered.
    pub unknown: Vec<String>,
    /// How many points of the quota the requests cost.
    pub cost: u64,
    pub requests: u64,
    pub quota: Knowledge<Quota>,
    /// The error because of which no further request was sent.
    pub failure: Option<String>,
}

#[derive(Deserialize)]
struct GlanceData {
    /// An id can name something else than a pull request; such an object has no fields here.
    nodes: Vec<Option<Maybe<Box<PullRequestNode>>>>,
    #[serde(default, rename = "rateLimit")]
    quota: Option<QuotaAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuotaAnswer {
    #[serde(default, deserialize_with = "or_default")]
    cost: u64,
    remaining: u64,
    reset_at: Timestamp,
    #[serde(default)]
    limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PullRequestNode {
    id: String,
    number: u64,
    state: String,
    is_draft: bool,
    head_ref_oid: CommitId,
    base_ref_name: String,
    #[serde(default)]
    mergeable: Option<String>,
    #[serde(default)]
    merge_state_status: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    review_decision: Knowledge<String>,
    updated_at: Timestamp,
    is_in_merge_queue: bool,
    #[serde(default, deserialize_with = "nullable")]
    status_check_rollup: Knowledge<RollupNode>,
}

#[derive(Deserialize)]
struct RollupNode {
    state: String,
}

impl PullRequestNode {
    pub(super) fn into_facts(self) -> PullRequest {
        PullRequest {
            id: self.id,
            number: self.number,
            state: match self.state.as_str() {
                "MERGED" => PullRequestState::Merged,
                "CLOSED" => PullRequestState::Closed,
                _ => PullRequestState::Open,
            },
            is_draft: self.is_draft,
            head: self.head_ref_oid,
            base: BranchName::new(self.base_ref_name),
            mergeability: match self.mergeable.as_deref() {
                Some("MERGEABLE") => Knowledge::Known(Mergeability::Clean),
                Some("CONFLICTING") => Knowledge::Known(Mergeability::Conflicting),
                _ => Knowledge::Unknown,
            },
            is_blocked: is_blocked(self.merge_state_status.as_deref()),
            review: match self.review_decision {
                Knowledge::Known(word) => review(&word),
                Knowledge::None => Knowledge::None,
                Knowledge::Unknown => Knowledge::Unknown,
            },
            rollup: rollup(&self.status_check_rollup.map(|it| it.state)),
            is_queued: self.is_in_merge_queue,
            updated: self.updated_at,
        }
    }
}

fn review(word: &str) -> Knowledge<ReviewDecision> {
    match word {
        "APPROVED" => Knowledge::Known(ReviewDecision::Approved),
        "CHANGES_REQUESTED" => Knowledge::Known(ReviewDecision::ChangesRequested),
        "REVIEW_REQUIRED" => Knowledge::Known(ReviewDecision::Required),
        _ => Knowledge::Unknown,
    }
}

pub(super) fn rollup(state: &Knowledge<String>) -> Knowledge<Rollup> {
    match state {
        Knowledge::None => Knowledge::None,
        Knowledge::Unknown => Knowledge::Unknown,
        Knowledge::Known(word) => match word.as_str() {
            "SUCCESS" => Knowledge::Known(Rollup::Success),
            "FAILURE" | "ERROR" => Knowledge::Known(Rollup::Failure),
            "PENDING" => Knowledge::Known(Rollup::Pending),
            "EXPECTED" => Knowledge::Known(Rollup::Expected),
            _ => Knowledge::Unknown,
        },
    }
}

/// Reads these pull requests in chunks. If a chunk is too much for the forge, the chunk size is
/// halved. After any other error no further request is sent, and the remaining pull requests are
/// unknown.
pub fn fetch_glance(client: &mut Client, ids: &[String], chunk: &mut ChunkSize) -> Glance {
    let query = format!(
        "query($ids:[ID!]!){{nodes(ids:$ids){{...on PullRequest{{{FIELDS}}}}} \
         rateLimit{{cost limit remaining resetAt}}}}"
    );
    let mut glance = Glance::default();
    let mut rest = ids;
    while !rest.is_empty() {
        let now = client.now();
        let (asked, later) = rest.split_at(chunk.current(now).min(rest.len()));
        glance.requests += 1;
        match client.query::<GlanceData>(&query, Ids { ids: asked }) {
            Ok(answer) => {
                glance.add(asked, answer.data);
                rest = later;
            }
            Err(error) if error.is_too_much() && chunk.halve(client.now()) => {}
            Err(error) => {
                glance.fail(&error);
                break;
            }
        }
    }
    glance.unknown.extend(rest.iter().cloned());
    glance
}

impl Glance {
    fn add(&mut self, asked: &[String], data: GlanceData) {
        let mut seen = BTreeMap::new();
        for node in data.nodes.into_iter().flatten() {
            if let Maybe::Whole(node) = node {
                let facts = node.into_facts();
                seen.insert(facts.id.clone(), facts);
            }
        }
        for id in asked {
            match seen.remove(id) {
                Some(facts) => {
                    self.seen.insert(id.clone(), facts);
                }
                None => self.unknown.push(id.clone()),
            }
        }
        if let Some(quota) = data.quota {
            self.cost = self.cost.saturating_add(quota.cost);
            self.quota = Knowledge::Known(Quota {
                limit: quota.limit.unwrap_or(quota.remaining),
                remaining: quota.remaining,
                resets: quota.reset_at,
            });
        }
    }

    fn fail(&mut self, error: &ForgeError) {
        self.failure = Some(error.to_string());
    }
}
