//! An agent gets nothing, whatever token it has.

use std::fs;
use std::process::Command;

use crate::client::Api;
use crate::support::{Stage, wait_for};

/// Sends the request in `request`, and keeps the answer as `answer-NAME`.
fn call(port: u16, name: &str) -> String {
    format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; cat \"$0\" >&3; cat <&3' \
         \"$SCRIPTS/request\" | give answer-{name}\n"
    )
}

#[test]
fn row_38_a_process_below_a_run_never_speaks_as_the_user() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "act");
    let bearer = format!("Bearer {token}");
    let head = api.head("GET /api/v1/attention", &[("Authorization", &bearer)]);
    let request = format!("{head}Connection: close\r\n\r\n");
    fs::write(stage.path("scripts/request"), &request).unwrap();
    // Also when it drops its variables, and when its parents have gone.
    let bare = call(api.port, "bare").replace("bash -c", "env -i SCRIPTS=\"$SCRIPTS\" bash -c");
    let orphan = "( ( setsid sh -c 'sleep 1; . \"$0\"' \"$SCRIPTS/orphan\" & ) )\n";
    let give = "give() { cat > \"$SCRIPTS/$1.new\" && mv \"$SCRIPTS/$1.new\" \"$SCRIPTS/$1\"; }\n";
    let detached = format!(
        "SCRIPTS={}\n{give}{}",
        stage.path("scripts").display(),
        call(api.port, "orphan")
    );
    fs::write(stage.path("scripts/orphan"), detached).unwrap();
    let works = format!("{}{bare}{orphan}pause stop\n", call(api.port, "plain"));
    stage.script("worker-1", &works);
    let id = stage.create(&["one", "One"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    for name in ["plain", "bare", "orphan"] {
        let path = stage.path(&format!("scripts/answer-{name}"));
        wait_for(name, || path.exists());
        let answer = fs::read_to_string(path).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 "), "{name}: {answer}");
        assert!(answer.contains("agent-refused"), "{name}: {answer}");
        assert!(
            answer.contains("orange task show"),
            "it names the command line: {answer}"
        );
    }
    // The same request by the user.
    assert_eq!(api.get("/api/v1/attention", &token).status, 200);
    fs::write(stage.path("scripts/stop"), "").unwrap();
}

#[test]
fn a_program_of_the_user_is_the_user_with_either_kind_of_socket() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    for host in ["127.0.0.1", "[::ffff:127.0.0.1]"] {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-o", "/dev/null", "-w", "%{http_code}"]);
        curl.args(["-H", &format!("Authorization: Bearer {token}")]);
        curl.args(["-H", &format!("Host: 127.0.0.1:{}", api.port)]);
        curl.arg(format!("http://{host}:{}/api/v1/attention", api.port));
        let output = curl.current_dir("/").output();
        // Not every machine has curl.
        let Ok(output) = output else { return };
        assert_eq!(String::from_utf8_lossy(&output.stdout), "200", "{host}");
    }
}

#[test]
fn an_agent_neither_serves_nor_pairs() {
    let stage = Stage::new("minimal");
    stage.script(
        "worker-1",
        "ask web --port 0\nask web pair mine --scope act\nask web revoke phone\n",
    );
    let id = stage.create(&["one", "One"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert_eq!(calls.matches("-> 3\n").count(), 3, "{calls}");
    assert!(stage.web_files("codes").is_empty());
}
