//! A terminal for one command line: tmux on its own socket.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use orange_config::clock::Deadline;

use crate::support::{SOON, Stage, wait_for};

/// A shell line in a terminal, in which `orange` is the program under test.
pub struct Terminal<'a> {
    stage: &'a Stage,
    name: String,
}

impl<'a> Terminal<'a> {
    /// Starts a line; everything that it writes is kept too.
    pub fn start(stage: &'a Stage, name: &str, columns: u16, line: &str) -> Terminal<'a> {
        let terminal = Terminal {
            stage,
            name: name.to_owned(),
        };
        let line = line.replace("orange ", &format!("'{}' ", env!("CARGO_BIN_EXE_orange")));
        let (go, over) = (terminal.path("go"), terminal.path("over"));
        // It starts once the output is captured, and a signal that ends the program does not end
        // the shell.
        let script = format!(
            "trap : INT; until [ -e '{}' ]; do sleep 0.02; done; {line}; echo \"[exit $?]\"; touch '{}'; exec cat",
            go.display(),
            over.display()
        );
        let columns = columns.to_string();
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", "50", &script]);
        let written = format!("cat > '{}'", terminal.path("written").display());
        terminal.tmux(&["pipe-pane", "-o", &written]);
        fs::write(go, "").unwrap();
        terminal
    }

    /// Types a text, or presses keys by tmux's names for them.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    pub fn resize(&self, columns: usize, lines: usize) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// Pastes a text as a user does.
    pub fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// Presses and releases the mouse button; columns and lines count from one.
    pub fn click(&self, column: usize, line: usize) {
        for end in ["M", "m"] {
            self.press(&["-l", &format!("\x1b[<0;{column};{line}{end}")]);
        }
    }

    /// The screen's content, with its colours.
    pub fn coloured_screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Waits until the screen contains a text.
    pub fn wait_for(&self, text: &str) {
        let is_shown = Deadline::after(SOON).wait_for(|| self.screen().contains(text));
        assert!(
            is_shown,
            "timed out waiting for `{text}`:\n{}",
            self.screen()
        );
    }

    /// Waits until the line has finished; returns the screen.
    pub fn finish(&self) -> String {
        wait_for("the end of the line", || self.path("over").exists());
        // Output from before the end appears soon after it.
        self.wait_for("[exit ");
        self.screen()
    }

    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    /// The same, with wrapped lines joined.
    pub fn unwrapped_screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J"])
            .trim_end()
            .to_owned()
    }

    /// Everything that was ever written, erased or not, once it is complete.
    pub fn all_output(&self) -> String {
        let read = || {
            let bytes = fs::read(self.path("written")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        wait_for("what was written", || read().contains("[exit "));
        read()
    }

    /// Closes the window, as a user does.
    pub fn close(&self) {
        self.tmux(&["kill-pane"]);
    }

    /// The pid of the terminal's server process.
    pub fn server(&self) -> u32 {
        let pid = self.tmux(&["display-message", "-p", "#{pid}"]);
        pid.trim().parse().unwrap()
    }

    /// A property of the pane, as a tmux format.
    pub fn mode(&self, format: &str) -> String {
        let output = self.tmux(&["display-message", "-p", format]);
        output.trim().to_owned()
    }

    fn path(&self, end: &str) -> PathBuf {
        self.stage.path(&format!("{}.{end}", self.name))
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.path("tmux"))
            .args(arguments)
            .current_dir(self.stage.path("repo"))
            .env_clear()
            .envs(self.stage.environment.variables())
            .stdin(Stdio::null());
        tmux
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        // A test may have failed because the server never started.
        let _ended = self.command(&["kill-server"]).output();
    }
}
