-- Decisions about flows and called systems (DSP-14): trips, probes, resumptions and changes of limits by the active
-- dispatcher, which alone writes here, under its epoch; and what operators decided, as it came into force. Rows are never
-- changed, and are removed after `distribution.decisions.keep`.
CREATE TABLE decisions (
    kind      text NOT NULL CHECK (kind IN ('flow', 'system')),
    -- The flow or the system.
    name      text NOT NULL,
    at        timestamptz NOT NULL,
    -- Which of the decisions of one moment it is: one that is written again, because an answer was lost, stays one row.
    key       text NOT NULL,
    -- The state after it: a closed set of words of the program.
    state     text NOT NULL,
    -- The limit after it; null: none.
    bound     bigint,
    why       text NOT NULL,
    -- The principal, as JSON; null: the engine decided by itself.
    made_by   text,
    -- Figures of the flow or the system then, as JSON.
    numbers   text NOT NULL,
    -- Decisions like it since the row before that have no row of their own.
    left_out  bigint NOT NULL,
    PRIMARY KEY (kind, name, at, key)
);

-- Retention removes the oldest.
CREATE INDEX decisions_at ON decisions (at);
