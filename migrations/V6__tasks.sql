-- The time of a task as a whole: its hand-outs know it.

ALTER TABLE requests
    -- When the task time-out passes, counted from the first hand-out.
    ADD COLUMN task_ends_at timestamptz,
    -- Whether no heartbeat prolongs the hand-out beyond that.
    ADD COLUMN force_finish boolean NOT NULL DEFAULT false;
