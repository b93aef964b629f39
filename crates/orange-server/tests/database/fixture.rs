//! A migrated database, and a clock that stands still.

use orange_fleet::capability::{Capabilities, Needs};
use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::{
    Format, HarnessName, HomeId, Incarnation, MailId, OrgId, ProjectId, RunnerId, TaskId,
};
use orange_fleet::json::Json;
use orange_fleet::message::{CreateTask, Register, Summary, WorkRequest};
use orange_fleet::time::Period;
use orange_server::database::Database;
use postgres_fixture::{Cluster, Fsync};
use tokio_postgres::{Client, NoTls};

pub struct Fixture {
    pub cluster: Cluster,
    pub database: Database,
    /// Beside the program, to look at rows.
    pub client: Client,
}

/// In place of the database's clock and history.
const CLOCK: &str = "
    create table public.clock (now bigint not null, timeline bigint not null);
    insert into public.clock values (0, 1);
    create or replace function orange.now_ms() returns bigint language sql volatile
        as 'select now from public.clock';
    create or replace function orange.timeline() returns bigint language sql volatile
        as 'select timeline from public.clock';
";

pub async fn start(fsync: Fsync) -> Fixture {
    let cluster = Cluster::start(fsync).unwrap();
    let database = connect(&cluster).await;
    database.migrate().await.unwrap();
    let client = client(&cluster).await;
    Fixture {
        cluster,
        database,
        client,
    }
}

pub async fn start_with_clock() -> Fixture {
    let fixture = start(Fsync::Off).await;
    fixture.client.batch_execute(CLOCK).await.unwrap();
    fixture
}

pub async fn connect(cluster: &Cluster) -> Database {
    Database::connect(&cluster.url(), 16).await.unwrap()
}

pub async fn client(cluster: &Cluster) -> Client {
    let (client, connection) = tokio_postgres::connect(&cluster.url(), NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}

pub fn org(name: &str) -> OrgId {
    OrgId::new(name)
}

pub fn runner(name: &str) -> RunnerId {
    RunnerId::new(name)
}

pub fn task(name: &str) -> TaskId {
    TaskId::new(name)
}

pub fn summary(status: &str) -> Summary {
    Summary {
        status: status.to_owned(),
        ended: status == "over",
        shown: Json::null(),
    }
}

pub fn commit(previous: Head, text: &str, request: Option<MailId>) -> Commit {
    let event = Json::new(format!("{{ \"said\":\"{text}\" }}")).unwrap();
    Commit::new(previous, vec![event], Vec::new(), request).unwrap()
}

pub fn creation(name: &str) -> CreateTask {
    CreateTask {
        task: task(name),
        needs: Needs {
            format: Format(1),
            project: ProjectId::new("coffee"),
            harnesses: [HarnessName::new("claude")].into(),
            labels: [].into(),
        },
        priority: 0,
        after: [].into(),
        parent: None,
        commits: vec![commit(Head::default(), "created", None)],
        texts: Vec::new(),
        summary: summary("open"),
    }
}

pub fn registration(name: &str) -> Register {
    Register {
        runner: runner(name),
        home: HomeId::new(format!("home of {name}")),
        seen: Incarnation(0),
        lost_after: Period::seconds(90),
        capabilities: Capabilities {
            format: Format(1),
            projects: [ProjectId::new("coffee")].into(),
            harnesses: [HarnessName::new("claude")].into(),
            labels: [].into(),
        },
    }
}

pub fn request_for_work(free: u32) -> WorkRequest {
    WorkRequest {
        incarnation: Incarnation(1),
        free,
        parked: [].into(),
    }
}
