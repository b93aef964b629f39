-- What the forge last said about the pull request of a task. A row describes the outside world, so
-- a rebuild drops it, and the next look writes it again.
CREATE TABLE pull_requests (
    task TEXT NOT NULL PRIMARY KEY REFERENCES tasks (id),
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    head TEXT NOT NULL,
    facts TEXT NOT NULL,
    as_of TEXT NOT NULL
) STRICT;
