-- What a list shows of each task, separate from its snapshot, so that ten thousand tasks are read
-- quickly.
CREATE TABLE task_rows (
    task TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    project TEXT NOT NULL,
    status TEXT NOT NULL,
    workflow_hash TEXT NOT NULL,
    branch TEXT NOT NULL,
    summary TEXT NOT NULL,
    round INTEGER NOT NULL,
    entered_at TEXT NOT NULL,
    -- Why a person should look, and the latest run of each role: JSON, as in the snapshot.
    attention TEXT NOT NULL,
    runs TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The row of a snapshot in another format is corrected by the task's next commit.
INSERT INTO task_rows
SELECT id, project, status, workflow_hash,
       coalesce(json_extract(snapshot, '$.branch'), ''),
       coalesce(json_extract(snapshot, '$.summary'), ''),
       coalesce(json_extract(snapshot, '$.fields.review_round'), 0),
       coalesce(json_extract(snapshot, '$.entered.at'), ''),
       coalesce(json_extract(snapshot, '$.attention'), '[]'),
       coalesce(json_extract(snapshot, '$.runs'), '{}')
FROM tasks;
