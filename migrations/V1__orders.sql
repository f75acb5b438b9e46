-- The order, its payload and its place. An order that is not final stands in exactly one of
-- `ready`, `running` and `due`: whoever deletes that row has the right to move the order on.
-- The wide row of `orders` is written at registration and at the end of each stage, nothing else,
-- and no index names a column of it that changes, so that these updates stay heap-only.

CREATE TABLE scenarios (
    no          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    version     integer NOT NULL,
    source      text NOT NULL,
    digest      bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (name, version)
);

CREATE TABLE orders (
    no              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id              text NOT NULL,
    digest          bytea NOT NULL,
    -- A version of a scenario is never removed while an order names it; a foreign key would lock
    -- the same few rows of `scenarios` for every registration.
    scenario        integer NOT NULL,
    mode            text NOT NULL CHECK (mode IN ('parallel', 'sequential')),
    queue           text CHECK ((mode = 'sequential') = (queue IS NOT NULL)),
    priority        text NOT NULL CHECK (priority IN ('high', 'normal', 'low')),
    flow            text NOT NULL,
    transaction_id  text,
    notify          text,
    trace           text,
    start_at        timestamptz,
    start_deadline  timestamptz,
    -- Seconds from the client's sending to the deadline; a restart counts them anew.
    start_period    bigint,
    created_at      timestamptz NOT NULL,
    -- What follows changes.
    status          text NOT NULL CHECK (status IN ('new', 'postponed', 'running', 'sleep', 'wait',
                        'polling', 'retry', 'reopen', 'success', 'fail', 'interrupted', 'canceled')),
    scenario_status text NOT NULL DEFAULT 'undefined' CHECK (scenario_status IN ('undefined',
                        'on_target', 'off_target', 'target', 'failed')),
    step            text,
    entry_point     text,
    life            integer NOT NULL DEFAULT 1,
    attempt         integer NOT NULL DEFAULT 0,
    -- Number of the last event of the history; registration itself is number 1.
    events          integer NOT NULL DEFAULT 1,
    visited         integer NOT NULL DEFAULT 0,
    distance        integer,
    started_at      timestamptz,
    finished_at     timestamptz,
    updated_at      timestamptz NOT NULL DEFAULT now(),
    result          text,
    message         text,
    error_class     text,
    error_message   text,
    CHECK ((status IN ('success', 'fail', 'interrupted', 'canceled')) = (finished_at IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX orders_id ON orders (id);

-- Parameters never change but by a restart; they stay out of the row that does.
CREATE TABLE payloads (
    order_no  bigint PRIMARY KEY,
    params    text NOT NULL
);

-- Position and variables of an order between two stages.
CREATE TABLE contexts (
    order_no  bigint PRIMARY KEY,
    snapshot  text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- Stages that may run. `attempt` is the number the hand-out will bear, `pass` its token.
CREATE TABLE ready (
    order_no   bigint PRIMARY KEY,
    pass       uuid NOT NULL,
    attempt    integer NOT NULL,
    wake       text NOT NULL,
    flow       text NOT NULL,
    priority   text NOT NULL,
    queue      text,
    position   bigint CHECK ((queue IS NULL) = (position IS NULL)),
    restarts   smallint NOT NULL DEFAULT 0,
    -- The stage was with a worker before: outsiders still see the order as running.
    reissued   boolean NOT NULL DEFAULT false,
    since      timestamptz NOT NULL,
    -- Set where activation repeats its command (ACT-3).
    stream     smallint,
    repeat_at  timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE INDEX ready_repeat ON ready (repeat_at) WHERE repeat_at IS NOT NULL;

-- Stages with a worker: one for each order, one for each queue, by key and not by hope.
CREATE TABLE running (
    order_no     bigint PRIMARY KEY,
    pass         uuid NOT NULL,
    attempt      integer NOT NULL,
    wake         text NOT NULL,
    restarts     smallint NOT NULL,
    queue        text,
    node         bigint NOT NULL,
    since        timestamptz NOT NULL,
    started_at   timestamptz NOT NULL,
    deadline_at  timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX running_queue ON running (queue) WHERE queue IS NOT NULL;
CREATE INDEX running_deadline ON running (deadline_at);

-- Suspended orders: one timer each. The stream is the kind of the suspension and its age group.
CREATE TABLE due (
    order_no  bigint PRIMARY KEY,
    stream    smallint NOT NULL,
    due_at    timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE INDEX due_stream ON due (stream, due_at);

-- Deadlines of orders as a whole: `start` and `process`.
CREATE TABLE deadlines (
    order_no  bigint NOT NULL,
    kind      text NOT NULL CHECK (kind IN ('start', 'process')),
    at        timestamptz NOT NULL,
    PRIMARY KEY (order_no, kind)
);
CREATE INDEX deadlines_at ON deadlines (at);

-- The members of each queue in their order; the head owns the resource. Positions are
-- milliseconds, taken under the lock of the queue's row and never twice.
CREATE TABLE queues (
    name           text PRIMARY KEY,
    last_position  bigint NOT NULL,
    taken          bigint NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE queued (
    order_no  bigint PRIMARY KEY,
    queue     text NOT NULL,
    position  bigint NOT NULL,
    UNIQUE (queue, position)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

-- Asynchronous requests, stored before they are sent.
CREATE TABLE requests (
    id             uuid PRIMARY KEY,
    order_no       bigint NOT NULL,
    life           integer NOT NULL,
    visit          integer NOT NULL,
    action         integer NOT NULL,
    name           text NOT NULL,
    status         text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'answered', 'timeout', 'canceled')),
    awaited        boolean NOT NULL DEFAULT false,
    registered_at  timestamptz NOT NULL DEFAULT now(),
    closed_at      timestamptz,
    UNIQUE (order_no, life, visit, action),
    CHECK ((status = 'open') = (closed_at IS NULL))
) WITH (fillfactor = 70);

-- Every answer that ever came, with what became of it.
CREATE TABLE callbacks (
    no           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id   uuid,
    named        text NOT NULL,
    order_no     bigint,
    verdict      text NOT NULL CHECK (verdict IN ('accepted', 'duplicate', 'late', 'orphan')),
    step_status  text,
    headers      text,
    body         bytea NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX callbacks_request ON callbacks (request_id) WHERE request_id IS NOT NULL;

-- What happened to each order, append-only. A row of kind `stage` stands for two events, the
-- start and the end of the stage, and bears the number of the first.
CREATE TABLE history (
    order_no  bigint NOT NULL,
    number    integer NOT NULL,
    life      integer NOT NULL,
    kind      text NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    source    text NOT NULL,
    detail    text NOT NULL,
    PRIMARY KEY (order_no, number)
);

-- Notifications that are not confirmed yet: one for each order, life and kind.
CREATE TABLE outbox (
    order_no        bigint NOT NULL,
    life            integer NOT NULL,
    kind            text NOT NULL,
    message_id      uuid NOT NULL,
    target          text NOT NULL,
    correlation_id  text,
    transaction_id  text,
    trace           text,
    body            text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    next_at         timestamptz NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    -- Set when only an operator can help: nobody listens there, or it is not allowed.
    parked_because  text,
    last_error      text,
    PRIMARY KEY (order_no, life, kind)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE INDEX outbox_next ON outbox (next_at) WHERE parked_because IS NULL;
