-- Sync between devices: the names under which all devices know the chats, messages, refusals, corrections and the name of the
-- person that are held here. Empty where no sync was begun. What is compared is a digest: no text is in this table.
CREATE TABLE shared (
    -- The unit's name: the device that made it, and its number there.
    device BLOB NOT NULL CHECK (length(device) = 8),
    n INTEGER NOT NULL CHECK (n > 0),
    -- The row here; NULL: forgotten, deleted or taken back. Of a refusal it is the message, and the digest tells which.
    kind TEXT CHECK (kind IN ('session', 'message', 'refusal', 'correction', 'setting')),
    local INTEGER,
    digest TEXT,
    -- The stamp of the state that is held.
    clock INTEGER NOT NULL CHECK (clock > 0),
    author BLOB NOT NULL CHECK (length(author) = 8),
    PRIMARY KEY (device, n),
    CHECK ((kind IS NULL) = (local IS NULL) AND (kind IS NULL) = (digest IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_local ON shared (kind, local, digest) WHERE kind IS NOT NULL;
