-- Of a message's text as it was written: the first eight bytes of its SHA-256, big-endian. A letter that changes on
-- the disk is found by it. The program fills it for the messages that are there.
ALTER TABLE message ADD COLUMN checksum INTEGER;
