-- A message's checksum is now of who said it, when and in which chat as well as of its text. The program recomputes
-- those that still fit their text; the others stay as they are, and are found.
SELECT 1;
