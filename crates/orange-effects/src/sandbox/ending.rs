//! How a sandboxed agent ended.

/// How the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentExit {
    Code(u8),
    Signal(i32),
}
