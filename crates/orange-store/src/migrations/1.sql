-- The first schema. Instants are RFC 3339 in UTC with milliseconds, so that text order is time order.

-- 'oran', so that a file of another program is not taken for ours.
PRAGMA application_id = 1869767022;

-- Every commit takes the next number; a reader can say "as of".
CREATE TABLE sequence (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO sequence (only, last) VALUES (1, 0);

-- Pinned workflows and imported documents, by the hash of their content.
CREATE TABLE texts (
    hash TEXT PRIMARY KEY,
    text BLOB NOT NULL
) STRICT;

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    workflow TEXT NOT NULL,
    workflow_hash TEXT NOT NULL REFERENCES texts (hash),
    -- The fold of the events, for quick loading; the events are what counts.
    snapshot TEXT NOT NULL,
    -- Below the home, so that a home can be moved.
    directory TEXT NOT NULL,
    sequence INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_by_project ON tasks (project, status);

CREATE TABLE events (
    task TEXT NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    at TEXT NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (task, version)
) STRICT;
CREATE INDEX events_by_sequence ON events (sequence);

CREATE TABLE pending (
    task TEXT NOT NULL REFERENCES tasks (id),
    effect INTEGER NOT NULL,
    planned TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('convergent', 'at_most_once')),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'started', 'given_up', 'stopped')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_try_at TEXT,
    started_at TEXT,
    started_by TEXT,
    error TEXT,
    PRIMARY KEY (task, effect)
) STRICT;

CREATE TABLE runs (
    task TEXT NOT NULL REFERENCES tasks (id),
    id TEXT NOT NULL,
    role TEXT NOT NULL,
    harness TEXT NOT NULL,
    headless INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    argv TEXT,
    environment TEXT,
    directory TEXT,
    secret_hash TEXT,
    prepared_at TEXT,
    tmux_socket TEXT,
    tmux_pid INTEGER,
    tmux_started TEXT,
    session TEXT,
    window TEXT,
    pane TEXT,
    pid INTEGER,
    process_started TEXT,
    boot_id TEXT,
    evidence TEXT,
    ended_at TEXT,
    PRIMARY KEY (task, id)
) STRICT;
CREATE INDEX runs_by_id ON runs (id);

CREATE TABLE workspaces (
    name TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    path TEXT NOT NULL,
    task TEXT REFERENCES tasks (id),
    state TEXT NOT NULL CHECK (state IN ('free', 'reserved', 'bound', 'retired')),
    UNIQUE (project, number),
    CHECK ((task IS NULL) = (state IN ('free', 'retired')))
) STRICT;
CREATE UNIQUE INDEX workspaces_by_task ON workspaces (task) WHERE task IS NOT NULL;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL REFERENCES tasks (id),
    to_role TEXT NOT NULL,
    from_role TEXT NOT NULL,
    text TEXT NOT NULL,
    -- The effect that wrote it, so that performing twice writes once.
    effect INTEGER,
    written_at TEXT NOT NULL,
    read_at TEXT,
    UNIQUE (task, effect)
) STRICT;

CREATE TABLE imports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,
    by_role TEXT NOT NULL,
    asked INTEGER NOT NULL,
    -- Text that was found in a file we had replaced, not in the task's file.
    stray INTEGER NOT NULL DEFAULT 0,
    hash TEXT NOT NULL REFERENCES texts (hash),
    at TEXT NOT NULL
) STRICT;
CREATE INDEX imports_by_task ON imports (task, id);

CREATE TABLE facts (
    task TEXT NOT NULL REFERENCES tasks (id),
    entered INTEGER NOT NULL,
    head TEXT NOT NULL,
    facts TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (task, entered, head)
) STRICT;
