//! Tokens: what a caller shows, stored by hash.

use orange_fleet::chain::Sha;
use orange_fleet::ids::{OrgId, ProjectId};
use orange_fleet::json::Json;
use orange_fleet::time::{Period, Timestamp};

use super::values::{Reader, signed, unsigned};
use super::{Database, DatabaseError, limits};

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

const COLUMNS: &str = "sha, org, kind, subject, roles, projects, created_at, expires_at, used_at, \
                       revoked_at, orange.now_ms() as now";

impl Database {
    /// Store a token. The same hash again changes nothing and answers `false`.
    pub async fn insert_token(&self, org: &OrgId, token: &NewToken) -> Result<bool, DatabaseError> {
        limits::org(org)?;
        token.check()?;
        let sql = "insert into orange.token
                       (org, sha, kind, subject, roles, projects, created_at, expires_at)
                   select $1, $2, $3, $4, $5, $6, clock.now, clock.now + $7
                   from (select orange.now_ms() as now) clock
                   on conflict do nothing returning sha";
        let row = self
            .row(
                "insert token",
                sql,
                &[
                    &org.as_str(),
                    &token.sha.as_bytes().as_slice(),
                    &token.kind,
                    &token.subject,
                    &token.roles.as_str(),
                    &token.project_names(),
                    &token.lifetime.map(signed_period),
                ],
            )
            .await?;
        Ok(row.is_some())
    }

    /// The token with a hash, of any organisation, also when it is not valid any more.
    pub async fn token(&self, sha: &Sha) -> Result<Option<Token>, DatabaseError> {
        let sql = format!("select {COLUMNS} from orange.token where sha = $1");
        let row = self
            .row("token", &sql, &[&sha.as_bytes().as_slice()])
            .await?;
        row.map(|row| {
            read(&Reader {
                call: "token",
                row: &row,
            })
        })
        .transpose()
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
        limits::name("the kind of the token", kind)?;
        replacement.check()?;
        let sql = "select orange.exchange_token_1($1, $2, $3, $4, $5, $6, $7, $8) as sha";
        let row = self
            .only(
                "exchange token",
                sql,
                &[
                    &sha.as_bytes().as_slice(),
                    &kind,
                    &replacement.sha.as_bytes().as_slice(),
                    &replacement.kind,
                    &replacement.subject,
                    &replacement.roles.as_str(),
                    &replacement.project_names(),
                    &replacement.lifetime.map(signed_period),
                ],
            )
            .await?;
        let row = &row;
        let call = "exchange token";
        match (Reader { call, row }).optional_sha("sha")? {
            Some(sha) => self.token(&sha).await,
            None => Ok(None),
        }
    }

    /// Whether the organisation had such a token that was not revoked before.
    pub async fn revoke_token(&self, org: &OrgId, sha: &Sha) -> Result<bool, DatabaseError> {
        limits::org(org)?;
        let sql = "update orange.token set revoked_at = orange.now_ms()
                   where org = $1 and sha = $2 and revoked_at is null returning sha";
        let row = self
            .row(
                "revoke token",
                sql,
                &[&org.as_str(), &sha.as_bytes().as_slice()],
            )
            .await?;
        Ok(row.is_some())
    }

    /// All tokens of an organisation, the oldest first.
    pub async fn tokens(&self, org: &OrgId) -> Result<Vec<Token>, DatabaseError> {
        limits::org(org)?;
        let sql =
            format!("select {COLUMNS} from orange.token where org = $1 order by created_at, sha");
        let rows = self.rows("tokens", &sql, &[&org.as_str()]).await?;
        rows.iter()
            .map(|row| {
                read(&Reader {
                    call: "tokens",
                    row,
                })
            })
            .collect()
    }
}

impl NewToken {
    fn check(&self) -> Result<(), DatabaseError> {
        limits::name("the kind of the token", &self.kind)?;
        limits::name("the subject of the token", &self.subject)?;
        limits::json("the roles of the token", &self.roles)?;
        let projects = self.projects.as_deref().unwrap_or_default();
        limits::names(
            "a project of the token",
            projects.iter().map(ProjectId::as_str),
        )
    }

    fn project_names(&self) -> Option<Vec<&str>> {
        let projects = self.projects.as_ref()?;
        Some(projects.iter().map(ProjectId::as_str).collect())
    }
}

/// At most ten thousand years, so that no sum overflows.
fn signed_period(period: Period) -> i64 {
    signed(period.0).min(10_000 * 366 * 24 * 3600 * 1000)
}

fn read(stored: &Reader<'_>) -> Result<Token, DatabaseError> {
    let time = |column| {
        let value: Option<i64> = stored.get(column)?;
        Ok(value.map(|it| Timestamp(unsigned(it))))
    };
    let projects: Option<Vec<&str>> = stored.get("projects")?;
    Ok(Token {
        org: OrgId::new(stored.get::<&str>("org")?),
        sha: stored.sha("sha")?,
        kind: stored.get("kind")?,
        subject: stored.get("subject")?,
        roles: stored.json("roles")?,
        projects: projects.map(|it| it.into_iter().map(ProjectId::new).collect()),
        created_at: Timestamp(stored.unsigned("created_at")?),
        expires_at: time("expires_at")?,
        used_at: time("used_at")?,
        revoked_at: time("revoked_at")?,
        now: Timestamp(stored.unsigned("now")?),
    })
}
