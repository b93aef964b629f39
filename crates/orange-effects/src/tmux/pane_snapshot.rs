//! Which run is in which pane, without names for display.
//!
//! The snapshot leaves names out because it is queried every other second, and tmux spends more
//! time on a pane's names than on everything else.

use orange_engine::names::RunId;

use super::{PaneId, ServerIdentity};

/// Ids and numbers contain no colon; the pane's mark comes last.
pub(super) const FORMAT: &str = "pane:#{pane_id}:#{pane_pid}:#{pane_dead}:#{@orange_run}";
const FIELDS: usize = 5;

/// The panes of a server at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneSnapshot {
    pub server: ServerIdentity,
    /// Every pane, ours or not.
    pub panes: Vec<PaneEntry>,
}

/// A pane, reduced to what concerns its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneEntry {
    pub pane: PaneId,
    /// The process that was started in it.
    pub pid: u32,
    pub is_running: bool,
    /// The run it was created for; a user's own pane has none.
    pub run: Option<RunId>,
}

/// Parses one line of the list; `None` when it is malformed.
pub(super) fn parse(line: &str) -> Option<PaneEntry> {
    let fields: Vec<&str> = line.splitn(FIELDS, ':').collect();
    let ["pane", pane, pid, dead, run] = fields[..] else {
        return None;
    };
    let is_running = match dead {
        "0" | "" => true,
        "1" => false,
        _ => return None,
    };
    Some(PaneEntry {
        pane: pane.parse().ok()?,
        pid: pid.parse().ok()?,
        is_running,
        run: Some(run).filter(|run| !run.is_empty()).map(RunId::new),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_field_by_field() {
        let called = parse("pane:%12:99:0:r1").unwrap();
        assert_eq!(called.pane.to_string(), "%12");
        assert_eq!((called.pid, called.is_running), (99, true));
        assert_eq!(called.run, Some(RunId::new("r1")));
        assert!(parse("pane:%12:99::").unwrap().is_running);
        let ended = parse("pane:%12:99:1:").unwrap();
        assert_eq!((ended.is_running, ended.run), (false, None));
    }

    #[test]
    fn a_malformed_line_is_not_a_pane() {
        for line in [
            "",
            "pane",
            "pane:%12:99:0",
            "pane:12:99:0:r1",
            "pane:%12:x:0:r1",
            "pane:%12:99:2:r1",
            "other:%12:99:0:r1",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
