-- The position at which look-ups in a queue begin: everything before it has left for good. Raised now and then; without
-- it each look-up walks over all deleted entries that vacuum may not remove yet.
ALTER TABLE queues ADD COLUMN head bigint NOT NULL DEFAULT 0;
