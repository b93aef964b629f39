//! What other programs get from the ports of an agent.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use orange_effects::sandbox::{Level, Network};

use crate::fixture::{Fixture, kill};
use crate::injected_login::LoginService;

/// A running agent, and what it was told about its ports.
struct Agent {
    fixture: Fixture,
    exec_run: Child,
    /// The port for calls, their secret, the proxy, and the address of the service.
    told: Vec<String>,
}

impl Agent {
    fn start(service: &LoginService) -> Agent {
        let fixture = Fixture::new();
        let mut description = fixture.describe_at(Level::Partial);
        description.network = Network::List(vec!["allowed.test:443".parse().unwrap()]);
        description.login = Some(service.login());
        let script = "echo $ORANGE_SANDBOX_CALLS $http_proxy $BASE | tr ' :@/' '\\n\\n\\n\\n' | grep . > told.new\n\
                      env > env; mv told.new told; echo ready > ready; exec sleep 1000";
        let file = fixture.run_file_with_variables(script, &description, &[("REAL_KEY", "real")]);
        let exec_run = fixture.exec_run(&file).spawn().unwrap();
        fixture.wait_for_file("ready");
        let told = fs::read_to_string(fixture.path("w/told")).unwrap();
        let told = told.lines().map(str::to_owned).collect();
        Agent {
            fixture,
            exec_run,
            told,
        }
    }

    fn send(port: &str, bytes: &str) -> String {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _closed = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        kill("-TERM", self.exec_run.id());
        let _reaped = self.exec_run.wait();
    }
}

#[test]
fn ports_answer_only_with_the_secret_of_the_run() {
    let service = LoginService::start();
    let agent = Agent::start(&service);
    let [
        calls,
        secret,
        scheme,
        user,
        password,
        host,
        proxy,
        scheme_of_login,
        host_of_login,
        login,
    ] = agent.told.as_slice()
    else {
        panic!("{:?}", agent.told);
    };
    assert_eq!([scheme, user, host], ["http", "orange", "127.0.0.1"]);
    assert_eq!([scheme_of_login, host_of_login], ["http", "127.0.0.1"]);
    assert_eq!(secret, password);
    let environment = fs::read_to_string(agent.fixture.path("w/env")).unwrap();
    assert!(!environment.contains("REAL_KEY"), "{environment}");
    assert!(
        environment.contains("INSIDE_KEY=placeholder"),
        "{environment}"
    );

    let call = |secret: Option<&str>| {
        let call = serde_json::json!({ "version": 1, "secret": secret, "arguments": ["inbox"], "has_input": false });
        Agent::send(calls, &format!("{call}\n"))
    };
    let half = &secret[..secret.len() / 2];
    for wrong in [None, Some(""), Some(half), Some("x")] {
        let answer = call(wrong);
        assert!(
            answer.starts_with('r') && answer.contains("only the agent itself"),
            "{answer}"
        );
    }
    assert!(!call(Some(secret)).starts_with('r'));

    let connect = |more: &str| {
        let request = format!("CONNECT other.test:443 HTTP/1.1\r\n{more}\r\n");
        Agent::send(proxy, &request)
    };
    for wrong in [
        "",
        "Proxy-Authorization: Basic b3JhbmdlOg==\r\n",
        "Proxy-Authorization: Bearer x\r\n",
    ] {
        let answer = connect(wrong);
        assert!(answer.starts_with("HTTP/1.1 407 "), "{answer}");
        assert!(!answer.contains(secret.as_str()), "{answer}");
    }
    let answer = Agent::send(login, "GET /v1/x HTTP/1.1\r\nx-api-key: guessed\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(service.take().is_empty());
    let answer = Agent::send(
        login,
        "GET /v1/x HTTP/1.1\r\nx-api-key: placeholder-of-this-run\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let requests = service.take();
    assert!(
        requests.concat().contains("x-api-key: real"),
        "{requests:?}"
    );
}

#[test]
fn the_agent_itself_uses_its_ports() {
    let fixture = Fixture::new();
    let mut description = fixture.describe_at(Level::Partial);
    description.network = Network::List(vec!["203.0.113.9:443".parse().unwrap()]);
    let orange = fixture.orange.display();
    let script = format!(
        "{orange} task show nope; echo $?\n{orange} task merge x; echo $?\n\
         printf 'named' > named; {orange} task create --context @named --no-spawn x >/dev/null 2>&1; echo $?\n\
         perl -MIO::Socket::INET -MMIME::Base64 -e '$ENV{{http_proxy}} =~ m#//(.*)@(.*)# or die; \
         my $s = IO::Socket::INET->new($2) or die $!; my $c = encode_base64($1, \"\"); \
         print $s \"CONNECT other.test:443 HTTP/1.1\\r\\nProxy-Authorization: Basic $c\\r\\n\\r\\n\"; print <$s>'\n\
         ORANGE_SANDBOX_CALLS=1:x {orange} inbox; echo $?\n"
    );
    let said = fixture.output_of(&script, &description, &[]);
    assert!(said.contains("nope"), "{said}");
    assert!(said.contains("is not available in a sandbox"), "{said}");
    assert!(said.contains("HTTP/1.1 403 Forbidden"), "{said}");
    assert!(
        said.contains("the sandbox does not reach other.test:443"),
        "{said}"
    );
}
