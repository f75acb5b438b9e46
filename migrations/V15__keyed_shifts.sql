-- A shift that is asked for twice under one key is one shift: the answer to the first request may be lost. `asked` is the digest of
-- what was asked under the key.
ALTER TABLE shifts ADD COLUMN key text UNIQUE, ADD COLUMN asked text;
