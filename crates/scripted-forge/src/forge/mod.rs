//! The handle of a test: starts the forge, plans faults, inspects it.

mod ci;
mod people;
mod setup;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::rest::OPERATIONS;
use crate::server::{Call, Fault, Server, State, Write};
use crate::stop::stop;
use crate::world::World;
use crate::world::quota::{Rate, Resource};
use crate::world::repository::Repository;

/// How long a forge lives at most: no test takes longer.
const LIFETIME: Duration = Duration::from_mins(15);

/// A simulated GitHub on loopback. It stops when it is dropped. The test then fails if a request or
/// an answer did not fit GitHub's schemas.
#[derive(Debug)]
pub struct Forge {
    server: Server,
    folder: TempDir,
    is_finished: bool,
}

impl Default for Forge {
    fn default() -> Self {
        Self::start()
    }
}

impl Forge {
    /// Starts a forge with an empty world.
    pub fn start() -> Self {
        Self::start_for(LIFETIME)
    }

    /// Starts a forge that stops by itself after this time.
    pub fn start_for(limit: Duration) -> Self {
        let folder = TempDir::new();
        let folder = folder.unwrap_or_else(|error| stop(&format!("no folder: {error}")));
        let world = World::new(folder.path().to_owned());
        Self {
            server: Server::start(world, limit),
            folder,
            is_finished: false,
        }
    }

    /// The address without a path: what a client is configured with.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port())
    }

    pub fn rest_address(&self) -> String {
        let prefix = if self.state().enterprise {
            "/api/v3"
        } else {
            ""
        };
        self.address() + prefix
    }

    pub fn graphql_address(&self) -> String {
        let prefix = if self.state().enterprise { "/api" } else { "" };
        self.address() + prefix + "/graphql"
    }

    /// Uses the paths of an Enterprise server: `/api/v3` and `/api/graphql`.
    pub fn use_enterprise_paths(&self) {
        self.state().enterprise = true;
    }

    /// Listens on a socket too, for the setting `http_unix_socket` of `gh`; returns its path.
    pub fn socket(&self) -> PathBuf {
        let path = self.folder.path().join("api.sock");
        self.server.listen_on(&path);
        path
    }

    /// A folder for the test, removed together with the forge.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the clock forward.
    pub fn advance(&self, time: Duration) {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        self.state().world.forward += seconds;
    }

    /// The forge's time in seconds since 1970.
    pub fn now(&self) -> i64 {
        self.state().world.now()
    }

    /// Applies this fault to the n-th request from now on, counted from 1, that matches the
    /// operation. An operation is GitHub's operation id (`pulls/create`), a root field of GraphQL
    /// (`nodes`, `enqueuePullRequest`), the name of a GraphQL operation, or `graphql` for every
    /// GraphQL request.
    pub fn fault(&self, operation: &str, nth: u32, fault: Fault) {
        self.plan(operation, nth, fault, false);
    }

    /// Applies this fault to every matching request, until `clear_faults`.
    pub fn fault_always(&self, operation: &str, fault: Fault) {
        self.plan(operation, 1, fault, true);
    }

    /// Applies this fault to every request, until `clear_faults`.
    pub fn fault_all(&self, fault: Fault) {
        self.fault_always("graphql", fault);
        for operation in OPERATIONS.iter() {
            self.fault_always(&operation.id, fault);
        }
    }

    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    fn plan(&self, operation: &str, nth: u32, fault: Fault, repeats: bool) {
        self.state()
            .plan_fault(operation, nth.saturating_sub(1), fault, repeats);
    }

    /// After a write, this many reads do not see its result yet.
    pub fn lag(&self, reads: u32) {
        self.state().lag = reads;
    }

    /// After a change, this many reads answer that mergeability is unknown. The default is 1.
    pub fn unknown_reads(&self, reads: u32) {
        self.state().world.unknown_reads = reads;
    }

    /// Sets how much of a quota a user has left.
    pub fn set_remaining(&self, login: &str, resource: Resource, remaining: u64) {
        let mut state = self.state();
        let now = state.world.now();
        let rate = state.world.quota.rate(login, resource, now);
        rate.used = rate.limit.saturating_sub(remaining);
    }

    /// A user's quota of a resource.
    pub fn rate(&self, login: &str, resource: Resource) -> Rate {
        let mut state = self.state();
        let now = state.world.now();
        *state.world.quota.rate(login, resource, now)
    }

    /// Turns off the limits per minute, for tests that send requests faster than a client may.
    pub fn lift_secondary_limits(&self) {
        self.state().world.quota.no_secondary = true;
    }

    /// All requests in their order.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// How many requests had this operation id or this root field of GraphQL.
    pub fn count(&self, operation: &str) -> usize {
        let state = self.state();
        let matches = |it: &&Call| {
            it.operation == operation || it.fields.iter().any(|field| field == operation)
        };
        state.calls.iter().filter(matches).count()
    }

    /// The points that GraphQL requests have cost.
    pub fn points(&self) -> u64 {
        let state = self.state();
        state
            .calls
            .iter()
            .filter(|it| it.operation == "graphql")
            .map(|it| it.cost)
            .sum()
    }

    /// All changes that took effect, in their order.
    pub fn writes(&self) -> Vec<Write> {
        self.state().writes.clone()
    }

    /// The requests and answers so far that GitHub's schemas do not allow.
    pub fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }

    /// Returns and clears the violations, for a test that causes them on purpose.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.state().violations)
    }

    /// Stops the forge, and fails the test if a request or an answer did not fit GitHub's schemas.
    pub fn finish(mut self) {
        self.judge();
    }

    fn judge(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        let violations = self.violations();
        if !violations.is_empty() {
            stop(&format!(
                "{} violations:\n  {}",
                violations.len(),
                violations.join("\n  ")
            ));
        }
    }

    /// Reads the world, after syncing it with the git repositories.
    pub fn look<T>(&self, read: impl FnOnce(&World) -> T) -> T {
        let mut state = self.state();
        state.world.sync();
        read(&state.world)
    }

    /// Changes the world, and syncs it with the git repositories before and after.
    pub fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let mut state = self.state();
        state.world.sync();
        let result = change(&mut state.world);
        state.world.sync();
        result
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.server.responder.state()
    }

    /// Calls `read` with the repository of this full name; fails the test if there is none.
    #[track_caller]
    fn with<T>(&self, name: &str, read: impl FnOnce(&Repository) -> T) -> T {
        let found = self.look(|world| find(world, name).map(read));
        found.unwrap_or_else(|| stop(&format!("there is no repository `{name}`")))
    }

    #[track_caller]
    fn id(&self, name: &str) -> u64 {
        self.with(name, |it| it.id)
    }
}

fn find<'a>(world: &'a World, name: &str) -> Option<&'a Repository> {
    let (owner, name) = name.split_once('/')?;
    world.repository(owner, name)
}

impl Drop for Forge {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.judge();
        }
    }
}
