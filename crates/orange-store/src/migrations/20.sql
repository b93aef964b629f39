-- Whether the home belongs to a fleet. It is beside the number that every commit reads anyway, so a
-- home that never joins pays nothing for the question.
ALTER TABLE sequence ADD COLUMN is_joined INTEGER NOT NULL DEFAULT 0;

-- The home's standing with the server, as JSON.
CREATE TABLE membership (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    json TEXT NOT NULL
) STRICT;

-- The mail of the server that a commit recorded here has decided; `version` is that of its last
-- event. Mail is decided once.
CREATE TABLE decided_mail (
    task TEXT NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,
    mail TEXT NOT NULL UNIQUE,
    PRIMARY KEY (task, version)
) STRICT, WITHOUT ROWID;

-- Commits that came from the server's log: their hash, and what follows from no table here.
CREATE TABLE log_commits (
    task TEXT NOT NULL REFERENCES tasks (id),
    last INTEGER NOT NULL,
    sha TEXT NOT NULL,
    texts TEXT NOT NULL,
    mail TEXT,
    PRIMARY KEY (task, last)
) STRICT, WITHOUT ROWID;

-- Tasks that were taken over, until they can continue here: uncommitted work from the other
-- machine, and whether it is recorded that the task moved.
CREATE TABLE arrivals (
    task TEXT PRIMARY KEY REFERENCES tasks (id),
    wip TEXT,
    is_moved INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The workflow that a task was pinned to until the event with this version.
CREATE TABLE former_workflows (
    task TEXT NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,
    hash TEXT NOT NULL REFERENCES texts (hash),
    PRIMARY KEY (task, version)
) STRICT, WITHOUT ROWID;
