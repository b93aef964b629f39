-- A watcher polls for the tasks that have changed since a commit.
CREATE INDEX tasks_by_sequence ON tasks (sequence);
