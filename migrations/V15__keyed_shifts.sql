-- A shift that is asked for twice under one key is one shift: the first answer may have been lost. `asked` is the digest of what was
-- asked under the key, `moved_at` the time at which everything was moved that was to be: a repeat moves nothing after it.
ALTER TABLE shifts ADD COLUMN key text UNIQUE, ADD COLUMN asked text, ADD COLUMN moved_at timestamptz;
