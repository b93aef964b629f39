//! Placeholder for crashes.
