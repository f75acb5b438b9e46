-- The schema after all migrations; made by tests/architecture, never edited. Why things are as they
-- are stands in the migrations. Of: V10__schedules.sql, V11__operations_as_actions.sql, V12__cancellations.sql, V13__intake_transport.sql, V14__tenants.sql, V15__keyed_shifts.sql, V16__notify_groups.sql, V17__keyed_operations.sql, V18__shifts_undone.sql, V19__forecasts.sql, V1__schema.sql, V2__process_timeout.sql, V3__decisions.sql, V4__answered.sql, V5__error_state.sql, V6__audit_chain.sql, V7__access.sql, V8__labels.sql, V9__subscriptions.sql (digest e4bc31d2275f6e61)

CREATE FUNCTION audit_forget(older interval, most bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    anchor   audit_anchor%ROWTYPE;

    last     audit_chain%ROWTYPE;

    ends_at  bigint;

    young    bigint;

    removed  bigint;

BEGIN
    IF older IS NULL OR older < interval '30 days' THEN
        RAISE EXCEPTION 'entries of the audit log are kept for 30 days at least'
            USING ERRCODE = 'invalid_parameter_value';

    END IF;

    SELECT * INTO STRICT anchor FROM audit_anchor FOR UPDATE;

    ends_at := anchor.position + least(greatest(coalesce(most, 0), 0), 10000);

    SELECT min(c.position) INTO young FROM audit_chain c JOIN audit a ON a.no = c.no
     WHERE c.position > anchor.position AND c.position <= ends_at AND a.at >= clock_timestamp() - older;

    SELECT c.* INTO last FROM audit_chain c JOIN audit a ON a.no = c.no
     WHERE c.position > anchor.position AND c.position <= ends_at AND (young IS NULL OR c.position < young)
     ORDER BY c.position DESC LIMIT 1;

    IF last.position IS NULL THEN
        RETURN 0;

    END IF;

    PERFORM set_config('pagurus.audit_forget', 'on', true);

    DELETE FROM audit a USING audit_chain c
     WHERE a.no = c.no AND c.position > anchor.position AND c.position <= last.position;

    GET DIAGNOSTICS removed = ROW_COUNT;

    DELETE FROM audit_chain WHERE position <= last.position;

    PERFORM set_config('pagurus.audit_forget', 'off', true);

    UPDATE audit_anchor
       SET position = last.position, no = last.no, series = last.series, xid = last.xid, hash = last.hash,
           entries = entries + removed, forgotten_at = clock_timestamp();

    RETURN last.position - anchor.position;

END $$;

CREATE FUNCTION audit_keep() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('pagurus.audit_forget', true) = 'on' THEN
        RETURN OLD;

    END IF;

    RAISE EXCEPTION 'rows of % are never changed; audit_forget() removes the oldest', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';

END $$;

CREATE FUNCTION keep_failures() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.status = 'fail' THEN
        INSERT INTO failures (order_no, at, scenario, class, step, system, state)
        VALUES (NEW.no, NEW.finished_at, NEW.scenario, NEW.error_class, NEW.step, NEW.error_system, NEW.error_state)
        ON CONFLICT (order_no) DO UPDATE
           SET at = excluded.at, scenario = excluded.scenario, class = excluded.class, step = excluded.step,
               system = excluded.system, state = excluded.state;

    ELSE
        DELETE FROM failures WHERE order_no = NEW.no;

    END IF;

    RETURN NULL;

END $$;

CREATE FUNCTION keep_promises() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION note_status_of_node() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.status_since := clock_timestamp();

    RETURN NEW;

END $$;

CREATE UNLOGGED TABLE asking (
    order_no bigint NOT NULL,
    attempt integer NOT NULL,
    node bigint NOT NULL,
    state text NOT NULL,
    action integer NOT NULL,
    kind text NOT NULL,
    name text,
    target text NOT NULL,
    tries integer NOT NULL,
    since timestamp with time zone NOT NULL
);

CREATE TABLE audit (
    no bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    action text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    door text NOT NULL,
    name text,
    origin text,
    reason text,
    detail text NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

CREATE TABLE audit_anchor (
    one boolean DEFAULT true NOT NULL,
    "position" bigint NOT NULL,
    no bigint NOT NULL,
    series integer NOT NULL,
    xid xid8 NOT NULL,
    hash bytea NOT NULL,
    entries bigint NOT NULL,
    forgotten_at timestamp with time zone,
    CONSTRAINT audit_anchor_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_anchor_one_check CHECK (one)
);

CREATE TABLE audit_chain (
    "position" bigint NOT NULL,
    no bigint NOT NULL,
    series integer NOT NULL,
    xid xid8 NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_chain_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_chain_position_check CHECK (("position" > 0))
);

CREATE TABLE audit_export (
    one boolean DEFAULT true NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    holder bigint,
    held_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT audit_export_one_check CHECK (one)
);

ALTER TABLE audit ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME audit_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE callbacks (
    no bigint NOT NULL,
    request_id uuid,
    named text NOT NULL,
    order_no bigint,
    verdict text NOT NULL,
    step_status text,
    headers text,
    body bytea NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT callbacks_verdict_check CHECK ((verdict = ANY (ARRAY['accepted'::text, 'duplicate'::text, 'late'::text, 'orphan'::text])))
);

ALTER TABLE callbacks ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME callbacks_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE calls (
    no bigint NOT NULL,
    order_no bigint NOT NULL,
    life integer NOT NULL,
    key text NOT NULL,
    name text NOT NULL,
    body text NOT NULL,
    status text DEFAULT 'waiting'::text NOT NULL,
    answer text,
    error_class text,
    error_message text,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    answered_at timestamp with time zone,
    CONSTRAINT calls_check CHECK (((status = 'waiting'::text) = (answered_at IS NULL))),
    CONSTRAINT calls_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'answered'::text, 'failed'::text])))
)
WITH (fillfactor='70');

ALTER TABLE calls ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME calls_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE cancellations (
    id uuid NOT NULL,
    request uuid NOT NULL,
    order_no bigint NOT NULL,
    life integer NOT NULL,
    name text NOT NULL,
    call text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    next_at timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    ended_at timestamp with time zone,
    last_error text,
    CONSTRAINT cancellations_check CHECK (((status = 'pending'::text) = (ended_at IS NULL))),
    CONSTRAINT cancellations_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'done'::text, 'failed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE children (
    order_no bigint NOT NULL,
    parent_no bigint NOT NULL,
    depth integer NOT NULL
);

CREATE TABLE contexts (
    order_no bigint NOT NULL,
    snapshot text NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE deadlines (
    order_no bigint NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone,
    seconds double precision,
    CONSTRAINT deadlines_kind_check CHECK ((kind = ANY (ARRAY['start'::text, 'process'::text]))),
    CONSTRAINT deadlines_time_or_length CHECK (((at IS NOT NULL) OR (seconds IS NOT NULL)))
);

CREATE TABLE decisions (
    kind text NOT NULL,
    name text NOT NULL,
    at timestamp with time zone NOT NULL,
    key text NOT NULL,
    state text NOT NULL,
    bound bigint,
    why text NOT NULL,
    made_by text,
    numbers text NOT NULL,
    left_out bigint NOT NULL,
    CONSTRAINT decisions_kind_check CHECK ((kind = ANY (ARRAY['flow'::text, 'system'::text])))
);

CREATE TABLE dependencies (
    order_no bigint NOT NULL,
    before_id text NOT NULL,
    states text NOT NULL,
    otherwise text NOT NULL,
    reactive boolean NOT NULL,
    stand text NOT NULL,
    settled_at timestamp with time zone,
    CONSTRAINT dependencies_otherwise_check CHECK ((otherwise = ANY (ARRAY['wait'::text, 'fail'::text, 'cancel'::text]))),
    CONSTRAINT dependencies_stand_check CHECK ((stand = ANY (ARRAY['unknown'::text, 'found'::text, 'open'::text, 'met'::text, 'missed'::text, 'closed'::text])))
);

CREATE TABLE due (
    order_no bigint NOT NULL,
    stream smallint NOT NULL,
    due_at timestamp with time zone,
    CONSTRAINT due_timeless CHECK (((due_at IS NULL) = (stream = 7)))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');

CREATE TABLE epochs (
    name text NOT NULL,
    epoch bigint NOT NULL
);

CREATE TABLE failures (
    order_no bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    scenario integer NOT NULL,
    class text,
    step text,
    system text,
    state text
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE flow_rules (
    one boolean DEFAULT true NOT NULL,
    revision bigint NOT NULL,
    known bigint NOT NULL,
    epoch bigint NOT NULL,
    serial bigint NOT NULL,
    CONSTRAINT flow_rules_one_check CHECK (one)
)
WITH (fillfactor='50');

CREATE TABLE flow_states (
    flow text NOT NULL,
    state text NOT NULL,
    ready bigint NOT NULL,
    record text NOT NULL,
    written_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE flow_stops (
    no bigint NOT NULL,
    keyword text NOT NULL,
    from_at timestamp with time zone NOT NULL,
    until_at timestamp with time zone,
    reason text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    lifted_at timestamp with time zone,
    lifted_by text,
    lift_reason text,
    key text DEFAULT (gen_random_uuid())::text NOT NULL,
    shift bigint,
    shift_held_by text,
    shift_held_until timestamp with time zone,
    CONSTRAINT flow_stops_check CHECK ((until_at > from_at)),
    CONSTRAINT flow_stops_check1 CHECK (((lifted_at IS NULL) = (lifted_by IS NULL))),
    CONSTRAINT flow_stops_check2 CHECK (((shift_held_by IS NULL) = (shift_held_until IS NULL)))
);

ALTER TABLE flow_stops ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME flow_stops_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE forecasts (
    no bigint NOT NULL,
    order_no bigint NOT NULL,
    attempt integer NOT NULL,
    p90 timestamp with time zone NOT NULL,
    held boolean
);

ALTER TABLE forecasts ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME forecasts_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE heartbeats (
    incarnation bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    steady_since timestamp with time zone DEFAULT now() NOT NULL,
    in_hand integer DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE history (
    order_no bigint NOT NULL,
    number integer NOT NULL,
    life integer NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    source text NOT NULL,
    detail text NOT NULL
);

CREATE TABLE inconsistencies (
    order_no bigint NOT NULL,
    findings text[] NOT NULL,
    found_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE leases (
    name text NOT NULL,
    holder bigint NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE maintenance_windows (
    no bigint NOT NULL,
    key text NOT NULL,
    flow text,
    system text,
    calendar text NOT NULL,
    ends_at timestamp with time zone,
    void_until timestamp with time zone,
    shifts boolean NOT NULL,
    reason text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    removed_at timestamp with time zone,
    removed_by text,
    remove_reason text,
    CONSTRAINT maintenance_windows_check CHECK (((flow IS NULL) <> (system IS NULL))),
    CONSTRAINT maintenance_windows_check1 CHECK (((flow IS NOT NULL) OR (NOT shifts))),
    CONSTRAINT maintenance_windows_check2 CHECK (((removed_at IS NULL) = (removed_by IS NULL)))
);

ALTER TABLE maintenance_windows ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME maintenance_windows_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE message_attempts (
    message bytea NOT NULL,
    attempts integer DEFAULT 1 NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE node_marks (
    role text NOT NULL,
    name text NOT NULL,
    reason text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT node_marks_role_check CHECK ((role = ANY (ARRAY['intake'::text, 'dispatcher'::text, 'activator'::text, 'worker'::text, 'notifier'::text])))
);

CREATE TABLE nodes (
    incarnation bigint NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    address text NOT NULL,
    version text NOT NULL,
    concurrency integer DEFAULT 0 NOT NULL,
    status text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    status_since timestamp with time zone DEFAULT now() NOT NULL,
    transport text,
    CONSTRAINT nodes_check CHECK (((status = ANY (ARRAY['stopped'::text, 'lost'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT nodes_role_check CHECK ((role = ANY (ARRAY['intake'::text, 'dispatcher'::text, 'activator'::text, 'worker'::text, 'notifier'::text]))),
    CONSTRAINT nodes_status_check CHECK ((status = ANY (ARRAY['starting'::text, 'active'::text, 'standby'::text, 'offline'::text, 'stopping'::text, 'stopped'::text, 'lost'::text]))),
    CONSTRAINT nodes_transport_check CHECK ((transport = ANY (ARRAY['both'::text, 'http'::text, 'amqp'::text])))
);

ALTER TABLE nodes ALTER COLUMN incarnation ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME nodes_incarnation_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE operation_orders (
    operation bigint NOT NULL,
    order_no bigint NOT NULL,
    outcome text,
    reason text,
    life integer,
    class text,
    aftermath text,
    CONSTRAINT operation_orders_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'skipped'::text, 'failed'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE operation_reasons (
    operation bigint NOT NULL,
    outcome text NOT NULL,
    reason text NOT NULL,
    orders bigint NOT NULL,
    example bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE operations (
    no bigint NOT NULL,
    key text NOT NULL,
    action text NOT NULL,
    fields text NOT NULL,
    search text NOT NULL,
    again bigint,
    shift bigint,
    reason text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    urgency text NOT NULL,
    rate double precision,
    ramp text,
    follow_until timestamp with time zone,
    state text NOT NULL,
    because text,
    selection text,
    looked bigint DEFAULT 0 NOT NULL,
    total bigint DEFAULT 0 NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    succeeded bigint DEFAULT 0 NOT NULL,
    failed_again bigint DEFAULT 0 NOT NULL,
    failed_otherwise bigint DEFAULT 0 NOT NULL,
    left_alone bigint DEFAULT 0 NOT NULL,
    speed double precision DEFAULT 0 NOT NULL,
    allowance double precision DEFAULT 1 NOT NULL,
    allowed_at timestamp with time zone DEFAULT now() NOT NULL,
    acted_at timestamp with time zone,
    ended_at timestamp with time zone,
    tenants text[],
    asked text,
    CONSTRAINT operations_rate_check CHECK ((rate > (0)::double precision)),
    CONSTRAINT operations_state_check CHECK ((state = ANY (ARRAY['running'::text, 'paused'::text, 'done'::text, 'aborted'::text]))),
    CONSTRAINT operations_urgency_check CHECK ((urgency = ANY (ARRAY['high'::text, 'normal'::text, 'low'::text])))
)
WITH (fillfactor='50');

ALTER TABLE operations ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME operations_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE order_labels (
    order_no bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL
);

CREATE TABLE orders (
    no bigint NOT NULL,
    id text NOT NULL,
    digest bytea NOT NULL,
    scenario integer NOT NULL,
    mode text NOT NULL,
    queue text,
    priority text NOT NULL,
    flow text NOT NULL,
    transaction_id text,
    notify text,
    trace text,
    start_at timestamp with time zone,
    start_deadline timestamp with time zone,
    start_period bigint,
    created_at timestamp with time zone NOT NULL,
    status text NOT NULL,
    scenario_status text DEFAULT 'undefined'::text NOT NULL,
    step text,
    entry_point text,
    life integer DEFAULT 1 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    events integer DEFAULT 1 NOT NULL,
    visited integer DEFAULT 0 NOT NULL,
    distance integer,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    result text,
    message text,
    error_class text,
    error_message text,
    awaited boolean DEFAULT false NOT NULL,
    error_system text,
    stages integer DEFAULT 0 NOT NULL,
    retries integer DEFAULT 0 NOT NULL,
    answers uuid,
    promise_at timestamp with time zone,
    error_state text,
    labels jsonb,
    CONSTRAINT orders_check CHECK (((mode = 'sequential'::text) = (queue IS NOT NULL))),
    CONSTRAINT orders_check1 CHECK (((status = ANY (ARRAY['success'::text, 'fail'::text, 'interrupted'::text, 'canceled'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT orders_mode_check CHECK ((mode = ANY (ARRAY['parallel'::text, 'sequential'::text]))),
    CONSTRAINT orders_priority_check CHECK ((priority = ANY (ARRAY['high'::text, 'normal'::text, 'low'::text]))),
    CONSTRAINT orders_scenario_status_check CHECK ((scenario_status = ANY (ARRAY['undefined'::text, 'on_target'::text, 'off_target'::text, 'target'::text, 'failed'::text]))),
    CONSTRAINT orders_status_check CHECK ((status = ANY (ARRAY['new'::text, 'postponed'::text, 'running'::text, 'sleep'::text, 'wait'::text, 'polling'::text, 'retry'::text, 'reopen'::text, 'success'::text, 'fail'::text, 'interrupted'::text, 'canceled'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02', fillfactor='45');

ALTER TABLE orders ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME orders_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE outbox (
    order_no bigint NOT NULL,
    life integer NOT NULL,
    kind text NOT NULL,
    message_id uuid NOT NULL,
    target text NOT NULL,
    correlation_id text,
    transaction_id text,
    trace text,
    body text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    next_at timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    parked_because text,
    last_error text,
    receiver text,
    format text,
    number bigint,
    again_since timestamp with time zone,
    subscription bigint,
    group_max smallint,
    group_within_ms smallint
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');

CREATE SEQUENCE outbox_number
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE outbox_number OWNED BY outbox.number;

CREATE TABLE payloads (
    order_no bigint NOT NULL,
    params text NOT NULL
);

CREATE TABLE promises (
    order_no bigint NOT NULL,
    promise_at timestamp with time zone NOT NULL,
    look_at timestamp with time zone NOT NULL,
    marked_at timestamp with time zone,
    expected_at timestamp with time zone,
    cause text,
    ended boolean DEFAULT false NOT NULL,
    CONSTRAINT promises_check CHECK ((((marked_at IS NULL) = (expected_at IS NULL)) AND ((marked_at IS NULL) = (cause IS NULL))))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');

CREATE TABLE queued (
    order_no bigint NOT NULL,
    queue text NOT NULL,
    "position" bigint NOT NULL,
    held_since timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');

CREATE TABLE queues (
    name text NOT NULL,
    last_position bigint NOT NULL,
    taken bigint NOT NULL,
    head bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE ready (
    order_no bigint NOT NULL,
    pass uuid NOT NULL,
    attempt integer NOT NULL,
    wake text NOT NULL,
    flow text NOT NULL,
    priority text NOT NULL,
    queue text,
    "position" bigint,
    restarts smallint DEFAULT 0 NOT NULL,
    reissued boolean DEFAULT false NOT NULL,
    since timestamp with time zone NOT NULL,
    stream smallint,
    repeat_at timestamp with time zone,
    woken boolean DEFAULT false NOT NULL,
    CONSTRAINT ready_check CHECK (((queue IS NULL) = ("position" IS NULL)))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');

CREATE TABLE refused (
    no bigint NOT NULL,
    id uuid NOT NULL,
    reason text NOT NULL,
    refused_at text NOT NULL,
    exchange text NOT NULL,
    key text NOT NULL,
    properties text NOT NULL,
    body bytea NOT NULL,
    taken_at timestamp with time zone DEFAULT now() NOT NULL,
    answered boolean DEFAULT false NOT NULL
);

ALTER TABLE refused ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME refused_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE remaining_times (
    scenario text NOT NULL,
    record text NOT NULL,
    learnt_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE replays (
    no bigint NOT NULL,
    subscription bigint NOT NULL,
    ended_from timestamp with time zone NOT NULL,
    ended_until timestamp with time zone NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    last bigint,
    barrier xid8,
    looked_at bigint DEFAULT 0 NOT NULL,
    stored bigint DEFAULT 0 NOT NULL,
    reason text,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    done_at timestamp with time zone
);

ALTER TABLE replays ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME replays_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE requests (
    id uuid NOT NULL,
    order_no bigint NOT NULL,
    life integer NOT NULL,
    visit integer NOT NULL,
    action integer NOT NULL,
    name text NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    awaited boolean DEFAULT false NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    hand_out integer DEFAULT 0 NOT NULL,
    work_seconds double precision,
    accept_first boolean DEFAULT false NOT NULL,
    task_ends_at timestamp with time zone,
    force_finish boolean DEFAULT false NOT NULL,
    wait_ends_at timestamp with time zone,
    system text,
    cancel text,
    CONSTRAINT requests_check CHECK (((status = 'open'::text) = (closed_at IS NULL))),
    CONSTRAINT requests_status_check CHECK ((status = ANY (ARRAY['open'::text, 'answered'::text, 'timeout'::text, 'canceled'::text])))
)
WITH (fillfactor='70');

CREATE TABLE running (
    order_no bigint NOT NULL,
    pass uuid NOT NULL,
    attempt integer NOT NULL,
    wake text NOT NULL,
    restarts smallint NOT NULL,
    queue text,
    node bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    started_at timestamp with time zone NOT NULL,
    deadline_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');

CREATE TABLE scenario_operations (
    scenario integer NOT NULL,
    name text NOT NULL,
    wanted integer NOT NULL,
    operation integer NOT NULL
);

CREATE TABLE scenarios (
    no integer NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    source text NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE scenarios ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME scenarios_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE schedule_runs (
    schedule text NOT NULL COLLATE pg_catalog."C",
    due_at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    order_id text,
    reason text,
    missed integer,
    missed_from timestamp with time zone,
    decided_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE schedules (
    name text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL,
    template text NOT NULL,
    note text NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    pause_reason text,
    decided_until timestamp with time zone NOT NULL,
    next_at timestamp with time zone,
    queued integer DEFAULT 0 NOT NULL,
    registered bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL,
    missed bigint DEFAULT 0 NOT NULL,
    refused bigint DEFAULT 0 NOT NULL,
    refused_in_row integer DEFAULT 0 NOT NULL,
    problem text,
    problem_at timestamp with time zone,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT schedules_check CHECK (((paused_at IS NULL) = (paused_by IS NULL)))
);

CREATE TABLE search_values (
    order_no bigint NOT NULL,
    name text NOT NULL,
    value text NOT NULL
);

CREATE TABLE searches (
    name text NOT NULL,
    search text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE sessions (
    id text NOT NULL,
    digest bytea NOT NULL,
    method text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    login text NOT NULL,
    role text NOT NULL,
    groups text[] NOT NULL,
    provider_session text,
    origin text,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    checked_at timestamp with time zone DEFAULT now() NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    CONSTRAINT sessions_method_check CHECK ((method = ANY (ARRAY['local'::text, 'ldap'::text, 'oidc'::text]))),
    CONSTRAINT sessions_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text])))
);

CREATE TABLE shifted (
    shift bigint NOT NULL,
    order_no bigint NOT NULL,
    due_at timestamp with time zone NOT NULL
);

CREATE TABLE shifts (
    no bigint NOT NULL,
    keyword text NOT NULL,
    seconds double precision NOT NULL,
    from_at timestamp with time zone NOT NULL,
    until_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    undone_at timestamp with time zone,
    key text,
    asked text,
    moved_at timestamp with time zone,
    undoing_at timestamp with time zone,
    CONSTRAINT shifts_seconds_check CHECK ((seconds > (0)::double precision))
);

ALTER TABLE shifts ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME shifts_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE stats (
    minute timestamp with time zone NOT NULL,
    what text NOT NULL,
    key text NOT NULL,
    count bigint NOT NULL,
    sum double precision DEFAULT 0 NOT NULL,
    buckets bigint[] DEFAULT '{}'::bigint[] NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE stats_turns (
    node bigint NOT NULL,
    turn bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

CREATE TABLE subscription_rules (
    one boolean DEFAULT true NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT subscription_rules_one_check CHECK (one)
)
WITH (fillfactor='50');

CREATE TABLE subscriptions (
    no bigint NOT NULL,
    name text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    url text NOT NULL,
    format text NOT NULL,
    secret text,
    occasions text[] NOT NULL,
    scenarios text[] NOT NULL,
    labels jsonb NOT NULL,
    outcomes text[] NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    paused_because text,
    removed_at timestamp with time zone,
    CONSTRAINT subscriptions_check CHECK (((paused_at IS NULL) = (paused_because IS NULL)))
);

ALTER TABLE subscriptions ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME subscriptions_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE suspects (
    order_no bigint NOT NULL,
    attempt integer NOT NULL,
    deaths smallint DEFAULT 0 NOT NULL,
    died_on text,
    is_computed boolean NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE suspensions (
    order_no bigint NOT NULL,
    attempt integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');

CREATE TABLE system_overrides (
    system text NOT NULL,
    what text NOT NULL,
    from_at timestamp with time zone NOT NULL,
    until_at timestamp with time zone,
    reason text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT system_overrides_check CHECK ((until_at > from_at)),
    CONSTRAINT system_overrides_what_check CHECK ((what = ANY (ARRAY['keep_stopped'::text, 'force_open'::text])))
);

CREATE TABLE system_states (
    system text NOT NULL,
    state text NOT NULL,
    record text NOT NULL,
    written_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE tokens (
    id text NOT NULL,
    digest bytea NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    made_by text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    ends_at timestamp with time zone,
    used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    tenants text[],
    CONSTRAINT tokens_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text, 'client'::text, 'system'::text])))
);

CREATE TABLE walks (
    name text NOT NULL,
    after_no bigint DEFAULT 0 NOT NULL,
    after text DEFAULT ''::text NOT NULL,
    next_at timestamp with time zone DEFAULT now() NOT NULL,
    begun_at timestamp with time zone DEFAULT now() NOT NULL,
    rounds bigint DEFAULT 0 NOT NULL,
    ended_at timestamp with time zone
)
WITH (fillfactor='50');

CREATE TABLE window_shifts (
    window_no bigint NOT NULL,
    begins_at timestamp with time zone NOT NULL,
    shift bigint NOT NULL,
    held_by text NOT NULL,
    held_until timestamp with time zone NOT NULL
);

ALTER TABLE ONLY asking
    ADD CONSTRAINT asking_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY audit_anchor
    ADD CONSTRAINT audit_anchor_pkey PRIMARY KEY (one);

ALTER TABLE ONLY audit_chain
    ADD CONSTRAINT audit_chain_no_key UNIQUE (no);

ALTER TABLE ONLY audit_chain
    ADD CONSTRAINT audit_chain_pkey PRIMARY KEY ("position");

ALTER TABLE ONLY audit_export
    ADD CONSTRAINT audit_export_pkey PRIMARY KEY (one);

ALTER TABLE ONLY audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (no);

ALTER TABLE ONLY callbacks
    ADD CONSTRAINT callbacks_pkey PRIMARY KEY (no);

ALTER TABLE ONLY calls
    ADD CONSTRAINT calls_order_no_key_key UNIQUE (order_no, key);

ALTER TABLE ONLY calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (no);

ALTER TABLE ONLY cancellations
    ADD CONSTRAINT cancellations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY children
    ADD CONSTRAINT children_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY contexts
    ADD CONSTRAINT contexts_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY deadlines
    ADD CONSTRAINT deadlines_pkey PRIMARY KEY (order_no, kind);

ALTER TABLE ONLY decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (kind, name, at, key);

ALTER TABLE ONLY dependencies
    ADD CONSTRAINT dependencies_pkey PRIMARY KEY (order_no, before_id);

ALTER TABLE ONLY due
    ADD CONSTRAINT due_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY epochs
    ADD CONSTRAINT epochs_pkey PRIMARY KEY (name);

ALTER TABLE ONLY failures
    ADD CONSTRAINT failures_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY flow_rules
    ADD CONSTRAINT flow_rules_pkey PRIMARY KEY (one);

ALTER TABLE ONLY flow_states
    ADD CONSTRAINT flow_states_pkey PRIMARY KEY (flow);

ALTER TABLE ONLY flow_stops
    ADD CONSTRAINT flow_stops_key_key UNIQUE (key);

ALTER TABLE ONLY flow_stops
    ADD CONSTRAINT flow_stops_pkey PRIMARY KEY (no);

ALTER TABLE ONLY forecasts
    ADD CONSTRAINT forecasts_order_no_attempt_key UNIQUE (order_no, attempt);

ALTER TABLE ONLY forecasts
    ADD CONSTRAINT forecasts_pkey PRIMARY KEY (no);

ALTER TABLE ONLY heartbeats
    ADD CONSTRAINT heartbeats_pkey PRIMARY KEY (incarnation);

ALTER TABLE ONLY history
    ADD CONSTRAINT history_pkey PRIMARY KEY (order_no, number);

ALTER TABLE ONLY inconsistencies
    ADD CONSTRAINT inconsistencies_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY maintenance_windows
    ADD CONSTRAINT maintenance_windows_key_key UNIQUE (key);

ALTER TABLE ONLY maintenance_windows
    ADD CONSTRAINT maintenance_windows_pkey PRIMARY KEY (no);

ALTER TABLE ONLY message_attempts
    ADD CONSTRAINT message_attempts_pkey PRIMARY KEY (message);

ALTER TABLE ONLY node_marks
    ADD CONSTRAINT node_marks_pkey PRIMARY KEY (role, name);

ALTER TABLE ONLY nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (incarnation);

ALTER TABLE ONLY operation_orders
    ADD CONSTRAINT operation_orders_pkey PRIMARY KEY (operation, order_no);

ALTER TABLE ONLY operation_reasons
    ADD CONSTRAINT operation_reasons_pkey PRIMARY KEY (operation, outcome, reason);

ALTER TABLE ONLY operations
    ADD CONSTRAINT operations_key_key UNIQUE (key);

ALTER TABLE ONLY operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (no);

ALTER TABLE ONLY order_labels
    ADD CONSTRAINT order_labels_pkey PRIMARY KEY (order_no, key);

ALTER TABLE ONLY orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (no);

ALTER TABLE ONLY outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (order_no, life, kind);

ALTER TABLE ONLY payloads
    ADD CONSTRAINT payloads_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY promises
    ADD CONSTRAINT promises_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY queued
    ADD CONSTRAINT queued_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY queued
    ADD CONSTRAINT queued_queue_position_key UNIQUE (queue, "position");

ALTER TABLE ONLY queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);

ALTER TABLE ONLY ready
    ADD CONSTRAINT ready_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY refused
    ADD CONSTRAINT refused_id_key UNIQUE (id);

ALTER TABLE ONLY refused
    ADD CONSTRAINT refused_pkey PRIMARY KEY (no);

ALTER TABLE ONLY remaining_times
    ADD CONSTRAINT remaining_times_pkey PRIMARY KEY (scenario);

ALTER TABLE ONLY replays
    ADD CONSTRAINT replays_pkey PRIMARY KEY (no);

ALTER TABLE ONLY requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (id);

ALTER TABLE ONLY requests
    ADD CONSTRAINT requests_place UNIQUE (order_no, life, visit, action, hand_out);

ALTER TABLE ONLY running
    ADD CONSTRAINT running_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY scenario_operations
    ADD CONSTRAINT scenario_operations_pkey PRIMARY KEY (scenario, name, wanted);

ALTER TABLE ONLY scenarios
    ADD CONSTRAINT scenarios_name_version_key UNIQUE (name, version);

ALTER TABLE ONLY scenarios
    ADD CONSTRAINT scenarios_pkey PRIMARY KEY (no);

ALTER TABLE ONLY schedule_runs
    ADD CONSTRAINT schedule_runs_pkey PRIMARY KEY (schedule, due_at);

ALTER TABLE ONLY schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (name);

ALTER TABLE ONLY search_values
    ADD CONSTRAINT search_values_pkey PRIMARY KEY (order_no, name, value);

ALTER TABLE ONLY searches
    ADD CONSTRAINT searches_pkey PRIMARY KEY (name);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_digest_key UNIQUE (digest);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shifted
    ADD CONSTRAINT shifted_pkey PRIMARY KEY (shift, order_no);

ALTER TABLE ONLY shifts
    ADD CONSTRAINT shifts_key_key UNIQUE (key);

ALTER TABLE ONLY shifts
    ADD CONSTRAINT shifts_pkey PRIMARY KEY (no);

ALTER TABLE ONLY stats
    ADD CONSTRAINT stats_pkey PRIMARY KEY (what, minute, key);

ALTER TABLE ONLY stats_turns
    ADD CONSTRAINT stats_turns_pkey PRIMARY KEY (node);

ALTER TABLE ONLY subscription_rules
    ADD CONSTRAINT subscription_rules_pkey PRIMARY KEY (one);

ALTER TABLE ONLY subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (no);

ALTER TABLE ONLY suspects
    ADD CONSTRAINT suspects_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY suspensions
    ADD CONSTRAINT suspensions_pkey PRIMARY KEY (order_no);

ALTER TABLE ONLY system_overrides
    ADD CONSTRAINT system_overrides_pkey PRIMARY KEY (system);

ALTER TABLE ONLY system_states
    ADD CONSTRAINT system_states_pkey PRIMARY KEY (system);

ALTER TABLE ONLY tokens
    ADD CONSTRAINT tokens_digest_key UNIQUE (digest);

ALTER TABLE ONLY tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY walks
    ADD CONSTRAINT walks_pkey PRIMARY KEY (name);

ALTER TABLE ONLY window_shifts
    ADD CONSTRAINT window_shifts_pkey PRIMARY KEY (window_no, begins_at);

CREATE INDEX asking_node ON asking USING btree (node);

CREATE INDEX audit_at ON audit USING btree (at);

CREATE INDEX audit_order ON audit USING btree (xid, no);

CREATE INDEX audit_subject ON audit USING btree (hashtextextended(subject, (0)::bigint), no);

CREATE INDEX callbacks_in_vain ON callbacks USING btree (verdict, no) WHERE (verdict <> 'accepted'::text);

CREATE INDEX callbacks_request ON callbacks USING btree (request_id) WHERE (request_id IS NOT NULL);

CREATE INDEX calls_waiting ON calls USING btree (order_no, no) WHERE (status = 'waiting'::text);

CREATE INDEX cancellations_next ON cancellations USING btree (next_at) WHERE (status = 'pending'::text);

CREATE INDEX cancellations_order ON cancellations USING btree (order_no, request);

CREATE INDEX children_parent ON children USING btree (parent_no);

CREATE INDEX deadlines_at ON deadlines USING btree (at);

CREATE INDEX decisions_at ON decisions USING btree (at);

CREATE INDEX dependencies_before ON dependencies USING btree (before_id);

CREATE INDEX dependencies_live ON dependencies USING btree (reactive, order_no, before_id) WHERE ((stand = ANY (ARRAY['unknown'::text, 'found'::text, 'open'::text])) OR ((stand = 'missed'::text) AND (otherwise = 'wait'::text)));

CREATE INDEX dependencies_urgent ON dependencies USING btree (order_no) WHERE ((stand = 'found'::text) OR ((stand = 'missed'::text) AND (otherwise <> 'wait'::text)));

CREATE INDEX due_stream ON due USING btree (stream, due_at);

CREATE INDEX failures_at ON failures USING btree (at);

CREATE INDEX flow_states_written ON flow_states USING btree (written_at);

CREATE INDEX flow_stops_held ON flow_stops USING btree (no) WHERE (lifted_at IS NULL);

CREATE INDEX forecasts_open ON forecasts USING btree (p90) WHERE (held IS NULL);

CREATE INDEX maintenance_windows_held ON maintenance_windows USING btree (no) WHERE (removed_at IS NULL);

CREATE UNIQUE INDEX nodes_live_name ON nodes USING btree (role, name) WHERE (ended_at IS NULL);

CREATE INDEX operation_orders_begun ON operation_orders USING btree (operation, order_no) WHERE ((life IS NOT NULL) AND (aftermath IS NULL));

CREATE INDEX operation_orders_open ON operation_orders USING btree (operation, order_no) WHERE (outcome IS NULL);

CREATE INDEX operations_ended ON operations USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX operations_live ON operations USING btree (no) WHERE (state = ANY (ARRAY['running'::text, 'paused'::text]));

CREATE INDEX order_labels_value ON order_labels USING btree (key, value, order_no);

CREATE UNIQUE INDEX orders_id ON orders USING btree (id text_pattern_ops);

CREATE INDEX orders_transaction_hash ON orders USING btree (hashtextextended(transaction_id, (0)::bigint), no) WHERE (transaction_id IS NOT NULL);

CREATE INDEX outbox_next ON outbox USING btree (next_at) WHERE ((parked_because IS NULL) AND (receiver IS NULL));

CREATE INDEX outbox_parked ON outbox USING btree (order_no, life, kind) WHERE (parked_because IS NOT NULL);

CREATE INDEX outbox_receivers ON outbox USING btree (receiver, next_at) WHERE ((parked_because IS NULL) AND (receiver IS NOT NULL));

CREATE INDEX outbox_subscription ON outbox USING btree (subscription) WHERE (subscription IS NOT NULL);

CREATE INDEX promises_jeopardy ON promises USING btree (order_no) WHERE ((marked_at IS NOT NULL) AND (NOT ended));

CREATE INDEX promises_look ON promises USING btree (look_at);

CREATE INDEX ready_repeat ON ready USING btree (repeat_at) WHERE (repeat_at IS NOT NULL);

CREATE INDEX refused_open ON refused USING btree (no) WHERE (NOT answered);

CREATE INDEX replays_of ON replays USING btree (subscription, no);

CREATE INDEX replays_open ON replays USING btree (no) WHERE (done_at IS NULL);

CREATE INDEX running_deadline ON running USING btree (deadline_at);

CREATE UNIQUE INDEX running_queue ON running USING btree (queue) WHERE (queue IS NOT NULL);

CREATE INDEX scenario_operations_name ON scenario_operations USING btree (name);

CREATE INDEX schedule_runs_queued ON schedule_runs USING btree (schedule, due_at) WHERE (outcome = 'queued'::text);

CREATE INDEX schedules_due ON schedules USING btree (next_at) WHERE ((paused_at IS NULL) AND (next_at IS NOT NULL));

CREATE INDEX schedules_queued ON schedules USING btree (name) WHERE ((paused_at IS NULL) AND (queued > 0));

CREATE INDEX search_values_value ON search_values USING btree (name, value, order_no);

CREATE INDEX sessions_ends ON sessions USING btree (ends_at);

CREATE INDEX sessions_subject ON sessions USING btree (subject);

CREATE INDEX stats_minute ON stats USING btree (minute);

CREATE UNIQUE INDEX subscriptions_name ON subscriptions USING btree (name) WHERE (removed_at IS NULL);

CREATE INDEX suspensions_at ON suspensions USING btree (at);

CREATE INDEX system_states_written ON system_states USING btree (written_at);

CREATE TRIGGER audit_keep BEFORE DELETE OR UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keep();

CREATE TRIGGER audit_keep BEFORE DELETE OR UPDATE ON audit_chain FOR EACH ROW EXECUTE FUNCTION audit_keep();

CREATE TRIGGER audit_keep_all BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_keep();

CREATE TRIGGER audit_keep_all BEFORE TRUNCATE ON audit_chain FOR EACH STATEMENT EXECUTE FUNCTION audit_keep();

CREATE TRIGGER note_status BEFORE UPDATE OF status ON nodes FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status)) EXECUTE FUNCTION note_status_of_node();

CREATE TRIGGER orders_failures AFTER UPDATE ON orders FOR EACH ROW WHEN (((old.status <> new.status) AND (('fail'::text = old.status) OR ('fail'::text = new.status)))) EXECUTE FUNCTION keep_failures();

CREATE TRIGGER orders_promised AFTER INSERT ON orders FOR EACH ROW WHEN ((new.promise_at IS NOT NULL)) EXECUTE FUNCTION keep_promises();

CREATE TRIGGER orders_promises AFTER UPDATE ON orders FOR EACH ROW WHEN (((new.promise_at IS NOT NULL) AND ((old.finished_at IS NULL) <> (new.finished_at IS NULL)))) EXECUTE FUNCTION keep_promises();

ALTER TABLE ONLY replays
    ADD CONSTRAINT replays_subscription_fkey FOREIGN KEY (subscription) REFERENCES subscriptions(no) ON DELETE CASCADE;
