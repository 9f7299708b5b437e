-- sqlite-vec searches the vectors; the sketches of before go.
DROP TABLE message_sketch;
DROP TABLE episode_sketch;
DROP TABLE semantic_sketch;
DROP TABLE theme_sketch;

-- A level that is too large to be searched exactly has a row here and a table `LEVEL_vector_index` of
-- sqlite-vec's. The program makes both, because a table's width depends on the embedder. `mean`: of the
-- level's vectors when the index was made, in units of 1/1024, little-endian integers of 16 bits.
CREATE TABLE vector_index (
    level TEXT NOT NULL PRIMARY KEY CHECK (level IN ('message', 'episode', 'semantic', 'theme')),
    mean BLOB NOT NULL
) STRICT, WITHOUT ROWID;
