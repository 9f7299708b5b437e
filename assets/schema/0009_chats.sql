-- Chats: pinned, or going on from the messages of another one before one of them; replies put aside for another version.
-- All of it is optional, so that an older export can be read.

ALTER TABLE session ADD COLUMN pinned INTEGER CHECK (pinned = 1);
ALTER TABLE session ADD COLUMN parent INTEGER CHECK (parent < id);
ALTER TABLE session ADD COLUMN parent_end INTEGER;
ALTER TABLE message ADD COLUMN aside INTEGER CHECK (aside = 1);
CREATE INDEX message_aside ON message (session) WHERE aside IS NOT NULL;
