//! A merge takes the reviewed commit, whatever happens in between.
//!
//! Real here: git, HTTP, the client's merge call with its commit, and the forge's comparison of that
//! commit with the head. The author, the reviewer and the merger take turns in a random order, and
//! each look, verdict and call is a step of its own, so that a push can come between any two.

use std::collections::BTreeSet;

use orange_effects::forge::github::pull_requests::MergeMethod;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::CommitId;

use crate::stage::{REPOSITORY, Stage};

/// How many orders are tried; `.ci/long` sets `BINDING_RUNS` to 1,000.
const RUNS: u64 = 60;

/// How many pull requests share a forge: each push makes it judge all that are open.
const SHARED: u64 = 20;

/// A small generator: the same orders in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[derive(Default)]
struct Figures {
    merges: u64,
    refused: u64,
    pushes: u64,
}

/// One pull request, from its first commit to its merge or the end of the turns.
fn live_through(stage: &mut Stage, run: u64, random: &mut Random, figures: &mut Figures) {
    let branch = format!("run-{run}");
    let number = stage.forge.pull(REPOSITORY, &branch);
    let mut looked_at: Option<CommitId> = None;
    let mut reviewed: Option<CommitId> = None;
    let mut approved: BTreeSet<CommitId> = BTreeSet::new();
    for turn in 0..8 {
        match random.below(5) {
            0 => {
                let name = format!("{branch}-{turn}.txt");
                let text = format!("{turn}\n");
                stage.forge.commit(REPOSITORY, &branch, &[(&name, &text)]);
                figures.pushes += 1;
            }
            1 => {
                let (_, found) = stage.repository().fetch_pull_request(number).unwrap();
                looked_at = Some(found.head);
            }
            2 => {
                approved.extend(looked_at.clone());
                reviewed.clone_from(&looked_at);
            }
            _ => {
                let Some(head) = &reviewed else {
                    continue;
                };
                let mut repository = stage.repository();
                let method = MergeMethod::Squash;
                match repository.merge_pull_request(number, head, method, None) {
                    Ok(_) => figures.merges += 1,
                    Err(_) => figures.refused += 1,
                }
            }
        }
        let (_, found) = stage.repository().fetch_pull_request(number).unwrap();
        if found.state == PullRequestState::Merged {
            assert!(
                approved.contains(&found.head),
                "run {run}: {} was merged and not reviewed",
                found.head
            );
            return;
        }
    }
}

#[test]
fn lesson_68_no_order_merges_a_commit_that_was_not_reviewed() {
    let runs = std::env::var("BINDING_RUNS").ok();
    let runs = runs.map_or(RUNS, |it| it.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut figures = Figures::default();
    for first in (0..runs).step_by(usize::try_from(SHARED).unwrap()) {
        let mut stage = Stage::new();
        for run in first..(first + SHARED).min(runs) {
            live_through(&mut stage, run, &mut random, &mut figures);
        }
        stage.forge.finish();
    }
    let Figures {
        merges,
        refused,
        pushes,
    } = figures;
    eprintln!("{runs} runs: {merges} merges, {refused} refused, {pushes} pushes");
    assert!(merges > runs / 10, "{merges} merges");
    assert!(refused > runs / 100, "{refused} refused");
    assert!(pushes > runs / 2, "{pushes} pushes");
}
