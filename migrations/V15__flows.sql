-- Flows and called systems: what the active dispatcher knows of them, and what operators decided. The active
-- dispatcher alone writes what it knows, under its epoch; every intake reads it, and so does its successor.

CREATE TABLE flow_states (
    flow        text PRIMARY KEY,
    -- A closed set of words of the program.
    state       text NOT NULL,
    -- Stages that may run, for the bounds of a backlog.
    ready       bigint NOT NULL,
    -- All figures, as JSON.
    record      text NOT NULL,
    written_at  timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX flow_states_written ON flow_states (written_at);

CREATE TABLE system_states (
    system      text PRIMARY KEY,
    state       text NOT NULL,
    record      text NOT NULL,
    written_at  timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX system_states_written ON system_states (written_at);

-- Stops by hand. Each is a rule of its own: it holds for every flow whose name contains the keyword, also for those
-- that appear later. Rules stay after their end, so that it can be seen who stopped what.
CREATE TABLE flow_stops (
    no           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    keyword      text NOT NULL,
    from_at      timestamptz NOT NULL,
    -- When it ends by itself; null: only by hand.
    until_at     timestamptz,
    reason       text NOT NULL,
    made_by      text NOT NULL,
    made_at      timestamptz NOT NULL DEFAULT now(),
    lifted_at    timestamptz,
    lifted_by    text,
    lift_reason  text,
    CHECK (until_at > from_at),
    CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);
CREATE INDEX flow_stops_held ON flow_stops (no) WHERE lifted_at IS NULL;

-- What an operator decided about a called system: one decision at a time.
CREATE TABLE system_overrides (
    system    text PRIMARY KEY,
    what      text NOT NULL CHECK (what IN ('keep_stopped', 'force_open')),
    from_at   timestamptz NOT NULL,
    until_at  timestamptz,
    reason    text NOT NULL,
    made_by   text NOT NULL,
    made_at   timestamptz NOT NULL DEFAULT now(),
    CHECK (until_at > from_at)
);

-- One row. Each change of a rule above gives it the next revision, in the same transaction; the active dispatcher
-- tells which revision it goes by, and the number of its last hand-out before.
CREATE TABLE flow_rules (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision  bigint NOT NULL,
    known     bigint NOT NULL,
    epoch     bigint NOT NULL,
    serial    bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO flow_rules (revision, known, epoch, serial) VALUES (0, 0, 0, 0);

-- Shifts of what runs by time (DSP-11), and the orders of each, so that it can be undone.
CREATE TABLE shifts (
    no         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    keyword    text NOT NULL,
    -- Seconds by which every time is moved.
    seconds    double precision NOT NULL CHECK (seconds > 0),
    -- Orders that were due within this time.
    from_at    timestamptz NOT NULL,
    until_at   timestamptz NOT NULL,
    reason     text NOT NULL,
    made_by    text NOT NULL,
    made_at    timestamptz NOT NULL DEFAULT now(),
    undone_at  timestamptz
);
CREATE TABLE shifted (
    shift     bigint NOT NULL,
    order_no  bigint NOT NULL,
    -- When the order is due by it. An order that has another time by now has gone on, and is not moved back.
    due_at    timestamptz NOT NULL,
    PRIMARY KEY (shift, order_no)
);
