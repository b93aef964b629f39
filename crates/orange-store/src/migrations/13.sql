-- What orange has posted about a task at its issue, by key: the comment, each label, the closing. A
-- row describes the outside world, so a rebuild drops it, and the next post looks at the forge.
CREATE TABLE posts (
    task TEXT NOT NULL REFERENCES tasks (id),
    key TEXT NOT NULL,
    forge_id INTEGER,
    digest TEXT,
    version INTEGER,
    sent_at TEXT,
    attempts INTEGER NOT NULL,
    next_attempt_at TEXT,
    refused TEXT,
    problem TEXT,
    is_reported INTEGER NOT NULL,
    PRIMARY KEY (task, key)
) STRICT;
