-- The schema, grouped by purpose; the indexes, functions and triggers of a table stand below it.
--
-- An order that is not final stands in exactly one of `ready`, `running` and `due`: the transaction that deletes that
-- row has the right to move the order on. The other tables hold what belongs to the order, or report about it.
--
-- Rows that change often have free room in their page (`fillfactor`), and no index of `orders` names a column that
-- changes: so an update touches no index ("heap-only"). Tables whose rows come and go quickly are vacuumed early. JSON
-- stands in columns of type `text`, because the database never looks into it.

------------------------------------------------------------------------------------------------------------------
-- Scenarios and orders
------------------------------------------------------------------------------------------------------------------

CREATE TABLE scenarios (
    no          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    version     integer NOT NULL,
    source      text NOT NULL,
    digest      bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (name, version)
);

-- The wide row of an order is written at registration and at the end of each stage, never between.
--
-- A batch of ends updates all orders of a page in one transaction, so that nothing of the page can be cleared away
-- in between. An ended order has about a tenth more bytes than a new one: with a little more than half of the page
-- kept free, every new version stands in the page of the old one, and no index learns of it. With less room half of
-- them do not, which costs three index entries each, and more room in the end.
CREATE TABLE orders (
    no               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id               text NOT NULL,
    digest           bytea NOT NULL,
    -- A version of a scenario is never removed while an order names it; a foreign key would lock the same few rows
    -- of `scenarios` for every registration.
    scenario         integer NOT NULL,
    mode             text NOT NULL CHECK (mode IN ('parallel', 'sequential')),
    queue            text CHECK ((mode = 'sequential') = (queue IS NOT NULL)),
    priority         text NOT NULL CHECK (priority IN ('high', 'normal', 'low')),
    flow             text NOT NULL,
    transaction_id   text,
    notify           text,
    trace            text,
    start_at         timestamptz,
    start_deadline   timestamptz,
    -- Seconds from the client's sending to the deadline; a restart counts them from its own start.
    start_period     bigint,
    created_at       timestamptz NOT NULL,
    -- Here the state of the order starts, which each stage changes.
    status           text NOT NULL CHECK (status IN ('new', 'postponed', 'running', 'sleep', 'wait', 'polling',
                         'retry', 'reopen', 'success', 'fail', 'interrupted', 'canceled')),
    scenario_status  text NOT NULL DEFAULT 'undefined' CHECK (scenario_status IN ('undefined', 'on_target',
                         'off_target', 'target', 'failed')),
    step             text,
    entry_point      text,
    life             integer NOT NULL DEFAULT 1,
    attempt          integer NOT NULL DEFAULT 0,
    -- Number of the last event of the history; registration itself is number 1.
    events           integer NOT NULL DEFAULT 1,
    visited          integer NOT NULL DEFAULT 0,
    distance         integer,
    started_at       timestamptz,
    finished_at      timestamptz,
    updated_at       timestamptz NOT NULL DEFAULT now(),
    result           text,
    message          text,
    error_class      text,
    error_message    text,
    -- Set while another order waits for the end of this one, so that all other ends cost no look at `dependencies`.
    awaited          boolean NOT NULL DEFAULT false,
    -- The called system behind a failure, so that failed and retrying orders can be put together by it (ERR-14).
    error_system     text,
    -- Stages that ran in the present life, and those among them that repeated after a classified error (ORD-20).
    stages           integer NOT NULL DEFAULT 0,
    retries          integer NOT NULL DEFAULT 0,
    -- The request of the parent that the end of this order answers, apart from what the client is notified of
    -- (ORD-23). Shown to nobody: an id of a request is the right to answer it.
    answers          uuid,
    -- When the client must be served (ORD-31).
    promise_at       timestamptz,
    CHECK ((status IN ('success', 'fail', 'interrupted', 'canceled')) = (finished_at IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02, fillfactor = 45);

-- Compares bytes, and so serves searches by prefix, too, whatever the collation of the database (REC-13). Equality is
-- the same under both, and a comparison of bytes costs less.
CREATE UNIQUE INDEX orders_id ON orders (id text_pattern_ops);

-- Orders of one business transaction are looked up by people, the newest first (ORD-6). An entry of a b-tree holds
-- 2704 bytes, a transaction id may have 1024 characters of 4 bytes: the index keeps a hash, and a search compares the
-- text as well. All other texts of clients that are part of a key are at most 255 bytes long.
CREATE INDEX orders_transaction_hash ON orders (hashtextextended(transaction_id, 0), no)
    WHERE transaction_id IS NOT NULL;

-- Parameters change by a restart only; they stay out of the row that changes at each stage.
CREATE TABLE payloads (
    order_no  bigint PRIMARY KEY,
    params    text NOT NULL
);

-- Position and variables of an order between two stages.
CREATE TABLE contexts (
    order_no  bigint PRIMARY KEY,
    snapshot  text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- History of each order, append-only. A row of kind `stage` stands for two events, the start and the end of the
-- stage, and has the number of the first.
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

------------------------------------------------------------------------------------------------------------------
-- Places of live orders
------------------------------------------------------------------------------------------------------------------

-- Stages that may run.
CREATE TABLE ready (
    order_no   bigint PRIMARY KEY,
    -- The token of the hand-out to come, and its number.
    pass       uuid NOT NULL,
    attempt    integer NOT NULL,
    wake       text NOT NULL,
    flow       text NOT NULL,
    priority   text NOT NULL,
    queue      text,
    position   bigint CHECK ((queue IS NULL) = (position IS NULL)),
    restarts   smallint NOT NULL DEFAULT 0,
    -- The stage was with a worker before: from outside the order still runs.
    reissued   boolean NOT NULL DEFAULT false,
    since      timestamptz NOT NULL,
    -- Set where activation repeats its command (ACT-3).
    stream     smallint,
    repeat_at  timestamptz,
    -- True for a stage that goes on with what was started, or that started again together with many others: fresh
    -- ones of the same urgency go beside it in turn. The stream does not say so: a stage woken by an answer has none.
    woken      boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

CREATE INDEX ready_repeat ON ready (repeat_at) WHERE repeat_at IS NOT NULL;

-- Stages with a worker: one for each order and one for each queue, by keys and not by care.
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

-- Suspended orders, with one timer each.
CREATE TABLE due (
    order_no  bigint PRIMARY KEY,
    -- Kind of the suspension and its age group; 7 for orders that wait for other orders and so have no time.
    stream    smallint NOT NULL,
    due_at    timestamptz,
    CONSTRAINT due_timeless CHECK ((due_at IS NULL) = (stream = 7))
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

CREATE INDEX due_stream ON due (stream, due_at);

-- Deadlines of orders as a whole.
CREATE TABLE deadlines (
    order_no  bigint NOT NULL,
    kind      text NOT NULL CHECK (kind IN ('start', 'process')),
    at        timestamptz NOT NULL,
    PRIMARY KEY (order_no, kind)
);

CREATE INDEX deadlines_at ON deadlines (at);

-- Queues of sequential orders.
CREATE TABLE queues (
    name           text PRIMARY KEY,
    -- Milliseconds, taken under the lock of this row and never twice.
    last_position  bigint NOT NULL,
    taken          bigint NOT NULL,
    -- Position at which look-ups start: all members before it have left for good. Raised now and then; without it
    -- each look-up walks over all deleted entries that vacuum may not remove yet.
    head           bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Members of each queue in their order; the head owns the resource.
CREATE TABLE queued (
    order_no    bigint PRIMARY KEY,
    queue       text NOT NULL,
    position    bigint NOT NULL,
    -- When the order took the queue, with its first stage since it became a member.
    held_since  timestamptz,
    UNIQUE (queue, position)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

-- Calls of running stages to the world that take their time, for people who look at a running order. Each worker
-- writes what it has waited for some seconds, and nothing that is quick. Nothing is decided by it, so it need not
-- outlive the server, and costs no log. A row counts only beside the row in `running` of the same attempt.
CREATE UNLOGGED TABLE asking (
    order_no  bigint PRIMARY KEY,
    attempt   integer NOT NULL,
    node      bigint NOT NULL,
    state     text NOT NULL,
    action    integer NOT NULL,
    kind      text NOT NULL,
    name      text,
    target    text NOT NULL,
    tries     integer NOT NULL,
    since     timestamptz NOT NULL
);

CREATE INDEX asking_node ON asking (node);

-- Stages that may end their worker (REC-3): those whose worker died, from the hand-out that followed, and those whose
-- code is not known to be quick, while it runs. A worker computes those of the first kind one at a time, so that a
-- further death is put down to the right one.
CREATE TABLE suspects (
    order_no     bigint PRIMARY KEY,
    -- Number of the hand-out.
    attempt      integer NOT NULL,
    -- Workers that died while they computed the stage, and the name of the last.
    deaths       smallint NOT NULL DEFAULT 0,
    died_on      text,
    is_computed  boolean NOT NULL,
    since        timestamptz NOT NULL DEFAULT now()
);

------------------------------------------------------------------------------------------------------------------
-- Orders and other orders
------------------------------------------------------------------------------------------------------------------

-- Orders that wait for others. A row says what one order expects of another, by the id that its client gave it: the
-- other may be registered later.
CREATE TABLE dependencies (
    order_no    bigint NOT NULL,
    before_id   text NOT NULL,
    -- The states that would do, as JSON.
    states      text NOT NULL,
    otherwise   text NOT NULL CHECK (otherwise IN ('wait', 'fail', 'cancel')),
    -- True if the end of the other activates this one at once; else it is looked for periodically.
    reactive    boolean NOT NULL,
    stand       text NOT NULL CHECK (stand IN ('unknown', 'found', 'open', 'met', 'missed', 'closed')),
    settled_at  timestamptz,
    PRIMARY KEY (order_no, before_id)
);

CREATE INDEX dependencies_before ON dependencies (before_id);
-- Two short lists in a table that keeps what was: rows that somebody has to look at now, and rows that are looked
-- through for lost ends. An order that missed a condition may be restarted, so the second list has such rows, too.
CREATE INDEX dependencies_urgent ON dependencies (order_no)
    WHERE stand = 'found' OR (stand = 'missed' AND otherwise <> 'wait');
CREATE INDEX dependencies_live ON dependencies (reactive, order_no, before_id)
    WHERE stand IN ('unknown', 'found', 'open') OR (stand = 'missed' AND otherwise = 'wait');

-- Child orders and who started them. The depth bounds scenarios that start themselves.
CREATE TABLE children (
    order_no   bigint PRIMARY KEY,
    parent_no  bigint NOT NULL,
    depth      integer NOT NULL
);

CREATE INDEX children_parent ON children (parent_no);

------------------------------------------------------------------------------------------------------------------
-- Requests, answers and calls
------------------------------------------------------------------------------------------------------------------

-- Asynchronous requests, stored before they are sent. A task of an actor is a request for each of its hand-outs.
CREATE TABLE requests (
    id             uuid PRIMARY KEY,
    order_no       bigint NOT NULL,
    life           integer NOT NULL,
    visit          integer NOT NULL,
    action         integer NOT NULL,
    name           text NOT NULL,
    status         text NOT NULL DEFAULT 'open'
                       CHECK (status IN ('open', 'answered', 'timeout', 'canceled')),
    awaited        boolean NOT NULL DEFAULT false,
    registered_at  timestamptz NOT NULL DEFAULT now(),
    closed_at      timestamptz,
    -- Number of the hand-out of a task; 0 for a request that is none.
    hand_out       integer NOT NULL DEFAULT 0,
    -- A heartbeat prolongs the hand-out by so much.
    work_seconds   double precision,
    -- True if this hand-out may be answered after a later one was made.
    accept_first   boolean NOT NULL DEFAULT false,
    -- When the time-out of the task passes, counted from its first hand-out.
    task_ends_at   timestamptz,
    -- True if no heartbeat prolongs the hand-out beyond that.
    force_finish   boolean NOT NULL DEFAULT false,
    -- When the longest wait of the order is over (ORD-12): no heartbeat prolongs a hand-out beyond that either.
    wait_ends_at   timestamptz,
    -- The system that is to answer, from the moment at which the order waits for it: open requests are counted by flow
    -- and system (DSP-7).
    system         text,
    CONSTRAINT requests_place UNIQUE (order_no, life, visit, action, hand_out),
    CHECK ((status = 'open') = (closed_at IS NULL))
) WITH (fillfactor = 70);

-- Every answer that ever came, and its verdict.
CREATE TABLE callbacks (
    no           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id   uuid,
    -- The request as the answer names it: it may be no id at all.
    named        text NOT NULL,
    order_no     bigint,
    verdict      text NOT NULL CHECK (verdict IN ('accepted', 'duplicate', 'late', 'orphan')),
    step_status  text,
    headers      text,
    body         bytea NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX callbacks_request ON callbacks (request_id) WHERE request_id IS NOT NULL;
-- Callbacks that changed nothing are looked for by people (SCN-7) and are few among many. The index leaves out those
-- that were accepted, so that the hot path does not keep it.
CREATE INDEX callbacks_in_vain ON callbacks (verdict, no) WHERE verdict <> 'accepted';

-- Calls from outside to live orders. A call waits for its order to rest; the caller's key makes it one call, however
-- often it is sent.
CREATE TABLE calls (
    no             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_no       bigint NOT NULL,
    life           integer NOT NULL,
    key            text NOT NULL,
    name           text NOT NULL,
    body           text NOT NULL,
    status         text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'answered', 'failed')),
    answer         text,
    error_class    text,
    error_message  text,
    received_at    timestamptz NOT NULL DEFAULT now(),
    answered_at    timestamptz,
    UNIQUE (order_no, key),
    CHECK ((status = 'waiting') = (answered_at IS NULL))
) WITH (fillfactor = 70);

CREATE INDEX calls_waiting ON calls (order_no, no) WHERE status = 'waiting';

------------------------------------------------------------------------------------------------------------------
-- Notifications
------------------------------------------------------------------------------------------------------------------

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
    -- Scheme, host and port of the receiver of a webhook; null for what goes to the broker.
    receiver        text,
    -- The form, where it is not the usual one.
    format          text,
    -- Grows with each numbered notification of an order: those of a form with a sequence, and those of transitions.
    number          bigint,
    -- When somebody asked to send it again: from then on it is tried for as long as a new one.
    again_since     timestamptz,
    PRIMARY KEY (order_no, life, kind)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

CREATE SEQUENCE outbox_number OWNED BY outbox.number;

-- Broker and receivers have an index each, so that neither looks through the rows of the other: one receiver that
-- hangs may have a million.
CREATE INDEX outbox_next ON outbox (next_at) WHERE parked_because IS NULL AND receiver IS NULL;
CREATE INDEX outbox_receivers ON outbox (receiver, next_at)
    WHERE parked_because IS NULL AND receiver IS NOT NULL;
-- For people: what only they can help.
CREATE INDEX outbox_parked ON outbox (order_no, life, kind) WHERE parked_because IS NOT NULL;

-- Suspended orders whose clients want to be notified of those that stand still: when it is time to look. The row of an
-- order that has gone on meanwhile says nothing more, and goes when its time has come.
CREATE TABLE suspensions (
    order_no  bigint PRIMARY KEY,
    -- Number of the hand-out whose stage was suspended: another one means that the order has gone on.
    attempt   integer NOT NULL,
    since     timestamptz NOT NULL DEFAULT now(),
    at        timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

CREATE INDEX suspensions_at ON suspensions (at);

------------------------------------------------------------------------------------------------------------------
-- Failures and promises
------------------------------------------------------------------------------------------------------------------

-- Orders that ended `fail`, to be counted by class, scenario, state and system over time (ERR-14).
--
-- An index on the status or the end of `orders` would cost every update of every order its heap-only form. This table
-- has one narrow row for each failed order and none for the others; a restart removes it. The database keeps it, so
-- that no way into `fail` can be forgotten. The condition of the trigger costs an update that touches no failure less
-- than a microsecond.
CREATE TABLE failures (
    order_no  bigint PRIMARY KEY,
    at        timestamptz NOT NULL,
    scenario  integer NOT NULL,
    class     text,
    step      text,
    system    text
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX failures_at ON failures (at);

CREATE FUNCTION keep_failures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'fail' THEN
        INSERT INTO failures (order_no, at, scenario, class, step, system)
        VALUES (NEW.no, NEW.finished_at, NEW.scenario, NEW.error_class, NEW.step, NEW.error_system)
        ON CONFLICT (order_no) DO UPDATE
           SET at = excluded.at, scenario = excluded.scenario, class = excluded.class, step = excluded.step,
               system = excluded.system;
    ELSE
        DELETE FROM failures WHERE order_no = NEW.no;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER orders_failures AFTER UPDATE ON orders FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND 'fail' IN (OLD.status, NEW.status))
    EXECUTE FUNCTION keep_failures();

-- Promises (ORD-31): a narrow row for each life that has a promise and has not been taken into account, so that the
-- wide row in `orders` is never read to find out that there is nothing to do.
CREATE TABLE promises (
    order_no     bigint PRIMARY KEY,
    promise_at   timestamptz NOT NULL,
    -- When it is looked at next: whether the order is in jeopardy (never again once it is), or, where the life has
    -- ended, what can be learnt of it.
    look_at      timestamptz NOT NULL,
    -- For an order in jeopardy: since when, when nine of ten like it would have ended, and why.
    marked_at    timestamptz,
    expected_at  timestamptz,
    cause        text,
    ended        boolean NOT NULL DEFAULT false,
    CHECK ((marked_at IS NULL) = (expected_at IS NULL) AND (marked_at IS NULL) = (cause IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

CREATE INDEX promises_look ON promises (look_at);
CREATE INDEX promises_jeopardy ON promises (order_no) WHERE marked_at IS NOT NULL AND NOT ended;

-- The database keeps them, so that no way into a life or out of it is forgotten; an order without a promise pays the
-- comparison of two columns. An order that ends within a second is not looked at before.
CREATE FUNCTION keep_promises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.finished_at IS NULL THEN
        INSERT INTO promises (order_no, promise_at, look_at)
        VALUES (NEW.no, NEW.promise_at, clock_timestamp() + interval '1 second')
        ON CONFLICT (order_no) DO UPDATE
           SET promise_at = excluded.promise_at, look_at = excluded.look_at, marked_at = NULL, expected_at = NULL,
               cause = NULL, ended = false;
    ELSE
        UPDATE promises SET ended = true, look_at = clock_timestamp() WHERE order_no = NEW.no;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER orders_promised AFTER INSERT ON orders FOR EACH ROW
    WHEN (NEW.promise_at IS NOT NULL) EXECUTE FUNCTION keep_promises();
CREATE TRIGGER orders_promises AFTER UPDATE ON orders FOR EACH ROW
    WHEN (NEW.promise_at IS NOT NULL AND (OLD.finished_at IS NULL) <> (NEW.finished_at IS NULL))
    EXECUTE FUNCTION keep_promises();

-- Time that remained to lives that were served, by scenario: from each state to the end, as distributions.
CREATE TABLE remaining_times (
    scenario   text PRIMARY KEY,
    record     text NOT NULL,
    learnt_at  timestamptz NOT NULL
) WITH (fillfactor = 50);

------------------------------------------------------------------------------------------------------------------
-- Search
------------------------------------------------------------------------------------------------------------------

-- Values of attributes that scenarios declare under `search`, by which their orders are found.
CREATE TABLE search_values (
    order_no  bigint NOT NULL,
    name      text NOT NULL,
    value     text NOT NULL,
    PRIMARY KEY (order_no, name, value)
);

CREATE INDEX search_values_value ON search_values (name, value, order_no);

-- Searches that somebody gave a name (REC-13). Times that are relative to now stay so.
CREATE TABLE searches (
    name     text PRIMARY KEY,
    search   text NOT NULL,
    made_by  text NOT NULL,
    made_at  timestamptz NOT NULL DEFAULT now()
);

------------------------------------------------------------------------------------------------------------------
-- Flows and called systems
------------------------------------------------------------------------------------------------------------------

-- Flows and called systems as the active dispatcher knows them. It alone writes these rows, under its epoch; every
-- intake reads them, and so does its successor. States are closed sets of words of the program.
CREATE TABLE flow_states (
    flow        text PRIMARY KEY,
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
    no                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    keyword           text NOT NULL,
    from_at           timestamptz NOT NULL,
    -- When it ends by itself; null: only by hand.
    until_at          timestamptz,
    reason            text NOT NULL,
    made_by           text NOT NULL,
    made_at           timestamptz NOT NULL DEFAULT now(),
    lifted_at         timestamptz,
    lifted_by         text,
    lift_reason       text,
    -- The request that made it: a commit whose answer was lost is known by it, and a repeat makes no second stop.
    key               text NOT NULL DEFAULT gen_random_uuid()::text UNIQUE,
    -- A stop for planned works (DSP-11) goes on to move what comes to wait, retry or run out while it holds: the shift
    -- that it has started, and the node that moves its orders, until when nobody else does.
    shift             bigint,
    shift_held_by     text,
    shift_held_until  timestamptz,
    CHECK (until_at > from_at),
    CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)),
    CHECK ((shift_held_by IS NULL) = (shift_held_until IS NULL))
);

CREATE INDEX flow_stops_held ON flow_stops (no) WHERE lifted_at IS NULL;

-- Decisions of operators about called systems, one at a time for each.
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

-- Maintenance windows (DSP-16): times, once or by a calendar, at which flows or a called system are left alone. Whether
-- one is open follows from its row and the time; nothing is written when it opens or ends.
CREATE TABLE maintenance_windows (
    no             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The request that made it, as in `flow_stops`.
    key            text NOT NULL UNIQUE,
    -- Every flow whose name contains it, or the called system of this name.
    flow           text,
    system         text,
    -- The calendar, as JSON.
    calendar       text NOT NULL,
    -- No occurrence ends later; null: it goes on for ever.
    ends_at        timestamptz,
    -- Occurrences that start then or earlier are called off.
    void_until     timestamptz,
    -- True if orders that wait or retry until a time within an occurrence are moved behind its end.
    shifts         boolean NOT NULL,
    reason         text NOT NULL,
    made_by        text NOT NULL,
    made_at        timestamptz NOT NULL DEFAULT now(),
    removed_at     timestamptz,
    removed_by     text,
    remove_reason  text,
    CHECK ((flow IS NULL) <> (system IS NULL)),
    CHECK (flow IS NOT NULL OR NOT shifts),
    CHECK ((removed_at IS NULL) = (removed_by IS NULL))
);

CREATE INDEX maintenance_windows_held ON maintenance_windows (no) WHERE removed_at IS NULL;

-- The shift of each occurrence that has one: it is started once, by the first node that comes.
CREATE TABLE window_shifts (
    window_no   bigint NOT NULL,
    begins_at   timestamptz NOT NULL,
    shift       bigint NOT NULL,
    -- The node that moves its orders, until when nobody else does.
    held_by     text NOT NULL,
    held_until  timestamptz NOT NULL,
    PRIMARY KEY (window_no, begins_at)
);

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

-- A single row. Each change of a stop, an override or a window gives it the next revision, in the same transaction;
-- the active dispatcher writes which revision it goes by, and the number of its last hand-out before.
CREATE TABLE flow_rules (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision  bigint NOT NULL,
    known     bigint NOT NULL,
    epoch     bigint NOT NULL,
    serial    bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO flow_rules (revision, known, epoch, serial) VALUES (0, 0, 0, 0);

------------------------------------------------------------------------------------------------------------------
-- Bulk operations and audit
------------------------------------------------------------------------------------------------------------------

-- Bulk operations (REC-12): what an operator has done to many orders. A selection is a table of order numbers; each
-- activator takes some of them at a time under locks, acts, and notes the outcome.
CREATE TABLE operations (
    no                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The request that made it: the same request makes no second operation.
    key               text NOT NULL UNIQUE,
    action            text NOT NULL,
    -- Fields of the action, as JSON.
    fields            text NOT NULL,
    search            text NOT NULL,
    -- The operation whose failed orders are taken again, in place of a search.
    again             bigint,
    -- The record by which moved orders can be moved back, where the action is that.
    shift             bigint,
    reason            text NOT NULL,
    made_by           text NOT NULL,
    made_at           timestamptz NOT NULL DEFAULT now(),
    urgency           text NOT NULL CHECK (urgency IN ('high', 'normal', 'low')),
    rate              double precision CHECK (rate > 0),
    ramp              text,
    -- Until when orders that come to match are taken, too; null: the selection is frozen when it has been made.
    follow_until      timestamptz,
    state             text NOT NULL CHECK (state IN ('running', 'paused', 'done', 'aborted')),
    because           text,
    -- Position at which the selection goes on; null: it has been made.
    selection         text,
    looked            bigint NOT NULL DEFAULT 0,
    total             bigint NOT NULL DEFAULT 0,
    done              bigint NOT NULL DEFAULT 0,
    skipped           bigint NOT NULL DEFAULT 0,
    failed            bigint NOT NULL DEFAULT 0,
    succeeded         bigint NOT NULL DEFAULT 0,
    failed_again      bigint NOT NULL DEFAULT 0,
    failed_otherwise  bigint NOT NULL DEFAULT 0,
    left_alone        bigint NOT NULL DEFAULT 0,
    speed             double precision NOT NULL DEFAULT 0,
    allowance         double precision NOT NULL DEFAULT 1,
    allowed_at        timestamptz NOT NULL DEFAULT now(),
    acted_at          timestamptz,
    ended_at          timestamptz
) WITH (fillfactor = 50);

CREATE INDEX operations_live ON operations (no) WHERE state IN ('running', 'paused');
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE operation_orders (
    operation  bigint NOT NULL,
    order_no   bigint NOT NULL,
    -- Null: still to be acted on.
    outcome    text CHECK (outcome IN ('done', 'skipped', 'failed')),
    reason     text,
    -- The life that the action started or continued, the class of error before it, and how that life ended.
    life       integer,
    class      text,
    aftermath  text,
    PRIMARY KEY (operation, order_no)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX operation_orders_open ON operation_orders (operation, order_no) WHERE outcome IS NULL;
-- Orders whose end is awaited.
CREATE INDEX operation_orders_begun ON operation_orders (operation, order_no)
    WHERE life IS NOT NULL AND aftermath IS NULL;

-- Why orders were passed over or refused, each reason with its count and newest example.
CREATE TABLE operation_reasons (
    operation  bigint NOT NULL,
    outcome    text NOT NULL,
    reason     text NOT NULL,
    orders     bigint NOT NULL,
    example    bigint NOT NULL,
    PRIMARY KEY (operation, outcome, reason)
) WITH (fillfactor = 50);

-- Audit (ORD-24): what people and programs did from outside, written in the transaction of the action. What the engine
-- does by itself stands in the histories of orders only. Rows are never changed; old ones are removed.
CREATE TABLE audit (
    no       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    action   text NOT NULL,
    -- Kind and name of what it was done to: `order`, `flow`, `scenario`, …
    kind     text NOT NULL,
    subject  text NOT NULL,
    -- Who, by which door, and from where.
    door     text NOT NULL,
    name     text,
    origin   text,
    reason   text,
    -- More, as JSON.
    detail   text NOT NULL
);

-- Finds whole subjects, of any length.
CREATE INDEX audit_subject ON audit (hashtextextended(subject, 0), no);
CREATE INDEX audit_at ON audit (at);

------------------------------------------------------------------------------------------------------------------
-- Cluster
------------------------------------------------------------------------------------------------------------------

-- Nodes. An incarnation is one life of one process: a number from a sequence, because clocks and names both lie.
CREATE TABLE nodes (
    incarnation   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text NOT NULL,
    role          text NOT NULL CHECK (role IN ('intake', 'dispatcher', 'activator', 'worker', 'notifier')),
    address       text NOT NULL,
    version       text NOT NULL,
    concurrency   integer NOT NULL DEFAULT 0,
    status        text NOT NULL CHECK (status IN ('starting', 'active', 'standby', 'offline', 'stopping',
                      'stopped', 'lost')),
    started_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    status_since  timestamptz NOT NULL DEFAULT now(),
    CHECK ((status IN ('stopped', 'lost')) = (ended_at IS NOT NULL))
);

-- A name may stand for a node of each role, because one configuration serves all services. Within a role it stands
-- for one process.
CREATE UNIQUE INDEX nodes_live_name ON nodes (role, name) WHERE ended_at IS NULL;

-- The database keeps since when a node has its status, so that no statement forgets it.
CREATE FUNCTION note_status_of_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.status_since := clock_timestamp();
    RETURN NEW;
END $$;

CREATE TRIGGER note_status BEFORE UPDATE OF status ON nodes FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_status_of_node();

-- Beats stand apart from `nodes`: this row changes every few seconds, the other hardly ever.
CREATE TABLE heartbeats (
    incarnation   bigint PRIMARY KEY,
    at            timestamptz NOT NULL,
    -- Since when the node has beaten without a gap: only a node that has done so for long enough may say of others
    -- that they are silent. When nobody could reach the database, nobody is lost by that.
    steady_since  timestamptz NOT NULL DEFAULT now(),
    -- Work that the process has in hand, by its own word; 0 for a worker, because its stages stand in `running`.
    in_hand       integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Nodes that an operator took out of service. The mark belongs to role and name, and outlives the process.
CREATE TABLE node_marks (
    role     text NOT NULL CHECK (role IN ('intake', 'dispatcher', 'activator', 'worker', 'notifier')),
    name     text NOT NULL,
    reason   text NOT NULL,
    -- Who asked, as JSON.
    made_by  text NOT NULL,
    made_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (role, name)
);

CREATE TABLE leases (
    name    text PRIMARY KEY,
    holder  bigint NOT NULL,
    until   timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The epoch of a lease stands apart from its renewal: writers lock this row shared, and a take-over, which changes it,
-- waits for them.
CREATE TABLE epochs (
    name   text PRIMARY KEY,
    epoch  bigint NOT NULL
);

INSERT INTO epochs (name, epoch) VALUES ('dispatcher', 0);

------------------------------------------------------------------------------------------------------------------
-- Messages that cannot be handled
------------------------------------------------------------------------------------------------------------------

-- Refused messages (AMQP-1): taken out of their broker queue when somebody first asks for them, and kept until a person
-- sends them again or drops them.
CREATE TABLE refused (
    no          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Given at the refusal, so that a message that is delivered twice stands here once.
    id          uuid NOT NULL UNIQUE,
    reason      text NOT NULL,
    refused_at  text NOT NULL,
    -- Place where it had been published.
    exchange    text NOT NULL,
    key         text NOT NULL,
    -- Its properties, as JSON, and its body, byte for byte.
    properties  text NOT NULL,
    body        bytea NOT NULL,
    taken_at    timestamptz NOT NULL DEFAULT now()
);

-- Attempts at messages that the broker had handed out before, each written before it starts and taken back when it
-- ends (QLT-8). An attempt that nobody took back is of a process that died with the message in hand.
CREATE TABLE message_attempts (
    -- Digest of the message.
    message   bytea PRIMARY KEY,
    attempts  integer NOT NULL DEFAULT 1,
    at        timestamptz NOT NULL DEFAULT now()
);

------------------------------------------------------------------------------------------------------------------
-- Walks and stats
------------------------------------------------------------------------------------------------------------------

-- Walks over all orders by ascending number (REC-6, ORD-26), one row each: the node that holds it takes the next page.
-- Nobody takes one before its time, so that the rate is one for all activators.
CREATE TABLE walks (
    name      text PRIMARY KEY,
    after_no  bigint NOT NULL DEFAULT 0,
    -- The same for a walk that goes by names.
    after     text NOT NULL DEFAULT '',
    next_at   timestamptz NOT NULL DEFAULT now(),
    begun_at  timestamptz NOT NULL DEFAULT now(),
    -- Rounds that were ended, and when the last was.
    rounds    bigint NOT NULL DEFAULT 0,
    ended_at  timestamptz
) WITH (fillfactor = 50);

-- Orders whose rows contradict each other in a way that only a person can put right.
CREATE TABLE inconsistencies (
    order_no  bigint PRIMARY KEY,
    -- The names of what was found.
    findings  text[] NOT NULL,
    found_at  timestamptz NOT NULL DEFAULT now()
);

-- Counts of each minute, for charts: each node adds its own, and no row says which node it was. Charts, not accounts:
-- the orders themselves are what is counted on. The rows of the present minute are updated by every node again and
-- again, hence the room beside them.
CREATE TABLE stats (
    minute   timestamptz NOT NULL,
    -- A closed set of words of the program.
    what     text NOT NULL,
    -- A scenario, a status, a class of errors, a system: a bounded number for each node.
    key      text NOT NULL,
    count    bigint NOT NULL,
    -- Seconds, where what is counted takes time; the bounds of the buckets stand in the program.
    sum      double precision NOT NULL DEFAULT 0,
    buckets  bigint[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (what, minute, key)
) WITH (fillfactor = 70);

-- Retention removes the oldest minutes, whatever was counted in them.
CREATE INDEX stats_minute ON stats (minute);

-- The last turn that a node has added: one whose answer was lost is not added twice.
CREATE TABLE stats_turns (
    node  bigint PRIMARY KEY,
    turn  bigint NOT NULL,
    at    timestamptz NOT NULL
);
