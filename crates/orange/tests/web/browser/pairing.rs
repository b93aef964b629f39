//! Devices: one-time addresses, tokens, revocation.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::webdriver::Browser;
use super::{Scene, texts};
use crate::client::Api;
use crate::support::Stage;

/// A development server of an agent: the first bytes of every request that reaches it.
fn dev_server(page: String) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = mpsc::channel();
    // It ends with the process of the test.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let _over = sender.send(String::from_utf8_lossy(&head[..length]).into_owned());
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: \
                 close\r\n\r\n{page}",
                page.len()
            );
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    (port, requests)
}

#[test]
fn rows_13_14_16_20_41_the_token_stays_with_the_page() {
    let scene = Scene::new(Stage::new("minimal"));
    let browser = &scene.browser;
    let token = browser.value("JSON.parse(localStorage.getItem('orange.device')).token");
    let token = token.as_str().unwrap().to_owned();
    assert!(token.len() >= 32, "{token}");
    // Neither the code nor the token is in the address or in the history.
    assert_eq!(browser.value("location.href"), json!(scene.url()));
    assert_eq!(browser.value("document.cookie"), "");
    browser.tap("New task");
    browser.wait_for("What should be done?");
    browser.run("history.back()", &[]);
    browser.wait_for("Needs you");
    assert_eq!(browser.value("location.hash"), "");
    // Nothing is kept but by the browser's own cache of the public files.
    let kept = browser.run(
        "return (async () => [
            ...await caches.keys(),
            ...(await navigator.serviceWorker.getRegistrations()).map(String),
            ...(await indexedDB.databases()).map(String),
            ...Object.keys(sessionStorage),
        ])();",
        &[],
    );
    assert_eq!(kept, json!([]));
    // Only files of this server were loaded.
    let loaded = browser.value("performance.getEntriesByType('resource').map((it) => it.name)");
    for name in texts(&loaded) {
        assert!(name.starts_with(&scene.url()), "{name}");
        assert!(!name.contains(&token) && !name.contains("code"), "{name}");
    }
    scene.assert_quiet(&[]);
    // A server of an agent on another port, opened in the same browser.
    let page = format!(
        "<iframe src='{url}'></iframe><script>
        const paths = ['', 'api/v1/attention', 'api/v1/events'];
        Promise.allSettled(paths.map((path) => fetch('{url}' + path, {{ credentials: 'include' }})))
            .then((all) => (window.reached = all.map((it) => it.status)));
        window.kept = Object.keys(localStorage).concat(document.cookie);
        </script>",
        url = scene.url()
    );
    let (port, requests) = dev_server(page);
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.wait_until("window.reached !== undefined");
    assert_eq!(
        browser.value("reached"),
        json!(["rejected", "rejected", "rejected"])
    );
    assert_eq!(browser.value("kept"), json!([""]));
    assert_eq!(browser.value("frames[0].length"), 0);
    let framed = browser.value("document.querySelector('iframe').contentDocument");
    assert!(framed.is_null(), "a frame of another origin: {framed}");
    let received = requests.recv_timeout(Duration::from_secs(10)).unwrap();
    let received = received + &requests.try_iter().collect::<String>();
    for secret in [&token, "ookie:", "uthorization:", &scene.url()] {
        assert!(!received.contains(secret), "{secret}: {received}");
    }
    // Another name of this machine is another origin, which has no token either.
    browser.open(&format!("http://localhost:{}/", scene.api.port));
    browser.wait_for("This device is not paired.");
    assert_eq!(browser.value("localStorage.length"), 0);
}

#[test]
fn row_31_a_revoked_device_asks_once_more_and_is_silent() {
    let scene = Scene::new(Stage::new("minimal"));
    let browser = &scene.browser;
    scene.count_requests();
    scene.stage.run_ok(&["web", "revoke", "phone"]);
    browser.wait_for("This device is no longer paired.");
    browser.wait_for("orange web pair phone --scope act");
    let refused = scene.answers();
    // Requests that were on their way together may be refused together.
    let count = refused.iter().filter(|it| it.starts_with("401 ")).count();
    assert!((1..=2).contains(&count), "{refused:?}");
    let before = refused.len();
    // It would have asked for the list again.
    thread::sleep(Duration::from_secs(6));
    assert_eq!(scene.answers().len(), before, "{:?}", scene.answers());
    scene.assert_quiet(&["status of 401"]);
    // A new code pairs it again; this one may only read, so it is offered nothing else.
    let id = scene.stage.create(&["Add a line"]);
    browser.open(&scene.pairing_url("tablet", "read"));
    browser.wait_for("Add a line");
    assert!(!browser.offers("New task"), "{}", browser.text());
    browser.open(&format!("{}#/task/{id}", scene.url()));
    browser.wait_for("Why it is here");
    let buttons = browser.value("document.querySelectorAll('button').length");
    assert_eq!(buttons, 0, "{}", browser.text());
    // A code works once, and the page says so.
    let used = scene.pairing_url("laptop", "read");
    scene.api.exchange_code(used.split_once('=').unwrap().1);
    browser.open("about:blank");
    browser.open(&used);
    browser.wait_for("Pairing failed: the code is unknown, used or expired.");
    assert_eq!(browser.value("location.hash"), "");
}

#[test]
fn an_address_with_a_code_pairs_a_tab_that_is_open_already() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let browser = Browser::start();
    browser.open(&format!("http://127.0.0.1:{}/", api.port));
    browser.wait_for("This device is not paired.");
    let scene = Scene {
        stage,
        api,
        browser,
    };
    let url = scene.pairing_url("phone", "read");
    scene.browser.open(&url);
    scene.browser.wait_for("Needs you");
    assert_eq!(
        scene.browser.value("location.href"),
        json!(scene.url()),
        "the code is not in the address any more"
    );
    // A device that may only read gets no form.
    scene.browser.run("location.hash = '#/new'", &[]);
    scene.browser.wait_for("Needs you");
    assert_eq!(scene.browser.value("document.forms.length"), 0);
    scene.assert_quiet(&[]);
}

#[test]
fn a_screen_that_could_not_be_read_is_read_once_the_server_answers() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line"]);
    let scene = Scene::new(stage);
    let browser = &scene.browser;
    browser.run(
        "window.send = fetch; window.fetch = () => Promise.reject(new TypeError());",
        &[],
    );
    browser.run(
        "location.hash = `#/task/${arguments[0]}`",
        &[json!(id.as_str())],
    );
    browser.wait_until("document.body.innerText.startsWith('‹')");
    browser.run("return new Promise(requestAnimationFrame)", &[]);
    assert!(!browser.text().contains("Why it is here"));
    browser.run("window.fetch = window.send", &[]);
    scene.set_hidden(true);
    scene.set_hidden(false);
    browser.wait_for("Why it is here");
    browser.wait_until("!document.body.innerText.includes('does not answer')");
    scene.assert_quiet(&[]);
}
