-- Finds a row by its branch, and the tasks that wait for a task, quickly even among many tasks.
CREATE INDEX task_rows_by_branch ON task_rows (branch);

CREATE TABLE dependencies (
    -- What has to be done first.
    after TEXT NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (after, task)
) STRICT, WITHOUT ROWID;
INSERT INTO dependencies
SELECT json_each.value, tasks.id FROM tasks, json_each(tasks.snapshot, '$.after');

-- Finds the tasks that count towards a limit among thousands that only wait: by their status, and
-- by whether they have agents.
CREATE INDEX task_rows_by_status ON task_rows (status, workflow_hash);
CREATE INDEX task_rows_with_runs ON task_rows (task) WHERE runs <> '{}';
