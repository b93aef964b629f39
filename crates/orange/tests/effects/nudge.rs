//! The nudge: pasted, sent by its own Enter, and verified.

use orange_effects::tmux::{Obstacle, Pane, TmuxError};

use crate::stage::{Run, Stage, wait_for};

/// Reads lines as agents do, with a prompt, and keeps what was sent.
const READER: &str = "printf '> '; while IFS= read -r line; do printf '%s\\n' \"$line\" >>$OUT/all; cp $OUT/all $OUT/new; mv $OUT/new $OUT/got; printf '\\n> '; done";

fn is_unsent(stage: &Stage, pane: &Pane, line: &str) -> bool {
    let typing = stage.tmux.typing_state(pane, line).unwrap();
    assert_eq!(typing.obstacle, None);
    typing.screen.is_unsent()
}

fn screen(stage: &Stage) -> String {
    stage.raw_tmux(&["capture-pane", "-p"])
}

#[test]
fn lesson_24_a_nudge_arrives_whole_and_is_sent_by_its_own_enter() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: READER,
        ..Run::default()
    });
    wait_for("the prompt", || screen(&stage).contains('>'));
    for line in [
        "Message from orange: run `orange inbox`.",
        "quotes ' \" and $(id) and #{pid}; a trailing;",
        "-l -X Enter C-c \\n ä🦀",
    ] {
        stage.tmux.paste(&pane, line).unwrap();
        wait_for("the paste", || is_unsent(&stage, &pane, line));
        stage.tmux.press_enter(&pane).unwrap();
        wait_for("the line", || {
            let got = std::fs::read_to_string(stage.path("got")).unwrap_or_default();
            got.lines().last() == Some(line)
        });
        wait_for("the next prompt", || {
            screen(&stage).trim_end().ends_with("\n>")
        });
        assert!(!is_unsent(&stage, &pane, line));
    }
    let got = String::from_utf8(stage.wait_for_file("got")).unwrap();
    assert_eq!(got.lines().count(), 3);
    assert_eq!(stage.raw_tmux(&["list-buffers"]), "");
}

#[test]
fn a_program_with_bracketed_paste_gets_a_paste() {
    let stage = Stage::new();
    let script = "stty raw -echo; printf '\\033[?2004hready'; exec dd bs=1 count=17 of=$OUT/bytes 2>/dev/null";
    let pane = stage.start(&Run {
        script,
        ..Run::default()
    });
    wait_for("the request", || screen(&stage).contains("ready"));
    stage.tmux.paste(&pane, "hello").unwrap();
    wait_for("the paste", || {
        std::fs::metadata(stage.path("bytes")).is_ok_and(|it| it.len() == 17)
    });
    assert_eq!(stage.wait_for_file("bytes"), b"\x1b[200~hello\x1b[201~");
}

#[test]
fn a_nudge_is_one_short_line() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: READER,
        ..Run::default()
    });
    for line in [
        "",
        " ",
        "a\nb",
        "a\rb",
        "\u{1b}[201~",
        "a\0b",
        &"x".repeat(201),
    ] {
        let refused = stage.tmux.paste(&pane, line);
        assert!(matches!(refused, Err(TmuxError::NotALine(_))), "{line:?}");
    }
}

#[test]
fn a_nudge_is_uncertain_while_the_user_types() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: READER,
        ..Run::default()
    });
    wait_for("the prompt", || screen(&stage).contains('>'));
    stage.tmux.paste(&pane, "hello").unwrap();
    wait_for("the paste", || is_unsent(&stage, &pane, "hello"));
    let attach = stage.tmux.attach(&pane, &stage.environment);
    stage.attach_in_terminal(&attach);
    wait_for("the person", || {
        !stage.raw_tmux(&["list-clients"]).is_empty()
    });
    let typing = stage.tmux.typing_state(&pane, "hello").unwrap();
    assert_eq!(typing.obstacle, Some(Obstacle::Typing));
}

#[test]
fn a_scrolled_pane_is_left_alone() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: READER,
        ..Run::default()
    });
    wait_for("the prompt", || screen(&stage).contains('>'));
    let target = pane.pane.to_string();
    stage.raw_tmux(&["copy-mode", "-t", &target]);
    let typing = stage.tmux.typing_state(&pane, "hello").unwrap();
    assert_eq!(typing.obstacle, Some(Obstacle::Scrolled));
    assert!(matches!(
        stage.tmux.paste(&pane, "hello"),
        Err(TmuxError::NoInput(_))
    ));
    assert!(matches!(
        stage.tmux.press_enter(&pane),
        Err(TmuxError::NoInput(_))
    ));
    stage.raw_tmux(&["send-keys", "-t", &target, "-X", "cancel"]);
    stage.tmux.paste(&pane, "hello").unwrap();
    stage.tmux.press_enter(&pane).unwrap();
    assert_eq!(stage.wait_for_file("got"), b"hello\n");
}

#[test]
fn an_exited_agent_gets_no_nudge() {
    let stage = Stage::new();
    let pane = stage.start(&Run {
        script: "exit 0",
        ..Run::default()
    });
    wait_for("the end", || !stage.is_alive(&pane));
    assert!(matches!(
        stage.tmux.paste(&pane, "hello"),
        Err(TmuxError::NoInput(_))
    ));
    stage.kill("r1");
    assert!(matches!(
        stage.tmux.paste(&pane, "hello"),
        Err(TmuxError::NotOurs { .. })
    ));
}
