//! A panic restores the terminal and says where to read more.

use std::fs;

use crate::dashboard::open;
use crate::support::Stage;

/// Makes a step panic in an open dashboard, and checks the final screen.
fn check_panic(step: &str) {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let terminal = open(&stage);
    terminal.wait_for("QUEUE AND DONE 1");
    for (format, while_open) in [
        ("#{alternate_on}", "1"),
        ("#{mouse_any_flag}", "1"),
        ("#{cursor_flag}", "0"),
    ] {
        assert_eq!(terminal.mode(format), while_open, "{format}");
    }
    let folder = stage.path("home/crash-points");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("panics"), format!("{step}\n")).unwrap();
    let end = terminal.finish();
    assert!(end.contains("[exit 1]"), "{end}");
    assert!(!end.contains("? help"), "{end}");
    let joined = terminal.unwrapped_screen().replace('\n', " ");
    let words = format!("the dashboard failed: a test wants a panic in {step}, at ");
    assert!(joined.contains(&words), "{joined}");
    let log = stage.path("home/orange.log");
    assert!(joined.contains(log.to_str().unwrap()), "{joined}");
    assert!(joined.contains("hint: "), "{joined}");
    let log = fs::read_to_string(log).unwrap();
    let mut lines = log.lines();
    assert!(
        lines.any(|line| line.contains(r#""name":"panic""#) && line.contains(step)),
        "{log}"
    );
    for (format, afterwards) in [
        ("#{alternate_on}", "0"),
        ("#{mouse_any_flag}", "0"),
        ("#{cursor_flag}", "1"),
    ] {
        assert_eq!(terminal.mode(format), afterwards, "{format}");
    }
    // The terminal edits and echoes a line again, as only a cooked terminal does.
    terminal.press(&["-l", "abX"]);
    terminal.press(&["BSpace"]);
    terminal.press(&["-l", "c"]);
    terminal.press(&["Enter"]);
    terminal.wait_for("abc\nabc");
    assert!(!stage.driver().context.is_supervised());
}

#[test]
fn a_panic_in_a_view_restores_the_terminal() {
    check_panic("the view");
}

#[test]
fn a_panic_while_gathering_leaves_no_stale_screen() {
    check_panic("the list");
}
