-- Finds what happened within a period without reading everything before it.
CREATE INDEX events_by_time ON events (at);
CREATE INDEX spend_by_time ON spend (counted_at);
