//! A server with its own runtime, for programs that have none.

use std::io;

use orange_fleet::ids::{OrgId, PersonId};
use tokio::runtime::{Builder, Runtime};

use crate::access::{Roles, Secret};
use crate::database::{Database, DatabaseError};
use crate::http::limits::STOP_TIMEOUT;
use crate::http::{CODE_KIND_PERSON, CodeRequest, PERSON_KIND};
use crate::server::{Report, Server, ServerError, Stopper};
use crate::settings::{DEFAULT_ORG, Settings};

/// The person of the first admin code.
pub const FIRST_ADMIN: &str = "admin";

/// Why a command of the server failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("cannot start the server: {0}")]
    NotStarted(io::Error),
    #[error("cannot draw random numbers: {0}")]
    NotRandom(getrandom::Error),
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl From<DatabaseError> for HostError {
    fn from(error: DatabaseError) -> Self {
        Self::Server(ServerError::Database(error))
    }
}

/// A server that listens, and the runtime that it runs on.
#[derive(Debug)]
pub struct Host {
    runtime: Runtime,
    server: Server,
    first_code: Option<Secret>,
}

impl Host {
    pub fn start(settings: &Settings, report: Report) -> Result<Self, HostError> {
        let runtime = runtime()?;
        let (server, first_code) = runtime.block_on(async {
            let url = &settings.database;
            let database = Database::connect(url, settings.connections).await?;
            let listen = settings.listen.0;
            let server = Server::bind(listen, &settings.tls, database.clone(), report).await?;
            Ok::<_, HostError>((server, first_code(&database).await?))
        })?;
        Ok(Self {
            runtime,
            server,
            first_code,
        })
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// A code for the first admin, when there is no admin yet.
    pub fn first_code(&self) -> Option<&Secret> {
        self.first_code.as_ref()
    }

    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Serves until it is stopped.
    pub fn run(self) {
        self.runtime.block_on(self.server.run());
        self.runtime.shutdown_timeout(STOP_TIMEOUT);
    }
}

fn runtime() -> Result<Runtime, HostError> {
    let built = Builder::new_multi_thread().enable_all().build();
    built.map_err(HostError::NotStarted)
}

/// Brings the database up to this program.
pub fn migrate(database: &str) -> Result<(), HostError> {
    runtime()?.block_on(async {
        let database = Database::connect(database, 1).await?;
        Ok(database.migrate().await?)
    })
}

/// A code with which a person becomes an admin of an organisation.
pub fn admin_code(database: &str, org: &str, person: &str) -> Result<Secret, HostError> {
    runtime()?.block_on(async {
        let database = Database::connect(database, 1).await?;
        database.check_schema().await?;
        store_admin_code(&database, &OrgId::new(org), &PersonId::new(person)).await
    })
}

/// Servers that start at the same time may each make one: an admin revokes what is too much.
async fn first_code(database: &Database) -> Result<Option<Secret>, HostError> {
    let org = OrgId::new(DEFAULT_ORG);
    let tokens = database.tokens(&org).await?;
    let mut admins = tokens.iter().filter(|token| {
        let roles: Option<Roles> = serde_json::from_str(token.roles.as_str()).ok();
        let is_open = token.kind == CODE_KIND_PERSON && token.used_at.is_none();
        let is_admin = roles.is_some_and(|it| it.admin);
        token.is_valid() && is_admin && (is_open || token.kind == PERSON_KIND)
    });
    if admins.next().is_some() {
        return Ok(None);
    }
    let person = PersonId::new(FIRST_ADMIN);
    store_admin_code(database, &org, &person).await.map(Some)
}

async fn store_admin_code(
    database: &Database,
    org: &OrgId,
    person: &PersonId,
) -> Result<Secret, HostError> {
    let request = CodeRequest::Person {
        person: person.clone(),
        roles: Roles::admin(),
    };
    let (code, token) = request.draw().map_err(HostError::NotRandom)?;
    database.insert_token(org, &token).await?;
    Ok(code)
}
