-- Plain names: columns and values as the program calls them. Rust renames what is inside JSON.
ALTER TABLE inbox RENAME COLUMN told_at TO sent_at;
ALTER TABLE parked RENAME COLUMN said TO output_line;
ALTER TABLE imports RENAME COLUMN asked TO is_request;

CREATE TABLE pending_effects (
    task TEXT NOT NULL REFERENCES tasks (id),
    effect INTEGER NOT NULL,
    planned TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('convergent', 'at_most_once')),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'started', 'failed', 'stopped')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    started_at TEXT,
    started_by TEXT,
    error TEXT,
    PRIMARY KEY (task, effect)
) STRICT;
INSERT INTO pending_effects
SELECT task, effect, planned, class, CASE state WHEN 'given_up' THEN 'failed' ELSE state END,
       attempts, next_try_at, started_at, started_by, error
FROM pending;
DROP TABLE pending;
ALTER TABLE pending_effects RENAME TO pending;

-- A notification names its task, then its kind, then the rest; only the word for the kind changes.
UPDATE notified
SET item = substr(item, 1, instr(item, '/') - 1) || '/failed/' || substr(item, instr(item, '/') + 9)
WHERE substr(item, instr(item, '/'), 9) = '/gave up/';
