-- The file that an imported chat came from: NULL for the chats held here, and for those imported before this version.
ALTER TABLE session ADD COLUMN source TEXT;
