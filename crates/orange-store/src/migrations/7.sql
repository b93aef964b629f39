-- The progress of a message's delivery: the run in whose terminal a nudge was typed, when the nudge
-- was sent, when the agent confirmed it, and what prevents the delivery.
ALTER TABLE inbox ADD COLUMN typed_run TEXT;
ALTER TABLE inbox ADD COLUMN typed_at TEXT;
ALTER TABLE inbox ADD COLUMN told_at TEXT;
ALTER TABLE inbox ADD COLUMN confirmed_at TEXT;
ALTER TABLE inbox ADD COLUMN problem TEXT;
CREATE INDEX inbox_unread ON inbox (task) WHERE read_at IS NULL;

-- What the user was notified of, so that no notification is sent twice.
CREATE TABLE notified (
    item TEXT PRIMARY KEY,
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
