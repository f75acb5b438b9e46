-- A receiver may ask for its notifications in groups: at most `group_max` in one message, none of which waits longer than
-- `group_within_ms` for the others.
ALTER TABLE outbox ADD COLUMN group_max smallint, ADD COLUMN group_within_ms smallint;
