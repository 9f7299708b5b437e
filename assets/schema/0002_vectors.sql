-- Vectors in ordinary tables. Before, they were sqlite-vec's: its rows of `sqlite_schema` go by hand,
-- because nothing here can read them any more, then the tables under them. No embedder has this id, so
-- all vectors are made again.
PRAGMA writable_schema = ON;
DELETE FROM sqlite_schema
WHERE type = 'table' AND sql LIKE '%USING vec0%'
    AND name IN ('message_vector', 'episode_vector', 'semantic_vector', 'theme_vector');
PRAGMA writable_schema = RESET;
DROP TABLE IF EXISTS message_vector_chunks;
DROP TABLE IF EXISTS message_vector_info;
DROP TABLE IF EXISTS message_vector_rowids;
DROP TABLE IF EXISTS message_vector_vector_chunks00;
DROP TABLE IF EXISTS episode_vector_chunks;
DROP TABLE IF EXISTS episode_vector_info;
DROP TABLE IF EXISTS episode_vector_rowids;
DROP TABLE IF EXISTS episode_vector_vector_chunks00;
DROP TABLE IF EXISTS semantic_vector_chunks;
DROP TABLE IF EXISTS semantic_vector_info;
DROP TABLE IF EXISTS semantic_vector_rowids;
DROP TABLE IF EXISTS semantic_vector_vector_chunks00;
DROP TABLE IF EXISTS theme_vector_chunks;
DROP TABLE IF EXISTS theme_vector_info;
DROP TABLE IF EXISTS theme_vector_rowids;
DROP TABLE IF EXISTS theme_vector_vector_chunks00;
UPDATE meta SET value = '' WHERE key = 'embedder';
INSERT OR IGNORE INTO job (kind, subject)
SELECT 'reembed', 0 WHERE EXISTS (SELECT 1 FROM message);

-- A unit's vector: `dimensions` (in `meta`) little-endian floats, of unit length.
CREATE TABLE message_vector (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL) STRICT;
CREATE TABLE episode_vector (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL) STRICT;
CREATE TABLE semantic_vector (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL) STRICT;
CREATE TABLE theme_vector (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL) STRICT;

-- A bit for each component's sign, after a byte that says whether the unit has a vector: the 64 units
-- from 64 · block on, one after the other.
CREATE TABLE message_sketch (block INTEGER PRIMARY KEY, sketches BLOB NOT NULL) STRICT;
CREATE TABLE episode_sketch (block INTEGER PRIMARY KEY, sketches BLOB NOT NULL) STRICT;
CREATE TABLE semantic_sketch (block INTEGER PRIMARY KEY, sketches BLOB NOT NULL) STRICT;
CREATE TABLE theme_sketch (block INTEGER PRIMARY KEY, sketches BLOB NOT NULL) STRICT;
