//! Why the forge gave no usable answer.

use std::fmt;

use orange_engine::time::Timestamp;

use super::host::Host;
use super::token::TokenError;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
#[error("{request} failed: {trouble}")]
pub struct ForgeError {
    /// The method and the path, without the query.
    pub request: String,
    pub trouble: Trouble,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// No answer arrived.
    #[error("the host cannot be reached ({reason}); check the network and try again")]
    Unreachable {
        reason: String,
        /// Whether the request may have reached the host.
        may_have_arrived: bool,
    },
    #[error("no answer within {seconds} seconds; try again later")]
    TimedOut {
        seconds: u64,
        may_have_arrived: bool,
    },
    #[error("{0}")]
    NoToken(#[from] TokenError),
    #[error("{host} rejected the token ({message}); run `gh auth login --hostname {host}`")]
    Unauthorised { host: Host, message: String },
    #[error("the token does not allow this ({message}); use a token with more permissions")]
    Forbidden { message: String },
    /// The forge answers "not found" also for what the token may not see.
    #[error("not found, or the token does not allow to see it ({message})")]
    AbsentOrNotAllowed { message: String },
    #[error("not available any more, or disabled ({message})")]
    Gone { message: String },
    #[error("it has moved to {to}; update the remote of the repository")]
    Moved { to: String },
    #[error("it conflicts with the present state ({message}{})", list(.errors))]
    Conflict {
        message: String,
        errors: Vec<FieldError>,
    },
    #[error("it was rejected ({message}{})", list(.errors))]
    Unprocessable {
        message: String,
        errors: Vec<FieldError>,
    },
    #[error("the pull request cannot be merged now ({message})")]
    NotMergeable { message: String },
    #[error("{kind} quota used up until {until}; wait until then")]
    QuotaUsedUp { kind: QuotaKind, until: Timestamp },
    /// The server failed, or the request was too much for it.
    #[error("the server failed with {status} ({message}); try again later")]
    ServerTrouble { status: u16, message: String },
    #[error("the answer could not be read ({reason})")]
    Malformed { reason: String },
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaKind {
    /// The hourly quota.
    Primary,
    /// A limit on how fast requests may follow each other.
    Secondary,
}

/// One reason for which the forge rejected a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldError {
    pub resource: String,
    pub field: String,
    pub code: String,
    pub message: String,
}

impl ForgeError {
    /// Whether a write may have taken effect although it failed; the caller must check before it
    /// writes again.
    pub fn may_have_taken_effect(&self) -> bool {
        match &self.trouble {
            Trouble::Unreachable {
                may_have_arrived, ..
            }
            | Trouble::TimedOut {
                may_have_arrived, ..
            } => *may_have_arrived,
            Trouble::ServerTrouble { .. } | Trouble::Malformed { .. } => true,
            _ => false,
        }
    }

    /// Whether the request failed because what it would create already exists. Error codes decide,
    /// if there are any: a message may quote the requested name, and that name may contain "already
    /// exists".
    pub fn is_already_there(&self) -> bool {
        let (Trouble::Conflict { message, errors } | Trouble::Unprocessable { message, errors }) =
            &self.trouble
        else {
            return false;
        };
        let says_so = |text: &str| text.to_lowercase().contains("already exists");
        if errors.is_empty() {
            return says_so(message);
        }
        errors.iter().any(|it| match it.code.as_str() {
            "already_exists" => true,
            // These codes say nothing; only the message gives the reason.
            "custom" | "" => says_so(&it.message),
            _ => false,
        })
    }

    /// Whether a smaller request could succeed.
    pub fn is_too_much(&self) -> bool {
        match &self.trouble {
            Trouble::ServerTrouble { status, .. } => matches!(status, 200 | 502 | 504),
            Trouble::TimedOut { .. } => true,
            _ => false,
        }
    }

    /// Whether the same request may succeed later although nothing is changed.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self.trouble,
            Trouble::Unreachable { .. }
                | Trouble::TimedOut { .. }
                | Trouble::QuotaUsedUp { .. }
                | Trouble::ServerTrouble { .. }
        )
    }
}

impl fmt::Display for QuotaKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            QuotaKind::Primary => "hourly",
            QuotaKind::Secondary => "short-term",
        })
    }
}

fn list(errors: &[FieldError]) -> String {
    let mut text = String::new();
    for error in errors.iter().take(5) {
        let parts = [&error.resource, &error.field, &error.code, &error.message];
        let parts = parts.iter().filter(|it| !it.is_empty());
        let parts: Vec<&str> = parts.map(|it| it.as_str()).collect();
        text.push_str("; ");
        text.push_str(&parts.join(" "));
    }
    text
}
