-- The memory, first version. A released file is never edited: later changes are new files.
--
-- Ids are AUTOINCREMENT: never given twice, so that an id in a transcript, in the undo log or in a
-- forgotten record can never come to mean another unit.
-- Times are milliseconds since the Unix epoch, with the wall clock's offset in seconds beside them.

PRAGMA application_id = 1768843116; -- 'ingl'

-- What the store itself has to know: the embedder, whether a scrub is due.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What the rest of the program keeps here.
CREATE TABLE setting (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    created_offset INTEGER NOT NULL,
    imported INTEGER NOT NULL CHECK (imported IN (0, 1))
) STRICT;

-- Level 2. Its messages are those that point at it; their times are its times.
CREATE TABLE episode (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session (id),
    title TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE INDEX episode_session ON episode (session);

-- Level 1. One column for the episode: a message is in one at most.
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session (id),
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    speaker TEXT,
    content TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    created_offset INTEGER NOT NULL,
    external_id TEXT,
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    episode INTEGER REFERENCES episode (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX message_session ON message (session, id);
CREATE INDEX message_episode ON message (episode) WHERE episode IS NOT NULL;
CREATE INDEX message_external ON message (external_id) WHERE external_id IS NOT NULL;

CREATE TRIGGER message_episode_once BEFORE UPDATE OF episode ON message
WHEN old.episode IS NOT NULL AND new.episode IS NOT NULL AND old.episode <> new.episode
BEGIN
    SELECT raise(ABORT, 'the message is in another episode already');
END;
CREATE TRIGGER message_episode_session BEFORE UPDATE OF episode ON message
WHEN new.episode IS NOT NULL
    AND new.session <> (SELECT session FROM episode WHERE id = new.episode)
BEGIN
    SELECT raise(ABORT, 'the episode is of another session');
END;

-- Level 4. An empty one is removed before the transaction that emptied it commits.
CREATE TABLE theme (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL
) STRICT;

-- Level 3. `theme NOT NULL` and the foreign key are the conservation of invariant 2.
CREATE TABLE semantic (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content TEXT NOT NULL,
    subject TEXT,
    attribute TEXT,
    theme INTEGER NOT NULL REFERENCES theme (id),
    created_ms INTEGER NOT NULL,
    created_offset INTEGER NOT NULL,
    superseded_by INTEGER REFERENCES semantic (id) CHECK (superseded_by <> id),
    superseded_ms INTEGER,
    superseded_offset INTEGER,
    -- Times it went from one theme to another: the reassignment ratio (xMemory, Table 8).
    moves INTEGER NOT NULL DEFAULT 0,
    CHECK ((superseded_by IS NULL) = (superseded_ms IS NULL)),
    CHECK ((superseded_by IS NULL) = (superseded_offset IS NULL))
) STRICT;
CREATE INDEX semantic_theme ON semantic (theme);
CREATE INDEX semantic_superseded ON semantic (superseded_by) WHERE superseded_by IS NOT NULL;

-- Every theme that ever held a semantic: a theme's name may quote a fact that has moved on, and
-- forgetting has to reach that name too. No foreign key on the theme: it may be gone.
CREATE TABLE theme_history (
    semantic INTEGER NOT NULL REFERENCES semantic (id) ON DELETE CASCADE,
    theme INTEGER NOT NULL,
    PRIMARY KEY (semantic, theme)
) STRICT, WITHOUT ROWID;

-- Provenance.
CREATE TABLE semantic_episode (
    semantic INTEGER NOT NULL REFERENCES semantic (id) ON DELETE CASCADE,
    episode INTEGER NOT NULL REFERENCES episode (id) ON DELETE CASCADE,
    PRIMARY KEY (semantic, episode)
) STRICT, WITHOUT ROWID;
CREATE INDEX semantic_episode_episode ON semantic_episode (episode);
CREATE TABLE semantic_message (
    semantic INTEGER NOT NULL REFERENCES semantic (id) ON DELETE CASCADE,
    message INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    PRIMARY KEY (semantic, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX semantic_message_message ON semantic_message (message);

-- The kNN graphs; each edge is stored in both directions.
CREATE TABLE semantic_edge (
    a INTEGER NOT NULL REFERENCES semantic (id) ON DELETE CASCADE,
    b INTEGER NOT NULL REFERENCES semantic (id) ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (a, b),
    CHECK (a <> b)
) STRICT, WITHOUT ROWID;
CREATE INDEX semantic_edge_b ON semantic_edge (b);
CREATE TABLE theme_edge (
    a INTEGER NOT NULL REFERENCES theme (id) ON DELETE CASCADE,
    b INTEGER NOT NULL REFERENCES theme (id) ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (a, b),
    CHECK (a <> b)
) STRICT, WITHOUT ROWID;
CREATE INDEX theme_edge_b ON theme_edge (b);

-- The worker's steps. `subject` is the id of the session, episode, theme or semantic (0: none).
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL
        CHECK (kind IN ('boundary', 'close', 'semantics', 'name_theme', 'consolidate', 'reembed')),
    subject INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT
) STRICT;
CREATE UNIQUE INDEX job_pending ON job (kind, subject) WHERE state = 'pending';
CREATE INDEX job_subject ON job (subject);

-- The evidence of a reply, as JSON.
CREATE TABLE answer (
    message INTEGER PRIMARY KEY REFERENCES message (id) ON DELETE CASCADE,
    record TEXT NOT NULL
) STRICT;

-- The undo log: what was done, and its inverse as JSON.
CREATE TABLE operation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL,
    inverse TEXT NOT NULL
) STRICT;

-- Full text. External content: the text is stored once, in its own table; triggers keep the index.
-- `secure-delete`: a deleted row's words leave the index at once, without a tombstone.
CREATE VIRTUAL TABLE message_text USING fts5 (
    content, content = 'message', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO message_text (message_text, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER message_text_insert AFTER INSERT ON message BEGIN
    INSERT INTO message_text (rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER message_text_delete AFTER DELETE ON message BEGIN
    INSERT INTO message_text (message_text, rowid, content)
    VALUES ('delete', old.id, old.content);
END;
CREATE TRIGGER message_text_update AFTER UPDATE OF content ON message BEGIN
    INSERT INTO message_text (message_text, rowid, content)
    VALUES ('delete', old.id, old.content);
    INSERT INTO message_text (rowid, content) VALUES (new.id, new.content);
END;

CREATE VIRTUAL TABLE episode_text USING fts5 (
    title, content, content = 'episode', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO episode_text (episode_text, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER episode_text_insert AFTER INSERT ON episode BEGIN
    INSERT INTO episode_text (rowid, title, content) VALUES (new.id, new.title, new.content);
END;
CREATE TRIGGER episode_text_delete AFTER DELETE ON episode BEGIN
    INSERT INTO episode_text (episode_text, rowid, title, content)
    VALUES ('delete', old.id, old.title, old.content);
END;
CREATE TRIGGER episode_text_update AFTER UPDATE OF title, content ON episode BEGIN
    INSERT INTO episode_text (episode_text, rowid, title, content)
    VALUES ('delete', old.id, old.title, old.content);
    INSERT INTO episode_text (rowid, title, content) VALUES (new.id, new.title, new.content);
END;

CREATE VIRTUAL TABLE semantic_text USING fts5 (
    content, content = 'semantic', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO semantic_text (semantic_text, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER semantic_text_insert AFTER INSERT ON semantic BEGIN
    INSERT INTO semantic_text (rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER semantic_text_delete AFTER DELETE ON semantic BEGIN
    INSERT INTO semantic_text (semantic_text, rowid, content)
    VALUES ('delete', old.id, old.content);
END;
CREATE TRIGGER semantic_text_update AFTER UPDATE OF content ON semantic BEGIN
    INSERT INTO semantic_text (semantic_text, rowid, content)
    VALUES ('delete', old.id, old.content);
    INSERT INTO semantic_text (rowid, content) VALUES (new.id, new.content);
END;

CREATE VIRTUAL TABLE theme_text USING fts5 (
    name, content = 'theme', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO theme_text (theme_text, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER theme_text_insert AFTER INSERT ON theme BEGIN
    INSERT INTO theme_text (rowid, name) VALUES (new.id, new.name);
END;
CREATE TRIGGER theme_text_delete AFTER DELETE ON theme BEGIN
    INSERT INTO theme_text (theme_text, rowid, name) VALUES ('delete', old.id, old.name);
END;
CREATE TRIGGER theme_text_update AFTER UPDATE OF name ON theme BEGIN
    INSERT INTO theme_text (theme_text, rowid, name) VALUES ('delete', old.id, old.name);
    INSERT INTO theme_text (rowid, name) VALUES (new.id, new.name);
END;

