-- A fact that the person corrected stays as it is when its episode is written anew.
ALTER TABLE semantic ADD COLUMN corrected INTEGER NOT NULL DEFAULT 0 CHECK (corrected IN (0, 1));

-- What the person struck out, or corrected: no fact that says this is made from the message again.
CREATE TABLE refused (
    message INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    content TEXT NOT NULL,
    PRIMARY KEY (message, content)
) STRICT, WITHOUT ROWID;

-- The corrections that the undo log still knows.
INSERT INTO refused
SELECT DISTINCT source.message, json_extract(inverse, '$.content')
FROM operation JOIN semantic_message source ON source.semantic = json_extract(inverse, '$.semantic')
WHERE json_valid(inverse) AND json_extract(inverse, '$.kind') = 'edit_semantic';
UPDATE semantic SET corrected = 1 WHERE id IN (
    SELECT json_extract(inverse, '$.semantic') FROM operation
    WHERE json_valid(inverse) AND json_extract(inverse, '$.kind') = 'edit_semantic'
);
