//! The rows of an organisation as the reference has them.

use std::collections::BTreeMap;

use orange_fleet::capability::{Capabilities, Needs};
use orange_fleet::chain::{Commit, Sha};
use orange_fleet::ids::{
    Epoch, Format, HarnessName, HomeId, Incarnation, Label, MailId, OrgId, PersonId, ProjectId,
    RequestKey, RunnerId, TaskId, Timeline, Version,
};
use orange_fleet::json::Json;
use orange_fleet::ledger::{
    Hearing, Ledger, LedgerTerms, MailRecord, MailState, Owner, Row as LogRow, RunnerRecord,
    TaskRecord,
};
use orange_fleet::message::{Rest, Sender, Summary, Want, Wip};
use orange_fleet::time::{Period, Timestamp};
use tokio_postgres::{Client, Row};

fn number(row: &Row, column: &str) -> u64 {
    u64::try_from(row.get::<_, i64>(column)).unwrap()
}

fn time(row: &Row, column: &str) -> Timestamp {
    Timestamp(number(row, column))
}

fn json(text: &str) -> Json {
    Json::new(text).unwrap()
}

fn sha(bytes: &[u8]) -> Sha {
    Sha::from_bytes(bytes.try_into().unwrap())
}

pub async fn ledger(client: &Client, org: &OrgId) -> Ledger {
    let mut ledger = Ledger::new(org.clone(), LedgerTerms::default());
    let all = |table: &'static str| async move {
        let sql = format!("select * from orange.{table} where org = $1");
        client.query(&sql, &[&org.as_str()]).await.unwrap()
    };
    let coordinator = client
        .query_one("select * from orange.coordinator", &[])
        .await
        .unwrap();
    ledger.timeline = Timeline(number(&coordinator, "timeline"));
    ledger.claims_from = time(&coordinator, "claims_from");
    ledger.hearing = Hearing {
        up_since: time(&coordinator, "up_since"),
        last_mark: time(&coordinator, "last_mark"),
    };
    for row in all("runner").await {
        ledger
            .runners
            .insert(RunnerId::new(row.get::<_, &str>("id")), runner(&row));
    }
    let pools = all("pool").await;
    for row in all("task").await {
        let pool = pools
            .iter()
            .find(|it| number(it, "id") == number(&row, "pool"))
            .unwrap();
        let record = task(&row, pool);
        ledger
            .tasks
            .insert(TaskId::new(row.get::<_, &str>("id")), record);
    }
    for row in all("dependency").await {
        let waiting = ledger
            .tasks
            .get_mut(&TaskId::new(row.get::<_, &str>("task")))
            .unwrap();
        waiting
            .after
            .insert(TaskId::new(row.get::<_, &str>("after")));
    }
    let mut log = all("log").await;
    log.sort_by_key(|row| number(row, "place"));
    for (row, sequence) in log.iter().zip(1..) {
        let logged = ledger
            .tasks
            .get_mut(&TaskId::new(row.get::<_, &str>("task")))
            .unwrap();
        let commit = commit(row);
        let epoch = Epoch(number(row, "epoch"));
        logged.log.push(LogRow {
            epoch,
            sequence,
            commit,
        });
        ledger.sequence = sequence;
    }
    for row in all("wip").await {
        let saved = ledger
            .tasks
            .get_mut(&TaskId::new(row.get::<_, &str>("task")))
            .unwrap();
        saved.wip = Some(wip(&row));
    }
    for row in all("mail").await {
        ledger
            .mail
            .insert(MailId::new(row.get::<_, &str>("id")), mail(&row));
    }
    let bodies = all("body").await.into_iter().map(|row| {
        let project = ProjectId::new(row.get::<_, &str>("project"));
        let content = String::from_utf8(row.get("content")).unwrap();
        ((project, sha(row.get("sha"))), content)
    });
    ledger.texts = bodies.collect::<BTreeMap<_, _>>();
    ledger
}

/// What is counted ahead, so that a claim need not look: blocked by how many, and open mail.
pub async fn counts(client: &Client, org: &OrgId) -> BTreeMap<TaskId, (u64, u64)> {
    let sql = "select id, blocked, open_mail, head_sha, version from orange.task where org = $1";
    let rows = client.query(sql, &[&org.as_str()]).await.unwrap();
    let counts = rows.iter().map(|row| {
        let counts = (number(row, "blocked"), number(row, "open_mail"));
        (TaskId::new(row.get::<_, &str>("id")), counts)
    });
    counts.collect()
}

fn capabilities(row: &Row) -> Capabilities {
    let names = |column| -> Vec<String> { row.get(column) };
    Capabilities {
        format: Format(number(row, "format")),
        projects: names("projects").iter().map(ProjectId::new).collect(),
        harnesses: names("harnesses").iter().map(HarnessName::new).collect(),
        labels: names("labels").iter().map(Label::new).collect(),
    }
}

fn runner(row: &Row) -> RunnerRecord {
    RunnerRecord {
        home: HomeId::new(row.get::<_, &str>("home")),
        incarnation: Incarnation(number(row, "incarnation")),
        online: row.get("online"),
        lost_after: Period(number(row, "lost_after")),
        expires_at: time(row, "expires_at"),
        old_until: time(row, "old_until"),
        capabilities: capabilities(row),
        want: match row.get("want") {
            "drain" => Want::Drain,
            _ => Want::Hold,
        },
    }
}

fn task(row: &Row, pool: &Row) -> TaskRecord {
    let names = |column| -> Vec<String> { pool.get(column) };
    let holder: Option<&str> = row.get("holder");
    let holder = holder.map(RunnerId::new);
    let incarnation: Option<i64> = row.get("incarnation");
    let owner = incarnation.map(|_| Owner {
        runner: holder.clone().unwrap(),
        incarnation: Incarnation(number(row, "incarnation")),
    });
    TaskRecord {
        needs: Needs {
            format: Format(number(pool, "format")),
            project: ProjectId::new(row.get::<_, &str>("project")),
            harnesses: names("harnesses").iter().map(HarnessName::new).collect(),
            labels: names("labels").iter().map(Label::new).collect(),
        },
        priority: row.get("priority"),
        after: [].into(),
        parent: row.get::<_, Option<&str>>("parent").map(TaskId::new),
        log: Vec::new(),
        epoch: Epoch(number(row, "epoch")),
        holder,
        owner,
        rest: match row.get::<_, i16>("rest") {
            0 => Rest::Offered,
            1 => Rest::Idle,
            _ => Rest::Paused {
                until: time(row, "until"),
            },
        },
        returns: u32::try_from(number(row, "returns")).unwrap(),
        attempts: u32::try_from(number(row, "attempts")).unwrap(),
        since: time(row, "since"),
        summary: Summary {
            status: row.get("status"),
            ended: row.get("ended"),
            shown: json(row.get("shown")),
        },
        wip: None,
        letters: number(row, "letters"),
    }
}

fn commit(row: &Row) -> Commit {
    Commit {
        first: Version(number(row, "first")),
        last: Version(number(row, "last")),
        sha: sha(row.get("sha")),
        events: {
            let events: &str = row.get("events");
            // Read here by other means than the product's.
            let inner = events
                .strip_prefix('[')
                .and_then(|it| it.strip_suffix(']'))
                .unwrap();
            split(inner)
        },
        texts: row.get::<_, &[u8]>("texts").chunks(32).map(sha).collect(),
        request: row.get::<_, Option<&str>>("request").map(MailId::new),
    }
}

/// The values of a JSON array: a comma ends one when what is before it is whole.
fn split(inner: &str) -> Vec<Json> {
    let mut all = Vec::new();
    let mut value = String::new();
    for part in inner.split_inclusive(',') {
        value.push_str(part);
        if let Some(whole) = Json::new(value.strip_suffix(',').unwrap_or(&value)) {
            all.push(whole);
            value.clear();
        }
    }
    all
}

fn wip(row: &Row) -> Wip {
    Wip {
        epoch: Epoch(number(row, "epoch")),
        number: number(row, "number"),
        base: row.get("base"),
        bundle: row.get("bundle"),
        document: String::from_utf8(row.get("document")).unwrap(),
        imported: row.get::<_, Option<&[u8]>>("imported").map(sha),
    }
}

fn mail(row: &Row) -> MailRecord {
    let sender: &str = row.get("sender");
    MailRecord {
        task: TaskId::new(row.get::<_, &str>("task")),
        from: match row.get("kind") {
            "child" => Sender::Child(TaskId::new(sender)),
            _ => Sender::Person(PersonId::new(sender)),
        },
        key: RequestKey::new(row.get::<_, &str>("key")),
        ask: json(row.get("ask")),
        state: match row.get::<_, i16>("state") {
            0 => MailState::Open,
            1 => MailState::Recorded(Version(number(row, "version"))),
            _ => MailState::Answered(json(row.get("answer"))),
        },
    }
}
