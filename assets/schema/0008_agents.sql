-- A chat that another program wrote through `inglenook mcp`: 1, or NULL for every other.
ALTER TABLE session ADD COLUMN agent INTEGER CHECK (agent = 1);
