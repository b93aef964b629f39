-- Harnesses on which nothing is started: out of quota, or not logged in.
CREATE TABLE parked (
    harness TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    since TEXT NOT NULL,
    -- Nothing when only a person can end it.
    until TEXT,
    -- The line of an agent's output that told.
    said TEXT
) STRICT, WITHOUT ROWID;
