//! Takes the terminal for the dashboard, and restores it.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use orange_driver::crash_points;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::model::Model;
use super::view;
use crate::output;

/// Whether the dashboard has the terminal and must restore it.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// The terminal's modes before the dashboard was started.
static ORIGINAL_MODES: OnceLock<Termios> = OnceLock::new();

/// The terminal; dropping this restores it.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    pub fn take() -> io::Result<Screen> {
        enter_terminal()?;
        let backend = CrosstermBackend::new(output::terminal());
        let terminal = Terminal::new(backend)?;
        Ok(Screen { terminal })
    }

    /// The numbers of columns and lines.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Draws a frame, unless another program has the terminal; writes only what has changed.
    pub fn draw(&mut self, model: &Model) -> io::Result<Option<&Buffer>> {
        if !IS_OURS.load(Ordering::SeqCst) {
            return Ok(None);
        }
        crash_points::may_panic("the view");
        let drawn = self.terminal.draw(|frame| view::draw(model, frame))?;
        Ok(Some(drawn.buffer))
    }

    /// Restores the terminal for another program.
    pub fn leave() {
        restore_terminal();
    }

    /// Takes the terminal back, and clears what another program left on it.
    pub fn reclaim(&mut self) -> io::Result<()> {
        enter_terminal()?;
        // A new `Terminal` forgets what was drawn, so that the next frame is written in full. Its
        // method `clear` would instead ask for the cursor's position, and wait for an answer that
        // may never come.
        self.terminal = Terminal::new(CrosstermBackend::new(output::terminal()))?;
        Ok(())
    }

    /// Copies a text to the clipboard, through the terminal.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        write!(backend, "\u{1b}]52;c;{}\u{7}", base64(text.as_bytes()))?;
        backend.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Whether another process has ended the terminal's raw mode. If the tmux client that showed an
/// agent is killed, the tmux server resets the terminal, possibly after the dashboard has taken it
/// back.
pub fn is_raw_mode_lost() -> bool {
    let mode = tcgetattr(io::stdin());
    mode.is_ok_and(|mode| mode.local_modes.contains(LocalModes::ICANON))
}

fn enter_terminal() -> io::Result<()> {
    // `enable_raw_mode` does nothing while crossterm believes that the terminal is in raw mode.
    let _unset = disable_raw_mode();
    // It would also save the modes that a killed editor has left, and restore those at the end.
    if let Ok(modes) = tcgetattr(io::stdin()) {
        let original = ORIGINAL_MODES.get_or_init(|| modes);
        let _unset = tcsetattr(io::stdin(), OptionalActions::Now, original);
    }
    enable_raw_mode()?;
    IS_OURS.store(true, Ordering::SeqCst);
    // A variable, because `execute!` evaluates its first argument twice.
    let mut terminal = output::terminal();
    let result = execute!(
        terminal,
        EnterAlternateScreen,
        // A killed dashboard leaves its frame there, and ratatui draws only differences.
        Clear(ClearType::All),
        EnableMouseCapture,
        EnableBracketedPaste,
        Hide
    );
    result.inspect_err(|_| restore_terminal())
}

/// Restores the terminal. If it was closed, this fails, which is fine.
fn restore_terminal() {
    if IS_OURS.swap(false, Ordering::SeqCst) {
        let mut terminal = output::terminal();
        let _closed = execute!(
            terminal,
            DisableBracketedPaste,
            DisableMouseCapture,
            LeaveAlternateScreen,
            Show
        );
        let _closed = disable_raw_mode();
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base64, as the terminal expects them.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = usize::try_from(all >> (18 - 6 * at) & 63).unwrap_or(0);
            let has_data = at <= chunk.len();
            text.push(if has_data {
                char::from(DIGITS[digit])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded_as_base64() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("k3f9 ✗", "azNmOSDinJc="),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
