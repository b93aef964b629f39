//! Placeholder for tokens.
