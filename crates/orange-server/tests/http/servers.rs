//! Servers in this process, and the people and runners that use them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use orange_fleet::capability::Needs;
use orange_fleet::ids::{Format, HarnessName, MailId, PersonId, ProjectId, RequestKey, TaskId};
use orange_fleet::json::Json;
use orange_fleet::message::{CreateAnswer, CreateTask, PostRequest, RequestState, Summary, Text};
use orange_server::access::{Role, Roles};
use orange_server::http::CodeRequest;
use orange_server::{DEFAULT_ORG, Host, Settings, Stopper, TlsSetting, admin_code};
use serde_json::Value;

use crate::client::Client;
use crate::sim::{TEXT, first_commit};

/// For the output of a test that fails.
#[expect(clippy::print_stderr, reason = "the server's own output")]
fn show(message: &str) {
    eprintln!("server: {message}");
}

pub struct Running {
    pub address: SocketAddr,
    pub fingerprint: Option<String>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(database: &str, tls: TlsSetting) -> Self {
        let settings = Settings {
            database: database.to_owned(),
            connections: 8,
            listen: "127.0.0.1:0".parse().unwrap(),
            tls,
        };
        let report = Arc::new(|message: &str| show(message));
        let host = Host::start(&settings, report).unwrap();
        Self {
            address: host.server().address(),
            fingerprint: host.server().fingerprint().map(str::to_owned),
            stopper: host.stopper(),
            thread: Some(thread::spawn(move || host.run())),
        }
    }

    pub fn stop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A person of an organisation who is its admin.
pub fn admin(address: SocketAddr, database: &str, org: &str, name: &str) -> Client {
    let code = admin_code(database, org, name).unwrap();
    Client::exchange(address, "/v1/login", code.reveal()).unwrap()
}

pub fn first_admin(address: SocketAddr, database: &str) -> Client {
    admin(address, database, DEFAULT_ORG, "admin")
}

/// A code that an admin makes.
pub fn code(admin: &Client, request: &CodeRequest) -> String {
    let answer: Value = admin.post("/v1/codes", request).read();
    answer["code"].as_str().unwrap().to_owned()
}

pub fn runner_request(name: &str) -> CodeRequest {
    CodeRequest::Runner {
        runner: orange_fleet::ids::RunnerId::new(name),
        projects: Some([ProjectId::new("coffee")].into()),
        labels: std::collections::BTreeSet::new(),
    }
}

pub fn person_request(name: &str, project: &str, role: Role) -> CodeRequest {
    CodeRequest::Person {
        person: PersonId::new(name),
        roles: Roles {
            admin: false,
            projects: [(ProjectId::new(project), role)].into(),
        },
    }
}

pub fn runner(admin: &Client, name: &str) -> Client {
    let code = code(admin, &runner_request(name));
    Client::exchange(admin.address, "/v1/join", &code).unwrap()
}

pub fn person(admin: &Client, name: &str, project: &str, role: Role) -> Client {
    let code = code(admin, &person_request(name, project, role));
    Client::exchange(admin.address, "/v1/login", &code).unwrap()
}

/// A new task of the project `coffee`.
pub fn task(id: &str) -> CreateTask {
    CreateTask {
        task: TaskId::new(id),
        needs: Needs {
            format: Format(1),
            project: ProjectId::new("coffee"),
            harnesses: [HarnessName::new("claude")].into(),
            labels: std::collections::BTreeSet::new(),
        },
        priority: 0,
        after: std::collections::BTreeSet::new(),
        parent: None,
        commits: vec![first_commit(id)],
        texts: vec![Text {
            sha: orange_fleet::chain::Sha::of(TEXT.as_bytes()),
            content: TEXT.to_owned(),
        }],
        summary: Summary {
            status: "secret-status".to_owned(),
            ended: false,
            shown: Json::null(),
        },
    }
}

pub fn create(person: &Client, id: &str) {
    let reply = person.post("/v1/tasks", &task(id));
    assert_eq!(reply.read::<CreateAnswer>(), CreateAnswer::Ok);
}

pub fn ask(verb: &str, key: &str) -> PostRequest {
    let what = match verb {
        "tell" => String::from("\"kind\":\"tell\""),
        verb => format!("\"kind\":\"verb\",\"verb\":\"{verb}\""),
    };
    PostRequest {
        key: RequestKey::new(key),
        ask: Json::new(format!("{{{what},\"message\":\"secret-ask\"}}")).unwrap(),
    }
}

pub fn post(person: &Client, task: &str, key: &str) -> MailId {
    let reply = person.post(&format!("/v1/tasks/{task}/requests"), &ask("tell", key));
    reply.read::<RequestState>().id
}
