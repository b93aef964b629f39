-- The parent of a subtask: the parent learns of the subtask's end.
ALTER TABLE tasks ADD COLUMN parent TEXT;
CREATE INDEX tasks_by_parent ON tasks (parent) WHERE parent IS NOT NULL;
