-- The pieces that `inglenook sync` carries. Every role sees and changes its own only; what is in them is sealed.
CREATE TABLE IF NOT EXISTS inglenook_piece (
    person name NOT NULL DEFAULT current_user,
    device text NOT NULL, -- '' holds what names the sync
    piece bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (person, device, piece)
);
ALTER TABLE inglenook_piece ENABLE ROW LEVEL SECURITY;
ALTER TABLE inglenook_piece FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own_pieces ON inglenook_piece;
CREATE POLICY own_pieces ON inglenook_piece USING (person = current_user) WITH CHECK (person = current_user);
-- For each role that shares its memory here:
-- GRANT SELECT, INSERT, DELETE ON inglenook_piece TO ana;
