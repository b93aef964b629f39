//! Calls of `orange` from inside a sandbox.

use std::fs;

use crate::fixture::{Around, BOTH, Fixture};

/// Perl that speaks to the broker without our own client. It sends the bytes of its input and
/// prints each part of the answer as a letter and its text.
const RAW: &str = r#"
use IO::Socket::UNIX;
my $socket = IO::Socket::UNIX->new("/run/orange/broker") or die "no broker";
local $/; my $call = <STDIN>;
# A call that is refused early is not read to its end.
$SIG{PIPE} = "IGNORE";
print $socket $call; $socket->flush;
shutdown($socket, 1) if $ENV{CLOSE};
sub take { my ($count) = @_; my $text = "";
    while (length $text < $count) {
        my $read = sysread($socket, $text, $count - length $text, length $text);
        exit 0 if !$read;
    } return $text; }
while (1) { my ($kind, $length) = unpack("aN", take(5));
    my $text = $length ? take($length) : "";
    $text = unpack("C", $text) if $kind eq "x";
    print "$kind $text\n"; }
"#;

/// A script that sends these words to the broker.
fn raw(fixture: &Fixture, words: &[&str]) -> String {
    let call = serde_json::json!({ "version": 1, "arguments": words, "has_input": false });
    raw_bytes(fixture, &format!("{call}\n"))
}

fn raw_bytes(fixture: &Fixture, call: &str) -> String {
    let script = fixture.path("w/raw.pl");
    fs::write(&script, RAW).unwrap();
    let input = fixture.path("w/call");
    fs::write(&input, call).unwrap();
    let command = format!("perl {} < {}", script.display(), input.display());
    fixture.printed(&command, Around::Sandbox)
}

#[test]
fn a_call_prints_and_exits_as_without_a_sandbox() {
    let fixture = Fixture::new();
    let orange = fixture.orange.display().to_string();
    for words in [
        "task show nope",
        "task list --json",
        "inbox",
        "attention",
        "--json task update x --status done",
        "task update",
        "nonsense",
        "--version",
        "task create --help",
        "workflow check default",
        "schema orange.error",
    ] {
        let script = format!("{orange} {words} > said 2> errors; echo $? > code");
        let [bare, inside] = BOTH.map(|around| {
            fixture.printed(&script, around);
            ["said", "errors", "code"].map(|name| {
                let text = fs::read_to_string(fixture.path("w").join(name)).unwrap();
                text.replace(&fixture.path("ada/orange").display().to_string(), "HOME")
                    .replace(&fixture.path("orange").display().to_string(), "HOME")
            })
        });
        assert_eq!(bare, inside, "{words}");
    }
}

#[test]
fn only_what_agents_need_can_be_called() {
    let fixture = Fixture::new();
    let orange = fixture.orange.display().to_string();
    let refused = [
        "serve",
        "serve --stop",
        "task merge x --yes",
        "merge x",
        "task cancel x",
        "task delete x --yes",
        "task spawn x",
        "task respawn --lost",
        "task attach x",
        "task shell x",
        "task edit x",
        "task restore x",
        "project add .",
        "project update --setup evil",
        "workspace gc --yes",
        "workspace remove x",
        "config show",
        "log",
        "doctor",
        "rebuild",
        "install",
        "uninstall --yes",
        "chat",
        "allow x",
        "allow --yes",
        "allow --project app --yes --json",
        "allow --revoke",
        "deny x",
        "job run x",
        "issue approve 1",
        "note accept x",
        "forge status",
        "budget",
        "report --html page.html",
        "perform x",
        "gather x",
        "run-job x",
        "exec-run x",
        "detach -- sh",
        "tether 1 -- sh",
        "status-line",
        "completions bash",
        "man",
        "mcp",
        "schema orange.error",
        "workflow check /etc/passwd",
        "workflow new mine",
        "sandbox-init",
        "sandbox-confine",
        "demo",
        "",
    ];
    for words in refused {
        let words: Vec<&str> = words.split_whitespace().collect();
        let answer = raw(&fixture, &words);
        assert!(answer.starts_with("r "), "{words:?}: {answer}");
    }
    // Our own client says the same at once, and how to go on.
    let printed = fixture.printed(
        &format!("{orange} task merge x 2>&1; echo $?"),
        Around::Sandbox,
    );
    assert!(printed.contains("not available in a sandbox"), "{printed}");
    assert!(printed.ends_with("\n3\n"), "{printed}");
    let script = format!("{orange} task merge x --json 2>&1; true");
    let printed = fixture.printed(&script, Around::Sandbox);
    assert!(printed.contains("\"not-in-sandbox\""), "{printed}");
    // The words are taken apart as `orange` does it: an option does not hide a command.
    for words in [
        &["--quiet", "task", "merge", "x"][..],
        &["--json", "serve"],
        &["task", "--json", "merge", "x"],
        &["task", "show", "x", "--", "merge"],
    ] {
        let answer = raw(&fixture, words);
        assert!(answer.starts_with("r "), "{words:?}: {answer}");
    }
    // A call that is allowed arrives.
    let answer = raw(&fixture, &["task", "show", "nope"]);
    assert!(
        answer.starts_with("e ") && answer.contains("\nx "),
        "{answer}"
    );
}

#[test]
fn files_are_read_inside() {
    let fixture = Fixture::new();
    for words in [
        &["task", "create", "a", "--context", "@/etc/passwd"][..],
        &["task", "create", "a", "--context=@/etc/passwd"],
        &["new", "--from", "/etc/passwd"],
        &["new", "--from=/etc/passwd"],
        &["new", "a", "--context", "x", "--context", "@/etc/passwd"],
    ] {
        let answer = raw(&fixture, words);
        assert!(
            answer.starts_with("r a file is read inside"),
            "{words:?}: {answer}"
        );
    }
    let orange = fixture.orange.display().to_string();
    let script = format!("{orange} task create a --context @{{}}/.netrc 2>&1; echo $?");
    let script = script.replace("{}", &fixture.path("ada").display().to_string());
    let printed = fixture.printed(&script, Around::Sandbox);
    assert!(printed.contains("cannot read"), "{printed}");
    assert!(!printed.contains("canary"), "{printed}");
}

#[test]
fn what_is_no_call_is_refused_and_the_broker_lives() {
    let fixture = Fixture::new();
    let long = format!("{}\n", " ".repeat(2 * 1024 * 1024));
    for call in [
        "\n",
        "{}\n",
        "[]\n",
        "{\"version\":2,\"arguments\":[],\"has_input\":false}\n",
        "{\"version\":1,\"arguments\":[],\"has_input\":false,\"run\":\"other\"}\n",
        "\u{0}\u{1}\n",
        &long,
    ] {
        let answer = raw_bytes(&fixture, call);
        let shown: String = call.chars().take(60).collect();
        // The rest of a long call may meet a closed socket.
        assert!(
            answer.starts_with("r ") || (answer.is_empty() && call.len() > 1_000_000),
            "{shown:?}: {answer}"
        );
    }
    // A caller that says nothing is in nobody's way.
    let orange = fixture.orange.display().to_string();
    let script = format!(
        "perl -e '$| = 1; use IO::Socket::UNIX; @s = map {{ IO::Socket::UNIX->new(\"/run/orange/broker\") \
         or die }} 1..10; print \"ready\\n\"; sleep 60' & sleep 0.3; {orange} task show nope; \
         echo $?; kill $!"
    );
    let printed = fixture.printed(&script, Around::Sandbox);
    assert!(
        printed.contains("ready\n") && printed.ends_with("4\n"),
        "{printed}"
    );
}

#[test]
fn too_many_calls_at_once_are_refused() {
    let fixture = Fixture::new();
    let orange = fixture.orange.display().to_string();
    let script = format!(
        "perl -e '$| = 1; use IO::Socket::UNIX; @s = map {{ IO::Socket::UNIX->new(\"/run/orange/broker\") \
         or die }} 1..16; print \"ready\\n\"; sleep 60' & sleep 0.5; {orange} task show nope \
         2>&1; echo $?; kill $!; sleep 0.5; {orange} task show nope; echo $?"
    );
    let printed = fixture.printed(&script, Around::Sandbox);
    assert!(printed.contains("16 calls"), "{printed}");
    assert!(
        printed.ends_with("4\n"),
        "and then it works again: {printed}"
    );
}

#[test]
fn nothing_of_the_home_and_no_secret_is_inside() {
    let fixture = Fixture::new();
    let home = fixture.path("orange");
    fs::write(home.join("orange.db"), "canary").unwrap();
    let script = format!(
        "cat /proc/*/environ | tr '\\0' '\\n' | grep -c secret-proof; \
         ls {} 2>/dev/null; find / -xdev -name 'orange.db' -o -xdev -name 'tmux*.sock' \
         2>/dev/null; ls /run/orange",
        home.display()
    );
    let printed = fixture.printed(&script, Around::Sandbox);
    assert_eq!(printed, "0\nbroker\ncontrol\n");
}
