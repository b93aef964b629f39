//! Tokens: what a caller shows, stored by hash.

use orange_fleet::chain::Sha;
use orange_fleet::ids::{OrgId, ProjectId};
use orange_fleet::json::Json;
use orange_fleet::time::{Period, Timestamp};

use super::{Database, DatabaseError};

/// A token to be stored. The secret itself never reaches the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    pub sha: Sha,
    /// What it is for, such as `runner`, `join` or `person`.
    pub kind: String,
    /// Whose it is: a runner or a person.
    pub subject: String,
    /// What it allows, as its author wrote it.
    pub roles: Json,
    /// `None` means all projects of the organisation.
    pub projects: Option<Vec<ProjectId>>,
    /// From now, on the database's clock. `None` means until it is revoked.
    pub lifetime: Option<Period>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub org: OrgId,
    pub sha: Sha,
    pub kind: String,
    pub subject: String,
    pub roles: Json,
    pub projects: Option<Vec<ProjectId>>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// The database's clock at this answer.
    pub now: Timestamp,
}

impl Token {
    /// Neither expired nor revoked. A token of one use is exchanged, not shown.
    pub fn is_valid(&self) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|it| self.now < it)
    }
}

impl Database {
    /// Store a token. The same hash again changes nothing and answers `false`.
    pub async fn insert_token(&self, org: &OrgId, token: &NewToken) -> Result<bool, DatabaseError> {
        Err(self.unfinished("insert_token", (org, token)))
    }

    /// The token with a hash, of any organisation, also when it is not valid any more.
    pub async fn token(&self, sha: &Sha) -> Result<Option<Token>, DatabaseError> {
        Err(self.unfinished("token", sha))
    }

    /// Use a valid token of one use, and store the one that it is exchanged for.
    ///
    /// `replacement` belongs to the same organisation. The same exchange again succeeds again, so
    /// a lost answer does not spend the token for nothing. `None` when the token is unknown, of
    /// another kind, expired, revoked, or was used for something else.
    pub async fn exchange_token(
        &self,
        sha: &Sha,
        kind: &str,
        replacement: &NewToken,
    ) -> Result<Option<Token>, DatabaseError> {
        Err(self.unfinished("exchange_token", (sha, kind, replacement)))
    }

    /// Whether the organisation had such a token that was not revoked before.
    pub async fn revoke_token(&self, org: &OrgId, sha: &Sha) -> Result<bool, DatabaseError> {
        Err(self.unfinished("revoke_token", (org, sha)))
    }

    /// All tokens of an organisation, the oldest first.
    pub async fn tokens(&self, org: &OrgId) -> Result<Vec<Token>, DatabaseError> {
        Err(self.unfinished("tokens", org))
    }
}
