-- Of what a task is a part: the end of one is told to the other.
ALTER TABLE tasks ADD COLUMN parent TEXT;
CREATE INDEX tasks_by_parent ON tasks (parent) WHERE parent IS NOT NULL;
