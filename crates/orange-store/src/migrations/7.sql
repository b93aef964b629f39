-- How far a message has come: in which run something was typed about it, when that was sent, when the
-- agent showed that it took it in, and what stands in the way.
ALTER TABLE inbox ADD COLUMN typed_run TEXT;
ALTER TABLE inbox ADD COLUMN typed_at TEXT;
ALTER TABLE inbox ADD COLUMN told_at TEXT;
ALTER TABLE inbox ADD COLUMN confirmed_at TEXT;
ALTER TABLE inbox ADD COLUMN problem TEXT;
CREATE INDEX inbox_unread ON inbox (task) WHERE read_at IS NULL;

-- Of what a person was notified, so that nobody is notified twice.
CREATE TABLE notified (
    item TEXT PRIMARY KEY,
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
