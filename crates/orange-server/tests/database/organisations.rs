//! Placeholder for organisations.
