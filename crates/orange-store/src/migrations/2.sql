-- Commands of gates, run outside the requesting process: requested, then answered, then used by
-- the next request.
DROP TABLE facts;

CREATE TABLE gate_commands (
    task TEXT NOT NULL REFERENCES tasks (id),
    -- Program and arguments, as JSON.
    command TEXT NOT NULL,
    -- The version at which the task entered the status that asks.
    entered INTEGER NOT NULL,
    timeout INTEGER NOT NULL,
    wanted_at TEXT NOT NULL,
    -- How it ended, as JSON, and what the worktree held then; nothing before it has ended.
    result TEXT,
    state TEXT,
    PRIMARY KEY (task, command)
) STRICT;
