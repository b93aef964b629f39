//! Every endpoint, by every kind of caller.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::{Epoch, HomeId, Incarnation, MailId, RunnerId, TaskId};
use orange_fleet::json::Json;
use orange_fleet::message::{
    Adopt, Append, Beat, GiveBack, MailAnswer, Register, Rest, Summary, TaskAppend, Want, Wip,
    WorkRequest,
};
use orange_fleet::time::Period;
use orange_server::TlsSetting;
use orange_server::access::{Role, Secret, SecretKind};
use orange_server::http::endpoints::{Call, ENDPOINTS, Endpoint};
use serde::Serialize;
use serde_json::json;

use crate::client::{Client, Reply};
use crate::cluster::Cluster;
use crate::servers::{
    Running, admin, ask, code, create, first_admin, person, person_request, post, runner,
};
use crate::sim::{Sim, TEXT, capabilities};

/// The kinds of callers, in the order of the columns below. `expired`, `revoked` and `used` have a
/// token that worked once; `org` and `org-run` are an admin and a runner of another organisation,
/// whose runner has the same name; `project` maintains another project. `idle` is a runner that
/// does not hold the task, `holder` the one that does, and `stale` the same with the numbers of
/// before.
const CALLERS: [&str; 16] = [
    "none", "garbage", "expired", "revoked", "used", "org", "project", "view", "operate", "review",
    "maintain", "admin", "idle", "stale", "org-run", "holder",
];

/// Callers that may know nothing of the task.
const BLIND: [&str; 10] = [
    "none", "garbage", "expired", "revoked", "used", "org", "project", "idle", "stale", "org-run",
];

/// What each of them is answered: the status, or what a runner's call did. `wait` means that there
/// was no work within a second.
#[rustfmt::skip]
const EXPECTED: &str = "
             none garbage expired revoked used org project view operate review maintain admin   idle  stale    org-run     holder
healthz       200     200     200     200  200 200     200  200     200    200      200   200    200    200        200        200
readyz        200     200     200     200  200 200     200  200     200    200      200   200    200    200        200        200
metrics       401     401     401     401  401 200     403  403     403    403      403   200    403    403        403        403
join          401     401     401     401  401 401     401  401     401    401      401   401    401    401        401        401
login         401     401     401     401  401 401     401  401     401    401      401   401    401    401        401        401
me            401     401     401     401  401 200     200  200     200    200      200   200    200    200        200        200
register      401     401     401     401  401 403     403  403     403    403      403   403    403  taken registered registered
beat          401     401     401     401  401 403     403  403     403    403      403   403    403  stale      alive      alive
work          401     401     401     401  401 403     403  403     403    403      403   403    403   wait       wait       mail
append        401     401     401     401  401 403     403  403     403    403      403   403 fenced fenced     fenced         ok
give_back     401     401     401     401  401 403     403  403     403    403      403   403 fenced fenced     fenced         ok
adopt         401     401     401     401  401 403     403  403     403    403      403   403   none   none       none      claim
wip           401     401     401     401  401 403     403  403     403    403      403   403 fenced fenced     fenced         ok
answer        401     401     401     401  401 403     403  403     403    403      403   403 fenced fenced     fenced         ok
create        401     401     401     401  401 200     403  403     200    200      200   200    403    403        403        403
task          401     401     401     401  401 404     404  200     200    200      200   200    403    403        403        403
requesttell   401     401     401     401  401 404     404  403     200    200      200   200    403    403        403        403
requestmerge  401     401     401     401  401 404     404  403     403    200      200   200    403    403        403        403
state         401     401     401     401  401 404     404  200     200    200      200   200    403    403        403        403
changes       401     401     401     401  401 200     200  200     200    200      200   200    403    403        403        403
text          401     401     401     401  401 404     404  200     200    200      200   200    403    403        403        403
runners       401     401     401     401  401 200     200  200     200    200      200   200    403    403        403        403
want          401     401     401     401  401 404     404  403     403    403      200   200    403    403        403        403
code          401     401     401     401  401 200     403  403     403    403      403   200    403    403        403        403
tokens        401     401     401     401  401 200     403  403     403    403      403   200    403    403        403        403
revoke        401     401     401     401  401 404     403  403     403    403      403   200    403    403        403        403
";

struct World {
    callers: BTreeMap<&'static str, Client>,
    /// Several, because one may not ask so often.
    operators: Vec<Client>,
    holder: Sim,
    count: usize,
}

/// What one cell of the table is tried on.
struct Case {
    task: TaskId,
    mail: MailId,
    epoch: Epoch,
    local: Vec<Commit>,
}

impl World {
    fn new(cluster: &Cluster, running: &Running) -> Self {
        let (address, url) = (running.address, cluster.url());
        let main = first_admin(address, &url);
        let other = admin(address, &url, "rival", "eve");
        let own = |name: &str, project: &str, role| person(&main, name, project, role);
        let history = Arc::new(Mutex::default());
        let sim = |name: &str, client: &Client| {
            let mut sim = Sim::new(name, client.clone(), vec![address], Arc::clone(&history));
            sim.lost_after = Period::seconds(600);
            assert!(sim.register());
            sim
        };
        let (holder, idle) = (runner(&main, "holder"), runner(&main, "idle"));
        // The same name in another organisation is another runner.
        let foreign = runner(&other, "holder");
        let code_of = |name: &str| code(&main, &person_request(name, "coffee", Role::Maintain));
        let used = code_of("used");
        Client::exchange(address, "/v1/login", &used).unwrap();
        let with = |token: String| Client::new(address, Some(token));
        let callers = [
            ("none", Client::new(address, None)),
            (
                "garbage",
                with(
                    Secret::draw(SecretKind::Person)
                        .unwrap()
                        .reveal()
                        .to_owned(),
                ),
            ),
            (
                "expired",
                expired(cluster, &own("late", "coffee", Role::Maintain)),
            ),
            (
                "revoked",
                revoked(&main, own("gone", "coffee", Role::Maintain)),
            ),
            ("used", with(used)),
            ("org", other.clone()),
            ("project", own("pat", "tea", Role::Maintain)),
            ("view", own("vic", "coffee", Role::View)),
            ("operate", own("oli", "coffee", Role::Operate)),
            ("review", own("rae", "coffee", Role::Review)),
            ("maintain", own("mia", "coffee", Role::Maintain)),
            ("admin", main.clone()),
            ("idle", idle.clone()),
            ("holder", holder.clone()),
            ("stale", holder.clone()),
            ("org-run", foreign.clone()),
        ];
        Self {
            callers: callers.into(),
            operators: (0..8)
                .map(|it| own(&format!("ops-{it}"), "coffee", Role::Operate))
                .collect(),
            holder: {
                sim("idle", &idle);
                sim("holder", &foreign);
                sim("holder", &holder)
            },
            count: 0,
        }
    }

    fn operator(&mut self) -> &Client {
        self.operators.rotate_left(1);
        &self.operators[0]
    }

    /// A task that the runner `holder` holds, with open mail.
    fn case(&mut self) -> Case {
        self.count += 1;
        let task = TaskId::new(format!("task-{}", self.count));
        create(self.operator(), task.as_str());
        let mail = post(self.operator(), task.as_str(), "key");
        // The second call brings the mail, when the first has only claimed the task.
        assert!(self.holder.work(1) && self.holder.work(0));
        let held = self.holder.held();
        let (_, epoch) = held.iter().find(|it| it.0 == task).unwrap();
        Case {
            epoch: *epoch,
            mail,
            // The mail was decided locally; only the created commit is in the log.
            local: self.holder.local(&task)[..1].to_vec(),
            task,
        }
    }

    /// Takes the task out of the way.
    fn tidy(&self, case: &Case) {
        self.holder.forget(&case.task);
        let call = GiveBack {
            task: case.task.clone(),
            epoch: case.epoch,
            rest: Rest::Idle,
        };
        let path = format!("/v1/tasks/{}/give-back", case.task);
        let reply = self.callers["holder"].post(&path, &call);
        assert_eq!(reply.status, 200);
    }
}

fn revoked(admin: &Client, client: Client) -> Client {
    let token = client.token.clone().unwrap();
    let sha = Sha::of(token.as_bytes());
    let reply = admin
        .call("DELETE", &format!("/v1/tokens/{sha}"), "")
        .unwrap();
    assert_eq!(reply.status, 200);
    client
}

/// As if its time had passed.
fn expired(cluster: &Cluster, client: &Client) -> Client {
    let sha = Sha::of(client.token.clone().unwrap().as_bytes());
    cluster.run(&format!(
        "update orange.token set expires_at = orange.now_ms() where sha = '\\x{sha}'"
    ));
    client.clone()
}

/// One call as a caller makes it: method, path and body.
struct Attempt {
    method: &'static str,
    path: String,
    body: String,
}

impl Attempt {
    /// `None` when nothing is answered in time.
    fn send(&self, client: &Client) -> Option<Reply> {
        client.insist(self.method, &self.path, &self.body).ok()
    }
}

#[expect(clippy::too_many_lines, reason = "a body for each endpoint")]
fn attempt(endpoint: &Endpoint, verb: &str, caller: &str, case: &Case, used: &Sha) -> Attempt {
    let is_stale = caller == "stale";
    let (task, mail) = (&case.task, &case.mail);
    let epoch = Epoch(case.epoch.0 - u64::from(is_stale));
    let incarnation = Incarnation(u64::from(!is_stale));
    let body = match endpoint.call {
        Call::Join | Call::Login => {
            let code = Secret::draw(SecretKind::Code).unwrap();
            json!({ "code": code.reveal(), "token_sha256": Sha::of(b"") }).to_string()
        }
        Call::Register => text(&Register {
            runner: RunnerId::new("holder"),
            home: HomeId::new("home-holder"),
            seen: Incarnation(if is_stale { 7 } else { 0 }),
            lost_after: Period::seconds(600),
            capabilities: capabilities(),
        }),
        Call::Beat => text(&Beat {
            home: HomeId::new("home-holder"),
            incarnation,
            held: vec![orange_fleet::message::HeldTask {
                task: task.clone(),
                epoch,
                acknowledged: orange_fleet::ids::Version(1),
            }],
            free: 0,
            parked: BTreeSet::new(),
            activity: Json::null(),
        }),
        Call::Work => text(&WorkRequest {
            incarnation,
            free: 0,
            parked: BTreeSet::new(),
        }),
        Call::Append => {
            let event = Json::new("{\"by\":\"test\"}").unwrap();
            let commit = Commit::new(case.head(), vec![event], Vec::new(), None).unwrap();
            text(&Append {
                tasks: vec![TaskAppend {
                    task: task.clone(),
                    epoch,
                    base: case.head().version,
                    commits: vec![commit],
                    texts: Vec::new(),
                    summary: Summary {
                        status: "spoilt".to_owned(),
                        ended: false,
                        shown: Json::null(),
                    },
                }],
            })
        }
        Call::GiveBack => text(&GiveBack {
            task: task.clone(),
            epoch,
            rest: Rest::Idle,
        }),
        Call::Adopt => text(&Adopt {
            task: task.clone(),
            incarnation,
            seen: epoch,
            held: None,
        }),
        Call::SaveWip => text(&Wip {
            epoch,
            number: 1,
            base: "abc".to_owned(),
            bundle: "AAAA".to_owned(),
            document: "# T".to_owned(),
            imported: None,
        }),
        Call::AnswerMail => text(&MailAnswer {
            task: task.clone(),
            epoch,
            answer: Json::new("\"no\"").unwrap(),
        }),
        Call::CreateTask => {
            let mut call = crate::servers::task(&format!("new-{caller}"));
            // Another organisation has no such text of its own, and no runner takes the task.
            call.texts.clear();
            call.needs.harnesses = [orange_fleet::ids::HarnessName::new("other")].into();
            text(&call)
        }
        Call::PostRequest => text(&ask(verb, caller)),
        Call::WantRunner => json!({ "want": Want::Hold }).to_string(),
        Call::CreateCode => text(&crate::servers::runner_request("new")),
        Call::Health
        | Call::Ready
        | Call::Metrics
        | Call::WhoAmI
        | Call::ViewTask
        | Call::ViewRequest
        | Call::Changes
        | Call::Text
        | Call::Runners
        | Call::Tokens
        | Call::RevokeToken => String::new(),
    };
    let sha = match endpoint.call {
        Call::Text => Sha::of(TEXT.as_bytes()),
        _ => *used,
    };
    let runner = match endpoint.call {
        Call::WantRunner => "idle",
        _ => "holder",
    };
    let path = endpoint.path.replace("{task}", task.as_str());
    let path = path.replace("{mail}", mail.as_str());
    let path = path.replace("{runner}", runner);
    Attempt {
        method: match endpoint.method.as_str() {
            "GET" => "GET",
            "PUT" => "PUT",
            "DELETE" => "DELETE",
            _ => "POST",
        },
        path: path.replace("{sha}", &sha.to_string()),
        body,
    }
}

fn text(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap()
}

/// The status of an answer, or what the call did.
fn outcome(call: Call, reply: &Reply) -> String {
    let json = reply.json();
    let word = match call {
        _ if reply.status != 200 => None,
        Call::Append => json["tasks"][0]["result"].as_str(),
        Call::GiveBack | Call::SaveWip | Call::AnswerMail => json["result"].as_str(),
        Call::Register | Call::Beat => json["status"].as_str(),
        Call::Adopt => Some(if json["claim"].is_null() {
            "none"
        } else {
            "claim"
        }),
        Call::Work => Some(if json["mail"].is_null() {
            "none"
        } else {
            "mail"
        }),
        _ => None,
    };
    word.map_or_else(|| reply.status.to_string(), str::to_owned)
}

impl Case {
    fn head(&self) -> Head {
        self.local.last().unwrap().head()
    }

    /// The same for a task that does not exist.
    fn unknown(&self) -> Self {
        Self {
            task: TaskId::new("task-x"),
            mail: MailId::new("mail-x"),
            epoch: self.epoch,
            local: self.local.clone(),
        }
    }

    /// An answer without the names that its caller knows anyway.
    fn anonymous(&self, reply: &Reply) -> Reply {
        let body = reply.body.replace(self.task.as_str(), "TASK");
        Reply {
            status: reply.status,
            body: body.replace(self.mail.as_str(), "MAIL"),
        }
    }
}

#[test]
fn every_endpoint_answers_each_caller_as_the_table_says() {
    let cluster = Cluster::start();
    let running = Running::start(&cluster.url(), TlsSetting::Off);
    let mut world = World::new(&cluster, &running);
    let used = world.callers["used"].token.clone().unwrap();
    let used = Sha::of(used.as_bytes());
    let mut table = format!("{:<10}", "");
    for caller in CALLERS {
        write!(table, " {caller:>10}").unwrap();
    }
    table.push('\n');
    for endpoint in &ENDPOINTS {
        let verbs: &[&str] = match endpoint.call {
            Call::PostRequest => &["tell", "merge"],
            _ => &[""],
        };
        for verb in verbs {
            let case = world.case();
            write!(table, "{:<10}", format!("{}{verb}", endpoint.name)).unwrap();
            for caller in CALLERS {
                let mut client = world.callers[caller].clone();
                let place = format!("{} as {caller}", endpoint.path);
                if endpoint.call == Call::Work {
                    client.patience = Duration::from_secs(1);
                }
                let view = format!("/v1/tasks/{}", case.task);
                let before = world.operator().get(&view);
                let reply = attempt(endpoint, verb, caller, &case, &used).send(&client);
                let cell = reply
                    .as_ref()
                    .map_or_else(|| "wait".to_owned(), |it| outcome(endpoint.call, it));
                write!(table, " {cell:>10}").unwrap();
                if !BLIND.contains(&caller) {
                    continue;
                }
                let Some(reply) = reply else {
                    continue;
                };
                // One who may know nothing learns nothing, and changes nothing.
                assert!(!reply.body.contains("secret-"), "{place}: {}", reply.body);
                let after = world.operator().get(&view);
                assert_eq!(after, before, "{place}");
                // And a task of others is answered as one that does not exist.
                if endpoint.path.contains("{task}") || endpoint.path.contains("{mail}") {
                    let unknown = case.unknown();
                    let control = attempt(endpoint, verb, caller, &unknown, &used).send(&client);
                    let control = control.map(|it| unknown.anonymous(&it));
                    assert_eq!(Some(case.anonymous(&reply)), control, "{place}");
                }
            }
            table.push('\n');
            world.tidy(&case);
        }
    }
    let cells = |it: &str| {
        let lines = it
            .lines()
            .map(|it| it.split_whitespace().map(str::to_owned));
        let lines = lines.map(Iterator::collect::<Vec<String>>);
        lines.filter(|it| !it.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(cells(&table), cells(EXPECTED), "\n{table}");
}
