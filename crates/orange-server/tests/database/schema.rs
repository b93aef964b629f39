//! Placeholder for schema.
