//! Everything the forge knows: users, repositories, issues, checks, quota.

pub mod check;
pub mod commit;
pub mod issue;
pub mod merge;
pub mod node;
pub mod pull;
pub mod queue;
pub mod quota;
pub mod repository;
pub mod review;
pub mod sync;
pub mod user;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;

use quota::Quota;
use repository::Repository;
use user::User;

/// Everything that the forge knows. An outdated replica is a copy of it.
#[derive(Clone, Debug)]
pub struct World {
    /// Where the repositories are.
    pub root: PathBuf,
    pub users: Vec<User>,
    pub repositories: Vec<Repository>,
    pub quota: Quota,
    /// How many reads answer that mergeability is unknown, after a change of the head or the base.
    pub unknown_reads: u32,
    last_id: u64,
    /// Whether a head merges into a base: git is asked only once about the same commits.
    mergeability: RefCell<HashMap<(String, String), bool>>,
    /// Seconds the clock was put forward.
    pub(crate) forward: i64,
}

impl World {
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            users: Vec::new(),
            repositories: Vec::new(),
            quota: Quota::default(),
            unknown_reads: 1,
            last_id: 1000,
            mergeability: RefCell::default(),
            forward: 0,
        }
    }

    /// Seconds since 1970, as the forge's clock shows.
    pub fn now(&self) -> i64 {
        Timestamp::now().as_second() + self.forward
    }

    /// A new unique id.
    pub fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// A time as GitHub writes it.
pub fn stamp(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .unwrap_or_default()
        .to_string()
}
