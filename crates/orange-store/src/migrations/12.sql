-- Issues of the forge, and how far they were read. The rows describe the outside world and what you
-- decided about it; a rebuild drops them, and the next sync reads the issues again.
CREATE TABLE issues (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    revision TEXT NOT NULL,
    labels TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    updated TEXT NOT NULL,
    -- What was found out about this state of the issue, as JSON; absent until it was judged.
    verdict TEXT,
    approved TEXT,
    ignored TEXT,
    PRIMARY KEY (project, number)
) STRICT;

CREATE TABLE issue_cursors (
    project TEXT NOT NULL PRIMARY KEY,
    repository TEXT NOT NULL,
    since TEXT,
    etag TEXT
) STRICT;

-- The tasks of issues, derived from their first event. `text` is the issue as the agent reads it;
-- a rebuild leaves it out, because the task directory has it.
CREATE TABLE issue_tasks (
    task TEXT NOT NULL PRIMARY KEY REFERENCES tasks (id),
    project TEXT NOT NULL,
    issue TEXT NOT NULL,
    revision TEXT NOT NULL,
    text TEXT REFERENCES texts (hash)
) STRICT;
CREATE INDEX issue_tasks_by_issue ON issue_tasks (project, issue);
