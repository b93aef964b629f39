//! The database: one call per message, each one transaction.

mod error;
mod fleet;
mod tokens;

use orange_fleet::chain::Sha;
use orange_fleet::ids::{MailId, OrgId, PersonId, ProjectId, RunnerId, TaskId};
use orange_fleet::message::{
    Adopt, AdoptAnswer, Append, AppendAnswer, Beat, BeatAnswer, Changes, CreateAnswer, CreateTask,
    GiveBack, HoldingAnswer, MailAnswer, MailResult, PostRequest, Register, RegisterAnswer,
    RequestState, Sender, TaskView, Wip, WorkAnswer, WorkRequest,
};

pub use error::{DatabaseError, ErrorKind};
pub use fleet::RunnerView;
pub use tokens::{NewToken, Token};

/// The pool of connections. Clones share it.
#[derive(Clone, Debug)]
pub struct Database {
    pool: deadpool_postgres::Pool,
}

/// A request of a person or the end of a child, with what decides who may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRequest {
    pub task: TaskId,
    pub project: ProjectId,
    pub from: Sender,
    pub state: RequestState,
}

impl Database {
    pub async fn connect(url: &str, connections: usize) -> Result<Self, DatabaseError> {
        let _ = (url, connections);
        Err(DatabaseError::NotMigrated)
    }

    /// Bring the tables and functions up to this program. Safe to run from many places at once.
    pub async fn migrate(&self) -> Result<(), DatabaseError> {
        Err(self.unfinished("migrate", ()))
    }

    /// Whether this program can use the database.
    pub async fn check_schema(&self) -> Result<(), DatabaseError> {
        Err(self.unfinished("check_schema", ()))
    }

    pub async fn register(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Register,
    ) -> Result<RegisterAnswer, DatabaseError> {
        Err(self.unfinished("register", (org, runner, call)))
    }

    pub async fn beat(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Beat,
    ) -> Result<BeatAnswer, DatabaseError> {
        Err(self.unfinished("beat", (org, runner, call)))
    }

    /// Without waiting.
    pub async fn work(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &WorkRequest,
    ) -> Result<WorkAnswer, DatabaseError> {
        Err(self.unfinished("work", (org, runner, call)))
    }

    pub async fn append(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Append,
    ) -> Result<AppendAnswer, DatabaseError> {
        Err(self.unfinished("append", (org, runner, call)))
    }

    pub async fn give_back(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &GiveBack,
    ) -> Result<HoldingAnswer, DatabaseError> {
        Err(self.unfinished("give_back", (org, runner, call)))
    }

    pub async fn adopt(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        call: &Adopt,
    ) -> Result<AdoptAnswer, DatabaseError> {
        Err(self.unfinished("adopt", (org, runner, call)))
    }

    pub async fn save_wip(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        task: &TaskId,
        wip: &Wip,
    ) -> Result<HoldingAnswer, DatabaseError> {
        Err(self.unfinished("save_wip", (org, runner, task, wip)))
    }

    pub async fn answer_mail(
        &self,
        org: &OrgId,
        runner: &RunnerId,
        mail: &MailId,
        call: &MailAnswer,
    ) -> Result<MailResult, DatabaseError> {
        Err(self.unfinished("answer_mail", (org, runner, mail, call)))
    }

    pub async fn create(
        &self,
        org: &OrgId,
        call: &CreateTask,
    ) -> Result<CreateAnswer, DatabaseError> {
        Err(self.unfinished("create", (org, call)))
    }

    /// `None` without the task.
    pub async fn post(
        &self,
        org: &OrgId,
        person: &PersonId,
        task: &TaskId,
        call: &PostRequest,
    ) -> Result<Option<RequestState>, DatabaseError> {
        Err(self.unfinished("post", (org, person, task, call)))
    }

    pub async fn request(
        &self,
        org: &OrgId,
        mail: &MailId,
    ) -> Result<Option<StoredRequest>, DatabaseError> {
        Err(self.unfinished("request", (org, mail)))
    }

    pub async fn view(
        &self,
        org: &OrgId,
        task: &TaskId,
    ) -> Result<Option<TaskView>, DatabaseError> {
        Err(self.unfinished("view", (org, task)))
    }

    /// The project of a task, to check the caller before a request.
    pub async fn project(
        &self,
        org: &OrgId,
        task: &TaskId,
    ) -> Result<Option<ProjectId>, DatabaseError> {
        Err(self.unfinished("project", (org, task)))
    }

    /// At most `most` commits after a point of the feed, of some projects or of all.
    pub async fn changes(
        &self,
        org: &OrgId,
        projects: Option<&[ProjectId]>,
        since: u64,
        most: u32,
    ) -> Result<Changes, DatabaseError> {
        Err(self.unfinished("changes", (org, projects, since, most)))
    }

    /// A text that commits of some projects, or of any, were stored with.
    pub async fn text(
        &self,
        org: &OrgId,
        projects: Option<&[ProjectId]>,
        sha: &Sha,
    ) -> Result<Option<String>, DatabaseError> {
        Err(self.unfinished("text", (org, projects, sha)))
    }

    /// The coordinator's mark, on any server, every few seconds. A longer gap than 15 seconds means
    /// that runners could not be heard. Answers whether this call was the coordinator.
    pub async fn mark(&self) -> Result<bool, DatabaseError> {
        Err(self.unfinished("mark", ()))
    }

    /// Release the tasks of runners whose lease has passed. Marks first, so that an outage that no
    /// one has marked yet counts against no runner. Answers how many tasks were released, or `None`
    /// when another server does this at the moment.
    pub async fn reap(&self) -> Result<Option<u64>, DatabaseError> {
        Err(self.unfinished("reap", ()))
    }

    fn unfinished(&self, call: &'static str, _: impl Sized) -> DatabaseError {
        DatabaseError::Failed {
            call,
            reason: format!("{:?}", self.pool.status()),
        }
    }
}
