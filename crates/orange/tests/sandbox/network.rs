//! What an agent reaches over the network.

use std::fs;
use std::process::{Command, Stdio};

use orange_config::HostPort;
use orange_effects::sandbox::{Description, Network};
use serde_json::json;

use crate::fixture::{Around, Fixture, wait_for};
use crate::stories::{PROVE, stage};

/// Answers on two addresses with the first line and the headers of the request.
const SERVER: &str = r#"
use IO::Socket::INET; use IO::Select;
my @listeners = map { IO::Socket::INET->new(LocalAddr => $_, Listen => 20, ReuseAddr => 1)
    or die "$_: $!" } @ARGV;
my $select = IO::Select->new(@listeners);
open my $ready, ">", $ENV{READY} or die; print $ready "ready\n"; close $ready;
while (my @found = $select->can_read) { for my $listener (@found) {
    my $socket = $listener->accept or next;
    my $text = ""; while (my $line = <$socket>) { last if $line eq "\r\n"; $text .= $line; }
    my $length = length $text;
    print $socket "HTTP/1.1 200 OK\r\nContent-Length: $length\r\nConnection: close\r\n\r\n$text";
    close $socket; } }
"#;

/// Sends its input to the address of its argument and prints the answer; `FAILED` if it cannot
/// connect.
const CLIENT: &str = r#"
use IO::Socket::INET; use Socket qw(SOL_SOCKET);
my ($address, $pause) = @ARGV; $address =~ s#^http://##; $address =~ s#/$##;
my $socket = IO::Socket::INET->new(PeerAddr => $address, Timeout => 5) or do { print "FAILED\n"; exit };
local $/; my $text = <STDIN>; $text =~ s/\\r\\n/\r\n/g;
my @parts = split /\|PAUSE\|/, $text;
while (@parts) { print $socket shift @parts; $socket->flush; sleep 1 if @parts; }
shutdown($socket, 1) if $pause;
while (sysread($socket, my $part, 65536)) { print $part; }
print "\n";
"#;

/// A public address that exists only in the namespace of a test.
const PUBLIC: &str = "203.0.113.5:8080";
const LOCAL: &str = "127.0.0.1:8081";

/// A sandbox with a limited network, and a host with two servers.
struct Limited {
    fixture: Fixture,
    description: Description,
}

fn limited(hosts: &[&str]) -> Limited {
    let fixture = Fixture::new();
    fs::write(fixture.path("w/server.pl"), SERVER).unwrap();
    fs::write(fixture.path("w/client.pl"), CLIENT).unwrap();
    let mut description = fixture.describe();
    let hosts: Vec<HostPort> = hosts.iter().map(|host| host.parse().unwrap()).collect();
    description.network = Network::List(hosts);
    Limited {
        fixture,
        description,
    }
}

impl Limited {
    /// What a script prints whose host has a server on a public and on a local address.
    fn printed(&self, script: &str) -> String {
        let fixture = &self.fixture;
        let file = fixture.run_file_with(script, Some(&self.description));
        let ready = fixture.path("ready");
        let host = format!(
            "ip link set lo up && ip addr add 203.0.113.5/32 dev lo\n\
             READY={ready} perl {server} {PUBLIC} {LOCAL} & server=$!\n\
             until [ -s {ready} ]; do sleep 0.02; done\n\
             {orange} exec-run {file}; code=$?; kill $server; exit $code",
            ready = ready.display(),
            server = fixture.path("w/server.pl").display(),
            orange = fixture.orange.display(),
            file = file.display(),
        );
        let mut namespace = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            namespace.arg("--map-root-user");
        }
        namespace.args(["--net", "--", "sh", "-c", &host]);
        namespace
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap());
        let output = namespace.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        text.into_owned()
    }

    /// Shell that sends a request to an address.
    fn send(&self, address: &str, request: &str) -> String {
        let client = self.fixture.path("w/client.pl");
        format!(
            "printf '%s' '{request}' | perl {} {address}\n",
            client.display()
        )
    }
}

fn first_line(answer: &str) -> &str {
    answer.lines().next().unwrap_or_default()
}

#[test]
fn a_listed_host_is_reached_and_nothing_else() {
    let network = limited(&[PUBLIC]);
    let proxy = "$http_proxy";
    let tunnel = format!("CONNECT {PUBLIC} HTTP/1.1\\r\\n\\r\\nGET /t HTTP/1.1\\r\\n\\r\\n");
    let plain = format!(
        "GET http://{PUBLIC}/p?q HTTP/1.1\\r\\nHost: {PUBLIC}\\r\\nProxy-Authorization: x\\r\\nA: b\\r\\n\\r\\n"
    );
    let script = [
        network.send(proxy, &plain),
        network.send(proxy, &tunnel),
        network.send(PUBLIC, "GET / HTTP/1.1\\r\\n\\r\\n"),
        network.send(LOCAL, "GET / HTTP/1.1\\r\\n\\r\\n"),
        String::from("ls /sys/class/net 2>/dev/null; cut -d: -f1 /proc/net/dev | tail -n +3\n"),
        String::from("getent hosts example.org; echo $?\n"),
        String::from("env | grep -ic _proxy=\n"),
    ];
    let printed = network.printed(&script.concat());
    assert!(
        printed.contains("GET /p?q HTTP/1.1\r\nHost: 203"),
        "{printed}"
    );
    assert!(
        printed.contains("A: b\r\n") && !printed.contains("Proxy-Auth"),
        "{printed}"
    );
    assert!(printed.contains("GET /t HTTP/1.1"), "{printed}");
    assert_eq!(printed.matches("FAILED\n").count(), 2, "{printed}");
    assert!(printed.ends_with("    lo\n2\n7\n"), "{printed}");
}

#[test]
fn ways_around_the_list_are_refused() {
    let local = format!("localhost:{}", LOCAL.rsplit(':').next().unwrap());
    let network = limited(&[PUBLIC, LOCAL, &local]);
    let connect =
        |target: &str| format!("CONNECT {target} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n");
    let get = |target: &str| format!("GET {target} HTTP/1.1\\r\\nHost: {PUBLIC}\\r\\n\\r\\n");
    let refused = [
        // Another port, another notation of the address, another host.
        connect("203.0.113.5:8081"),
        connect("203.0.113.5"),
        connect("3405803781:8080"),
        connect("0xcb.0.0x71.5:8080"),
        connect("[::ffff:203.0.113.5]:8080"),
        connect("203.0.113.5:8080@127.0.0.1:8081"),
        connect("127.0.0.1:8081@203.0.113.5:8080"),
        connect("203.0.113.5:8080#:8081"),
        connect("evil.example:8080"),
        // On the list, but local.
        connect(LOCAL),
        connect(&local),
        connect("LOCALHOST.:8081"),
        connect("0:8081"),
        connect("[::1]:8081"),
        connect(""),
        get("http://127.0.0.1:8081/"),
        get("http://203.0.113.5:8080@127.0.0.1:8081/"),
        get("http://127.0.0.1:8081\\\\@203.0.113.5:8080/"),
        get("http://203.0.113.5:80/"),
        get("https://203.0.113.5:8080/"),
        get("ftp://203.0.113.5:8080/"),
        get("//203.0.113.5:8080/"),
        get("/"),
        get("*"),
        String::from("GET http://evil.example/ HTTP/1.1\\r\\nHost: 203.0.113.5:8080\\r\\n\\r\\n"),
        String::from("\\r\\n\\r\\n"),
    ];
    let script = refused.iter().fold(String::new(), |script, request| {
        script + &network.send("$http_proxy", request) + "echo '=='\n"
    });
    let printed = network.printed(&script);
    let answers: Vec<&str> = printed.split("==\n").collect();
    assert_eq!(answers.len(), refused.len() + 1);
    for (request, answer) in refused.iter().zip(answers) {
        let line = first_line(answer);
        assert!(
            line.starts_with("HTTP/1.1 403") || line.starts_with("HTTP/1.1 400"),
            "{request}: {answer}"
        );
        assert!(
            !answer.contains("GET / HTTP/1.1\r\n"),
            "{request}: {answer}"
        );
    }
    // The answer says what to do.
    let script = network.send("$http_proxy", &connect("evil.example:443"));
    let printed = network.printed(&script);
    assert!(printed.contains("`sandbox.hosts`"), "{printed}");
}

#[test]
fn an_empty_list_reaches_nothing() {
    let network = limited(&[]);
    let request = format!("CONNECT {PUBLIC} HTTP/1.1\\r\\n\\r\\n");
    let printed = network.printed(&network.send("$https_proxy", &request));
    assert!(
        first_line(&printed).starts_with("HTTP/1.1 403"),
        "{printed}"
    );
}

#[test]
fn a_task_with_a_list_and_its_commands_have_no_other_network() {
    let stage = stage("default");
    let settings = "[sandbox]\nmode = \"required\"\nnetwork = \"list\"\nhosts = [\"a.example\"]\n";
    fs::write(stage.home().settings(), settings).unwrap();
    let look = "{ cut -d: -f1 /proc/net/dev | tail -n +3; env | grep -c _proxy=; \
                perl -e 'use IO::Socket::INET; my $p = $ENV{https_proxy}; $p =~ s#http://##; \
                my $s = IO::Socket::INET->new(PeerAddr => $p) or die; \
                print $s \"CONNECT b.example:443 HTTP/1.1\\r\\n\\r\\n\"; print scalar <$s>'; }";
    stage.configure("setup", &json!(["sh", "-c", format!("{look} > seen")]));
    stage.script(
        "worker-1",
        &format!("{PROVE}{look} | give agent\ngive setup < seen\n"),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the agent", || stage.path("scripts/setup").exists());
    for name in ["agent", "setup"] {
        let seen = fs::read_to_string(stage.path("scripts").join(name)).unwrap();
        assert_eq!(seen, "    lo\n3\nHTTP/1.1 403 Forbidden\r\n", "{name}");
    }
    // The network of a project replaces that of all.
    stage.configure("sandbox_network", &json!("open"));
    stage.script("worker-2", "env | grep -c _proxy= | give open\n");
    stage.run_ok(&["task", "stop", id.as_str()]);
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "respawn", id.as_str()]);
    wait_for("the agent", || stage.path("scripts/open").exists());
    let seen = fs::read_to_string(stage.path("scripts/open")).unwrap();
    assert_eq!(seen, "0\n");
}

#[test]
fn a_login_stays_outside() {
    let service = crate::injected_login::LoginService::start();
    for network in [Network::Open, Network::List(Vec::new())] {
        let fixture = Fixture::new();
        fs::write(fixture.path("w/client.pl"), CLIENT).unwrap();
        let mut description = fixture.describe();
        description.network = network.clone();
        description.login = Some(service.login());
        let client = fixture.path("w/client.pl");
        let send = |request: &str| {
            format!(
                "printf '%s' '{}' | perl {} $BASE\necho '=='\n",
                request.replace("KEY", "'$INSIDE_KEY'"),
                client.display()
            )
        };
        let script = [
            send(
                "POST /v1/x?y=1 HTTP/1.1\\r\\nHost: h\\r\\nx-api-key: KEY\\r\\nX-Other: o\\r\\nContent-Length: 4\\r\\n\\r\\nbodyGET /v1/second HTTP/1.1\\r\\nx-api-key: KEY\\r\\n\\r\\n",
            ),
            send(
                "POST /v1/c HTTP/1.1\\r\\nAuthorization: Bearer KEY\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n4\\r\\nbody\\r\\n0\\r\\n\\r\\n",
            ),
            send("GET /v1/slow HTTP/1.1\\r\\nx-api-key: KEY\\r\\n\\r\\n"),
            send("GET /v1/x HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n"),
            send("GET /v1/x HTTP/1.1\\r\\nx-api-key: guessed\\r\\n\\r\\n"),
            send("GET /admin HTTP/1.1\\r\\nx-api-key: KEY\\r\\n\\r\\n"),
            send("GET /v1/../admin HTTP/1.1\\r\\nx-api-key: KEY\\r\\n\\r\\n"),
            send("GET /v1/%2e%2e/admin HTTP/1.1\\r\\nx-api-key: KEY\\r\\n\\r\\n"),
            send("GET http://127.0.0.1:1/v1/ HTTP/1.1\\r\\nx-api-key: KEY\\r\\n\\r\\n"),
            send("CONNECT 127.0.0.1:1 HTTP/1.1\\r\\nx-api-key: KEY\\r\\n\\r\\n"),
            send(
                "POST /v1/x HTTP/1.1\\r\\nx-api-key: KEY\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n",
            ),
            String::from(
                "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cat /run/orange/* 2>/dev/null\n",
            ),
        ];
        let output = fixture.output_of(
            &script.concat(),
            &description,
            &[("REAL_KEY", "real-secret")],
        );
        assert!(!output.contains("real-secret"), "{output}");
        let answers: Vec<&str> = output.split("==\n").collect();
        let (granted, refused) = answers.split_at(3);
        for answer in granted {
            assert_eq!(first_line(answer), "HTTP/1.1 200 OK", "{answer}");
            assert!(answer.contains("x-from: service"), "{answer}");
        }
        assert!(granted[2].contains("first second"), "{}", granted[2]);
        for answer in &refused[..8] {
            let line = first_line(answer);
            assert!(line.contains(" 403 ") || line.contains(" 400 "), "{answer}");
        }
        let requests = service.take();
        assert_eq!(requests.len(), 3, "{requests:#?}");
        for request in &requests {
            assert_eq!(request.matches("real-secret").count(), 1, "{request}");
            assert!(request.contains("x-api-key: real-secret"), "{request}");
            assert!(!request.contains("placeholder"), "{request}");
            assert!(!request.contains("second HTTP"), "{request}");
        }
        assert!(
            requests[0].starts_with("POST /v1/x?y=1 "),
            "{}",
            requests[0]
        );
        assert!(requests[0].contains("x-other: o") || requests[0].contains("X-Other: o"));
        assert!(requests[0].ends_with("body") && requests[1].ends_with("body"));
    }
}

#[test]
fn an_agent_without_a_sandbox_has_its_own_login() {
    let fixture = Fixture::new();
    let output = fixture.output("echo ${BASE:-none}", Around::Nothing);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "none\n");
}
