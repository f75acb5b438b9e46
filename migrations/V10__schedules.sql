-- Schedules (ORD-39): rules by which orders are registered at planned times. The transaction that registers an order of a
-- schedule also moves `decided_until` on, under the lock of this row: each time is decided once, also where a process dies in between.
CREATE TABLE schedules (
    name            text COLLATE "C" PRIMARY KEY,
    -- When, and what is done about missed times and orders that have not ended, as JSON.
    rule            text NOT NULL,
    -- The registration without its id, as JSON.
    template        text NOT NULL,
    note            text NOT NULL,
    -- Counts the changes by people, for `If-Match`.
    revision        bigint NOT NULL DEFAULT 1,
    paused_at       timestamptz,
    paused_by       text,
    pause_reason    text,
    -- About every time until then it has been decided what is done; by the clock of the database, which may be set back.
    decided_until   timestamptz NOT NULL,
    -- The first time behind it; null: there is none any more.
    next_at         timestamptz,
    -- Times whose orders wait for one of before to end.
    queued          integer NOT NULL DEFAULT 0,
    -- Times by outcome since the schedule was made.
    registered      bigint NOT NULL DEFAULT 0,
    skipped         bigint NOT NULL DEFAULT 0,
    missed          bigint NOT NULL DEFAULT 0,
    refused         bigint NOT NULL DEFAULT 0,
    -- Times that were refused since the last one that was not.
    refused_in_row  integer NOT NULL DEFAULT 0,
    problem         text,
    problem_at      timestamptz,
    made_by         text NOT NULL,
    made_at         timestamptz NOT NULL DEFAULT now(),
    changed_by      text NOT NULL,
    changed_at      timestamptz NOT NULL DEFAULT now(),
    CHECK ((paused_at IS NULL) = (paused_by IS NULL))
);

-- What is to be decided now, and what waits.
CREATE INDEX schedules_due ON schedules (next_at) WHERE paused_at IS NULL AND next_at IS NOT NULL;
CREATE INDEX schedules_queued ON schedules (name) WHERE paused_at IS NULL AND queued > 0;

-- The last times of each schedule with their outcomes, and those that wait.
CREATE TABLE schedule_runs (
    schedule    text COLLATE "C" NOT NULL,
    -- The planned time; that of the request, with milliseconds, where somebody asked for the order.
    due_at      timestamptz NOT NULL,
    outcome     text NOT NULL,
    -- The order that was registered.
    order_id    text,
    -- Reason, where there is no order.
    reason      text,
    -- Missed times up to this one, and the first of them.
    missed      integer,
    missed_from timestamptz,
    decided_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (schedule, due_at)
);

CREATE INDEX schedule_runs_queued ON schedule_runs (schedule, due_at) WHERE outcome = 'queued';
