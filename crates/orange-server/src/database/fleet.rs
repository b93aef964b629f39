//! What the server itself asks: who may look again, which runners there are, and numbers.

use orange_fleet::ids::{Incarnation, OrgId, ProjectId, RunnerId};
use orange_fleet::message::Want;
use orange_fleet::time::Timestamp;
use serde::Serialize;

use super::{Database, DatabaseError};
use crate::metrics::Gauges;
use crate::waiting::Topic;

/// A runner, as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunnerView {
    pub runner: RunnerId,
    pub incarnation: Incarnation,
    /// Whether its current incarnation is not lost.
    pub online: bool,
    pub want: Want,
    /// Until when it may run agents without another beat.
    pub expires_at: Timestamp,
    pub projects: Vec<ProjectId>,
}

impl Database {
    pub async fn due(&self, topics: &[Topic]) -> Result<Vec<Topic>, DatabaseError> {
        Err(self.unfinished("due", topics))
    }
    pub async fn runners(&self, org: &OrgId) -> Result<Vec<RunnerView>, DatabaseError> {
        Err(self.unfinished("runners", org))
    }
    pub async fn want(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        want: Want,
    ) -> Result<(), DatabaseError> {
        Err(self.unfinished("want", (org, runner, want)))
    }
    pub async fn gauges(&self, org: &OrgId) -> Result<Gauges, DatabaseError> {
        Err(self.unfinished("gauges", org))
    }
}
