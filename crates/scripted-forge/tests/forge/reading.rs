//! Pages, tags, renames, lag, Enterprise paths.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use scripted_forge::{Forge, Resource};
use serde_json::json;

use crate::client::Client;

#[test]
fn pages_are_linked_to_the_end() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    for index in 0..7 {
        forge.issue("octo/demo", "octo", &format!("Issue {index}"), "");
    }
    let mut path = "/repos/octo/demo/issues?per_page=3&direction=asc".to_owned();
    let mut numbers = Vec::new();
    loop {
        let page = octo.get(&path);
        let list = page.json();
        numbers.extend(
            list.as_array()
                .unwrap()
                .iter()
                .map(|it| it["number"].as_u64().unwrap()),
        );
        let next = page
            .header("link")
            .unwrap()
            .split(", ")
            .find(|it| it.contains("rel=\"next\""));
        let Some(next) = next else { break };
        path = next[1..next.find('>').unwrap()].to_owned();
        assert!(path.contains("/repositories/"));
    }
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(forge.count("issues/list-for-repo"), 3);
    forge.finish();
}

#[test]
fn what_has_not_changed_is_free() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    let list = octo.get("/repos/octo/demo/pulls");
    let tag = list.header("etag").unwrap().to_owned();
    let used = forge.rate("octo", Resource::Core).used;
    let again = octo.get_with("/repos/octo/demo/pulls", &[("If-None-Match", &tag)]);
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    assert_eq!(forge.rate("octo", Resource::Core).used, used);
    // CI does not move the tag of the list.
    forge.check("octo/demo", number, "test", Some("failure"));
    assert_eq!(
        octo.get_with("/repos/octo/demo/pulls", &[("If-None-Match", &tag)])
            .status,
        304
    );
    forge.rewrite("octo/demo", number, "octo", "New", "");
    let changed = octo.get_with("/repos/octo/demo/pulls", &[("If-None-Match", &tag)]);
    assert_eq!(changed.status, 200);
    assert_eq!(forge.rate("octo", Resource::Core).used, used + 1);
    forge.finish();
}

#[test]
fn a_renamed_repository_redirects() {
    let forge = Forge::start();
    forge.repository("octo/old");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/old", "feature");
    forge.rename("octo/old", "new");
    let moved = octo.get(&format!("/repos/octo/old/pulls/{number}"));
    assert_eq!(moved.status, 301);
    let found = octo.get(moved.header("location").unwrap()).json();
    assert_eq!(found["base"]["repo"]["full_name"], "octo/new");
    let body = json!({ "body": "x" });
    let path = format!("/repos/octo/old/issues/{number}/comments");
    assert_eq!(octo.send("POST", &path, &body).status, 307);
    // GraphQL follows by itself.
    let query = "{ repository(owner: \"octo\", name: \"old\") { nameWithOwner } }";
    let answer = octo.graphql(query, &json!({}));
    assert_eq!(answer["data"]["repository"]["nameWithOwner"], "octo/new");
    forge.finish();
}

#[test]
fn reads_may_lag_behind_a_write() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.issue("octo/demo", "octo", "A", "");
    forge.lag(2);
    let path = format!("/repos/octo/demo/issues/{number}/comments");
    assert_eq!(
        octo.send("POST", &path, &json!({ "body": "one" })).status,
        201
    );
    let count = || octo.get(&path).json().as_array().unwrap().len();
    assert_eq!([count(), count(), count()], [0, 0, 1]);
    forge.finish();
}

#[test]
fn enterprise_servers_have_other_paths() {
    let forge = Forge::start();
    forge.use_enterprise_paths();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    assert!(forge.rest_address().ends_with("/api/v3"));
    assert_eq!(octo.get("/user").json()["login"], "octo");
    let viewer = octo.graphql("{ viewer { login } }", &json!({}));
    assert_eq!(viewer["data"]["viewer"]["login"], "octo");
    forge.finish();
}

#[test]
fn a_connection_is_kept() {
    let forge = Forge::start();
    let token = forge.user("octo");
    let mut stream = TcpStream::connect(forge.address().trim_start_matches("http://")).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    for _ in 0..3 {
        let head = format!(
            "GET /rate_limit HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\nAuthorization: token {token}\r\nX-GitHub-Api-Version: 2022-11-28\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut buffer = [0; 4096];
        let mut answer = String::new();
        while !answer.ends_with('}') {
            let count = stream.read(&mut buffer).unwrap();
            answer += std::str::from_utf8(&buffer[..count]).unwrap();
        }
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_eq!(forge.count("rate-limit/get"), 3);
    assert_eq!(forge.rate("octo", Resource::Core).used, 0);
    forge.finish();
}

#[test]
fn it_stops_by_itself() {
    let forge = Forge::start_for(Duration::from_millis(50));
    let address = forge.address().trim_start_matches("http://").to_owned();
    let stops = |address: &str| {
        (0..400).any(|_| {
            std::thread::sleep(Duration::from_millis(25));
            TcpStream::connect(address).is_err()
        })
    };
    assert!(stops(&address));
    let forge = Forge::start();
    let address = forge.address().trim_start_matches("http://").to_owned();
    drop(forge);
    assert!(stops(&address));
}
