-- How far each chat channel was read.
CREATE TABLE chat_channels (
    channel TEXT PRIMARY KEY,
    position TEXT NOT NULL
) STRICT;

-- Commands from chats; a message has one row, so that it is acted on once.
CREATE TABLE chat_messages (
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    room TEXT NOT NULL,
    sender TEXT NOT NULL,
    text TEXT,
    state TEXT NOT NULL,
    task TEXT,
    answer TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    received_at TEXT NOT NULL,
    PRIMARY KEY (channel, id)
) STRICT;
CREATE INDEX chat_messages_by_state ON chat_messages (channel, state);
