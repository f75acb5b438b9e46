-- Roles of the database, and what each may do. Made by tests/store from the statements of shared/store; never edited.
--
-- `pagurus migrate --roles` applies it, or psql: `psql --single-transaction --set ON_ERROR_STOP=1 --file roles.sql`. It may be run
-- at any time again. The first time it needs a superuser, or who may make roles and is the owner of the tables. No role has a
-- password: set one (`\password pagurus_worker`), or log in by certificate. What they are for: docs/guides/database-roles.md.

DO $$
DECLARE
    services CONSTANT text[] := ARRAY['pagurus_intake', 'pagurus_dispatcher', 'pagurus_activator', 'pagurus_worker', 'pagurus_notifier'];
    watching CONSTANT text[] := ARRAY['pagurus_activator', 'pagurus_intake'];
    tables CONSTANT text[] := ARRAY['asking', 'audit', 'audit_anchor', 'audit_chain', 'audit_export', 'callbacks', 'calls', 'cancellations', 'children', 'contexts', 'deadlines', 'decisions', 'dependencies', 'due', 'epochs', 'failures', 'flow_rules', 'flow_states', 'flow_stops', 'forecasts', 'heartbeats', 'history', 'inconsistencies', 'leases', 'maintenance_windows', 'message_attempts', 'node_marks', 'nodes', 'operation_orders', 'operation_reasons', 'operations', 'order_labels', 'orders', 'outbox', 'payloads', 'promises', 'queued', 'queues', 'ready', 'refinery_schema_history', 'refused', 'remaining_times', 'replays', 'requests', 'running', 'scenario_operations', 'scenarios', 'schedule_runs', 'schedules', 'search_values', 'searches', 'sessions', 'shifted', 'shifts', 'stats', 'stats_turns', 'subscription_rules', 'subscriptions', 'suspects', 'suspensions', 'system_overrides', 'system_states', 'tokens', 'walks', 'window_shifts'];
    sequences CONSTANT text[] := ARRAY['audit_no_seq', 'callbacks_no_seq', 'calls_no_seq', 'flow_stops_no_seq', 'forecasts_no_seq', 'maintenance_windows_no_seq', 'nodes_incarnation_seq', 'operations_no_seq', 'orders_no_seq', 'outbox_number', 'refused_no_seq', 'replays_no_seq', 'scenarios_no_seq', 'shifts_no_seq', 'subscriptions_no_seq'];
    functions CONSTANT text[] := ARRAY['audit_forget(interval,bigint)', 'audit_keep()', 'keep_failures()', 'keep_promises()', 'note_status_of_node()'];
    everybody text;
    one text;
    former oid;
BEGIN
    -- The roles. `pagurus_engine` is all services at once, for a process that runs more than one.
    FOREACH one IN ARRAY services || ARRAY['pagurus_owner', 'pagurus_engine'] LOOP
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = one AND (rolsuper OR rolcreaterole OR rolbypassrls)) THEN
            RAISE EXCEPTION 'the role % may do more than its part: ALTER ROLE % NOSUPERUSER NOCREATEROLE NOBYPASSRLS', one, one;
        END IF;
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = one) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE', one);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- Another database of this server has made it at this moment.
            END;
        END IF;
    END LOOP;
    FOREACH one IN ARRAY services LOOP
        IF NOT pg_has_role('pagurus_engine', one, 'MEMBER') THEN
            EXECUTE format('GRANT %I TO pagurus_engine', one);
        END IF;
    END LOOP;
    FOREACH one IN ARRAY watching LOOP
        IF NOT pg_has_role(one, 'pg_read_all_stats', 'MEMBER') THEN
            BEGIN
                EXECUTE format('GRANT pg_read_all_stats TO %I', one);
            EXCEPTION WHEN insufficient_privilege THEN
                RAISE WARNING 'GRANT pg_read_all_stats TO % as a superuser: without it, sessions that hold up others are not seen', one;
            END;
        END IF;
    END LOOP;

    -- The owner. Who was it before goes on as a member, until the services have users of their own: REVOKE pagurus_owner FROM …
    SELECT relowner INTO former FROM pg_class WHERE oid = 'orders'::regclass AND relowner <> 'pagurus_owner'::regrole;
    IF former IS NOT NULL AND NOT pg_has_role(former, 'pagurus_owner'::regrole, 'MEMBER') THEN
        EXECUTE format('GRANT pagurus_owner TO %I', pg_get_userbyid(former));
        RAISE NOTICE 'the user % may do everything as before; when nobody uses it: REVOKE pagurus_owner FROM %',
            pg_get_userbyid(former), pg_get_userbyid(former);
    END IF;
    EXECUTE format('REVOKE ALL ON SCHEMA %I FROM PUBLIC', current_schema());
    EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO pagurus_owner', current_schema());
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO pagurus_owner', current_database());
    FOREACH one IN ARRAY tables LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO pagurus_owner', one);
    END LOOP;
    -- The others belong to their tables.
    FOR one IN SELECT c.relname FROM pg_class c
                WHERE c.relname = ANY(sequences) AND c.relnamespace = current_schema()::regnamespace
                  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0) LOOP
        EXECUTE format('ALTER SEQUENCE %I OWNER TO pagurus_owner', one);
    END LOOP;

    -- Nothing is permitted but what stands below.
    SELECT string_agg(format('%I', name), ', ') INTO everybody FROM unnest(services || ARRAY['pagurus_engine']) AS name;
    everybody := everybody || ', PUBLIC';
    FOREACH one IN ARRAY tables LOOP
        EXECUTE format('REVOKE ALL ON %I FROM %s', one, everybody);
    END LOOP;
    FOREACH one IN ARRAY sequences LOOP
        EXECUTE format('REVOKE ALL ON SEQUENCE %I FROM %s', one, everybody);
    END LOOP;
    FOREACH one IN ARRAY functions LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO pagurus_owner', one);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', one, everybody);
    END LOOP;
    FOREACH one IN ARRAY services LOOP
        EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM %I', current_schema(), one);
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), one);
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), one);
    END LOOP;
END $$;

-- What each service may do. `pagurus migrate` adds this part again, for what a new version needs.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON ready, running, due, outbox, queued, deadlines TO pagurus_activator';
    END IF;
END $$;

-- intake
GRANT SELECT (order_no, attempt, state, action, kind, name, target, tries, since) ON asking TO pagurus_intake;
GRANT SELECT, INSERT (action, kind, subject, door, name, origin, reason, detail) ON audit TO pagurus_intake;
GRANT SELECT (position, no, series, xid, hash, entries, forgotten_at) ON audit_anchor TO pagurus_intake;
GRANT SELECT ON audit_chain TO pagurus_intake;
GRANT SELECT, INSERT (request_id, named, order_no, verdict, step_status, headers, body, received_at) ON callbacks TO pagurus_intake;
GRANT SELECT, INSERT (order_no, life, key, name, body), UPDATE (status, error_class, error_message, answered_at) ON calls TO pagurus_intake;
GRANT SELECT (request, order_no, status, created_at, last_error), INSERT (id, request, order_no, life, name, call, next_at) ON cancellations TO pagurus_intake;
GRANT SELECT (order_no, parent_no) ON children TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (snapshot), DELETE ON contexts TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (at, seconds), DELETE ON deadlines TO pagurus_intake;
GRANT SELECT ON decisions TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (stand, settled_at) ON dependencies TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (stream, due_at), DELETE ON due TO pagurus_intake;
GRANT SELECT ON epochs TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (at, scenario, class, step, system, state), DELETE ON failures TO pagurus_intake;
GRANT SELECT (revision, known, epoch, serial), UPDATE (revision) ON flow_rules TO pagurus_intake;
GRANT SELECT ON flow_states TO pagurus_intake;
GRANT SELECT (no, keyword, from_at, until_at, reason, made_by, made_at, lifted_at, lifted_by, lift_reason, key, shift), INSERT (keyword, from_at, until_at, reason, made_by, key), UPDATE (lifted_at, lifted_by, lift_reason, key, shift) ON flow_stops TO pagurus_intake;
GRANT SELECT (no, order_no, attempt, held), INSERT (order_no, attempt, p90) ON forecasts TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (at, steady_since, in_hand) ON heartbeats TO pagurus_intake;
GRANT SELECT, INSERT (order_no, number, life, kind, source, detail) ON history TO pagurus_intake;
GRANT SELECT, INSERT (order_no, findings), UPDATE (findings, found_at), DELETE ON inconsistencies TO pagurus_intake;
GRANT SELECT, UPDATE (until) ON leases TO pagurus_intake;
GRANT SELECT, INSERT (key, flow, system, calendar, ends_at, shifts, reason, made_by), UPDATE (key, void_until, removed_at, removed_by, remove_reason) ON maintenance_windows TO pagurus_intake;
GRANT SELECT (message, attempts), INSERT (message), UPDATE (attempts, at), DELETE ON message_attempts TO pagurus_intake;
GRANT SELECT, INSERT (role, name, reason, made_by), DELETE ON node_marks TO pagurus_intake;
GRANT SELECT, INSERT (name, role, address, version, concurrency, status, transport), UPDATE (status, ended_at) ON nodes TO pagurus_intake;
GRANT SELECT (operation, order_no, outcome, reason, aftermath) ON operation_orders TO pagurus_intake;
GRANT SELECT ON operation_reasons TO pagurus_intake;
GRANT SELECT, INSERT (key, action, fields, search, again, reason, made_by, urgency, rate, ramp, follow_until, state, selection, tenants, asked), UPDATE (key, shift, state, because, selection, ended_at) ON operations TO pagurus_intake;
GRANT SELECT, INSERT ON order_labels TO pagurus_intake;
GRANT SELECT, INSERT (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify, trace, start_at, start_deadline, start_period, created_at, status, awaited, answers, promise_at, labels), UPDATE (scenario, priority, notify, start_at, start_deadline, status, scenario_status, step, entry_point, life, attempt, events, visited, distance, started_at, finished_at, updated_at, result, message, error_class, error_message, awaited, error_system, stages, retries, error_state) ON orders TO pagurus_intake;
GRANT SELECT ON SEQUENCE orders_no_seq TO pagurus_intake;
GRANT SELECT (order_no, life, kind, target, created_at, next_at, attempts, parked_because, last_error, subscription), INSERT (order_no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, next_at, receiver, format, number, subscription, group_max, group_within_ms), UPDATE (next_at, parked_because, again_since) ON outbox TO pagurus_intake;
GRANT USAGE ON SEQUENCE outbox_number TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (params), DELETE ON payloads TO pagurus_intake;
GRANT SELECT, INSERT (order_no, promise_at, look_at), UPDATE (promise_at, look_at, marked_at, expected_at, cause, ended) ON promises TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (held_since), DELETE ON queued TO pagurus_intake;
GRANT SELECT, INSERT (name, last_position, taken), UPDATE (last_position, taken, head) ON queues TO pagurus_intake;
GRANT SELECT (order_no, attempt, flow, priority, queue, position, reissued, since, stream, repeat_at, woken), INSERT, UPDATE (pass, attempt, priority, queue, position), DELETE ON ready TO pagurus_intake;
GRANT SELECT (version, checksum) ON refinery_schema_history TO pagurus_intake;
GRANT SELECT, INSERT (id, reason, refused_at, exchange, key, properties, body, answered), UPDATE (no), DELETE ON refused TO pagurus_intake;
GRANT SELECT (scenario, record) ON remaining_times TO pagurus_intake;
GRANT SELECT (no, subscription, ended_from, ended_until, position, last, looked_at, stored, reason, made_by, made_at, done_at), INSERT (subscription, ended_from, ended_until, reason, made_by), UPDATE (done_at) ON replays TO pagurus_intake;
GRANT SELECT (id, order_no, life, visit, action, name, status, awaited, registered_at, closed_at, hand_out, work_seconds, task_ends_at, force_finish, wait_ends_at, system, cancel), INSERT (id, order_no, life, visit, action, name, status, registered_at, closed_at), UPDATE (status, closed_at, task_ends_at, wait_ends_at) ON requests TO pagurus_intake;
GRANT SELECT (order_no, pass, attempt, wake, restarts, queue, node, started_at), UPDATE (queue), DELETE ON running TO pagurus_intake;
GRANT SELECT, INSERT ON scenario_operations TO pagurus_intake;
GRANT SELECT, INSERT (name, version, source, digest) ON scenarios TO pagurus_intake;
GRANT SELECT, INSERT (schedule, due_at, outcome, order_id, reason, missed, missed_from), UPDATE (outcome, order_id, reason, missed, missed_from, decided_at), DELETE ON schedule_runs TO pagurus_intake;
GRANT SELECT, INSERT (name, rule, template, note, paused_at, paused_by, pause_reason, decided_until, next_at, made_by, changed_by), UPDATE (rule, template, note, revision, paused_at, paused_by, pause_reason, decided_until, next_at, queued, registered, skipped, missed, refused, refused_in_row, problem, problem_at, changed_by, changed_at), DELETE ON schedules TO pagurus_intake;
GRANT SELECT, INSERT, DELETE ON search_values TO pagurus_intake;
GRANT SELECT, INSERT (name, search, made_by), UPDATE (search, made_by, made_at), DELETE ON searches TO pagurus_intake;
GRANT SELECT, INSERT (id, digest, method, subject, name, login, role, groups, provider_session, origin, ends_at), UPDATE (role, groups, used_at, checked_at), DELETE ON sessions TO pagurus_intake;
GRANT SELECT, INSERT, DELETE ON shifted TO pagurus_intake;
GRANT SELECT, INSERT (keyword, seconds, from_at, until_at, reason, made_by, key, asked), UPDATE (undone_at, key, moved_at, undoing_at) ON shifts TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (count, sum, buckets) ON stats TO pagurus_intake;
GRANT SELECT, INSERT, UPDATE (turn, at) ON stats_turns TO pagurus_intake;
GRANT SELECT, UPDATE (revision) ON subscription_rules TO pagurus_intake;
GRANT SELECT, INSERT (name, url, format, secret, occasions, scenarios, labels, outcomes, made_by), UPDATE (version, url, format, secret, occasions, scenarios, labels, outcomes, made_by, made_at, paused_at, paused_by, paused_because, removed_at) ON subscriptions TO pagurus_intake;
GRANT SELECT (order_no, attempt, deaths, died_on, is_computed), INSERT (order_no, attempt, deaths, died_on, is_computed), UPDATE (attempt, deaths, died_on, is_computed, since) ON suspects TO pagurus_intake;
GRANT SELECT, INSERT (system, what, from_at, until_at, reason, made_by), UPDATE (what, from_at, until_at, reason, made_by, made_at), DELETE ON system_overrides TO pagurus_intake;
GRANT SELECT ON system_states TO pagurus_intake;
GRANT SELECT, INSERT (id, digest, name, role, made_by, ends_at, tenants), UPDATE (used_at, revoked_at) ON tokens TO pagurus_intake;
GRANT SELECT (name, after_no, begun_at, rounds, ended_at) ON walks TO pagurus_intake;
GRANT SELECT (window_no, begins_at, shift) ON window_shifts TO pagurus_intake;

-- dispatcher
GRANT SELECT (no, at, kind, subject, door, name, origin, reason) ON audit TO pagurus_dispatcher;
GRANT INSERT ON decisions TO pagurus_dispatcher;
GRANT SELECT (order_no, stream) ON due TO pagurus_dispatcher;
GRANT SELECT, INSERT, UPDATE (epoch) ON epochs TO pagurus_dispatcher;
GRANT SELECT (revision), UPDATE (known, epoch, serial) ON flow_rules TO pagurus_dispatcher;
GRANT SELECT, INSERT, UPDATE (state, ready, record, written_at), DELETE ON flow_states TO pagurus_dispatcher;
GRANT SELECT (no, keyword, from_at, until_at, reason, made_by, lifted_at, lifted_by, lift_reason) ON flow_stops TO pagurus_dispatcher;
GRANT SELECT, INSERT, UPDATE (at, steady_since, in_hand) ON heartbeats TO pagurus_dispatcher;
GRANT SELECT, INSERT, UPDATE (holder, until) ON leases TO pagurus_dispatcher;
GRANT SELECT (no, flow, system, calendar, ends_at, void_until, shifts, reason, made_by, made_at, removed_at, removed_by, remove_reason) ON maintenance_windows TO pagurus_dispatcher;
GRANT SELECT (role, name) ON node_marks TO pagurus_dispatcher;
GRANT SELECT (incarnation, name, role, concurrency, status, ended_at), INSERT (name, role, address, version, concurrency, status, transport), UPDATE (status, ended_at) ON nodes TO pagurus_dispatcher;
GRANT SELECT (no, flow) ON orders TO pagurus_dispatcher;
GRANT SELECT ON SEQUENCE orders_no_seq TO pagurus_dispatcher;
GRANT SELECT (order_no, queue, position) ON queued TO pagurus_dispatcher;
GRANT SELECT (name, head) ON queues TO pagurus_dispatcher;
GRANT SELECT (order_no, attempt, flow, priority, queue, position, since, stream, woken) ON ready TO pagurus_dispatcher;
GRANT SELECT (version, checksum) ON refinery_schema_history TO pagurus_dispatcher;
GRANT SELECT (order_no, status, awaited, registered_at, system) ON requests TO pagurus_dispatcher;
GRANT SELECT (order_no, attempt, queue, node) ON running TO pagurus_dispatcher;
GRANT SELECT, INSERT, UPDATE (count, sum, buckets) ON stats TO pagurus_dispatcher;
GRANT SELECT, INSERT, UPDATE (turn, at) ON stats_turns TO pagurus_dispatcher;
GRANT SELECT (system, what, from_at, until_at) ON system_overrides TO pagurus_dispatcher;
GRANT SELECT, INSERT, UPDATE (state, record, written_at), DELETE ON system_states TO pagurus_dispatcher;

-- activator
GRANT SELECT (order_no, attempt, state, action, kind, name, target, tries, since), DELETE ON asking TO pagurus_activator;
GRANT SELECT, INSERT (action, kind, subject, door, name, origin, reason, detail) ON audit TO pagurus_activator;
GRANT SELECT (position, no, series, xid, hash, entries, forgotten_at) ON audit_anchor TO pagurus_activator;
GRANT SELECT, INSERT ON audit_chain TO pagurus_activator;
GRANT SELECT (position, holder, held_until), UPDATE (position, holder, held_until) ON audit_export TO pagurus_activator;
GRANT EXECUTE ON FUNCTION audit_forget(interval,bigint) TO pagurus_activator;
GRANT SELECT (no, request_id, verdict, step_status, headers, body, received_at), INSERT (request_id, named, order_no, verdict, step_status, headers, body, received_at), DELETE ON callbacks TO pagurus_activator;
GRANT SELECT (no, order_no, life, status), UPDATE (status, error_class, error_message, answered_at), DELETE ON calls TO pagurus_activator;
GRANT SELECT (order_no, status), INSERT (id, request, order_no, life, name, call, next_at), DELETE ON cancellations TO pagurus_activator;
GRANT SELECT (order_no, parent_no), DELETE ON children TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (snapshot), DELETE ON contexts TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (at, seconds), DELETE ON deadlines TO pagurus_activator;
GRANT SELECT (kind, name, at, key), DELETE ON decisions TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (stand, settled_at), DELETE ON dependencies TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (stream, due_at), DELETE ON due TO pagurus_activator;
GRANT SELECT ON epochs TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (at, scenario, class, step, system, state), DELETE ON failures TO pagurus_activator;
GRANT SELECT (revision) ON flow_rules TO pagurus_activator;
GRANT SELECT ON flow_states TO pagurus_activator;
GRANT SELECT (no, keyword, from_at, until_at, reason, made_by, made_at, lifted_at, lifted_by, lift_reason, shift, shift_held_by, shift_held_until), UPDATE (shift_held_by, shift_held_until), DELETE ON flow_stops TO pagurus_activator;
GRANT SELECT, UPDATE (held), DELETE ON forecasts TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (at, steady_since, in_hand), DELETE ON heartbeats TO pagurus_activator;
GRANT SELECT, INSERT (order_no, number, life, kind, source, detail), DELETE ON history TO pagurus_activator;
GRANT SELECT, INSERT (order_no, findings), UPDATE (findings, found_at), DELETE ON inconsistencies TO pagurus_activator;
GRANT SELECT ON leases TO pagurus_activator;
GRANT SELECT (no, flow, system, calendar, ends_at, void_until, shifts, reason, made_by, made_at, removed_at, removed_by, remove_reason) ON maintenance_windows TO pagurus_activator;
GRANT SELECT (at), DELETE ON message_attempts TO pagurus_activator;
GRANT SELECT ON node_marks TO pagurus_activator;
GRANT SELECT, INSERT (name, role, address, version, concurrency, status, transport), UPDATE (status, ended_at), DELETE ON nodes TO pagurus_activator;
GRANT SELECT (operation, order_no, outcome, life, class, aftermath), INSERT (operation, order_no), UPDATE (outcome, reason, life, class, aftermath), DELETE ON operation_orders TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (orders, example), DELETE ON operation_reasons TO pagurus_activator;
GRANT SELECT (no, action, fields, search, again, shift, reason, made_by, made_at, urgency, rate, ramp, follow_until, state, because, selection, looked, total, done, skipped, failed, succeeded, failed_again, failed_otherwise, left_alone, speed, allowance, allowed_at, acted_at, ended_at, tenants), UPDATE (state, because, selection, looked, total, done, skipped, failed, succeeded, failed_again, failed_otherwise, left_alone, speed, allowance, allowed_at, acted_at, ended_at), DELETE ON operations TO pagurus_activator;
GRANT SELECT, INSERT, DELETE ON order_labels TO pagurus_activator;
GRANT SELECT, INSERT (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify, trace, start_at, start_deadline, start_period, created_at, status, awaited, answers, promise_at, labels), UPDATE (scenario, priority, notify, start_at, start_deadline, status, scenario_status, step, entry_point, life, attempt, events, visited, distance, started_at, finished_at, updated_at, result, message, error_class, error_message, awaited, error_system, stages, retries, error_state), DELETE ON orders TO pagurus_activator;
GRANT SELECT (order_no, life, kind, parked_because, subscription), INSERT (order_no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, next_at, receiver, format, number, subscription, group_max, group_within_ms), UPDATE (next_at, parked_because, again_since), DELETE ON outbox TO pagurus_activator;
GRANT USAGE ON SEQUENCE outbox_number TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (params), DELETE ON payloads TO pagurus_activator;
GRANT SELECT (order_no, promise_at, look_at, marked_at, ended), INSERT (order_no, promise_at, look_at), UPDATE (promise_at, look_at, marked_at, expected_at, cause, ended), DELETE ON promises TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (held_since), DELETE ON queued TO pagurus_activator;
GRANT SELECT, INSERT (name, last_position, taken), UPDATE (last_position, taken, head), DELETE ON queues TO pagurus_activator;
GRANT SELECT (order_no, attempt, flow, priority, queue, position, reissued, since, stream, repeat_at, woken), INSERT, UPDATE (pass, attempt, priority, queue, position, repeat_at), DELETE ON ready TO pagurus_activator;
GRANT SELECT (version, checksum) ON refinery_schema_history TO pagurus_activator;
GRANT SELECT (no, taken_at), DELETE ON refused TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (record, learnt_at) ON remaining_times TO pagurus_activator;
GRANT SELECT (no, subscription, ended_from, ended_until, position, last, barrier, looked_at, stored, made_at, done_at), UPDATE (position, last, barrier, looked_at, stored, done_at) ON replays TO pagurus_activator;
GRANT SELECT (id, order_no, life, visit, action, name, status, awaited, registered_at, closed_at, hand_out, work_seconds, accept_first, task_ends_at, wait_ends_at, cancel), INSERT (id, order_no, life, visit, action, name, status, registered_at, closed_at), UPDATE (status, closed_at, task_ends_at, wait_ends_at), DELETE ON requests TO pagurus_activator;
GRANT SELECT, UPDATE (queue), DELETE ON running TO pagurus_activator;
GRANT SELECT ON scenario_operations TO pagurus_activator;
GRANT SELECT (no, name, version, source) ON scenarios TO pagurus_activator;
GRANT SELECT (schedule, due_at, outcome, order_id, reason, missed, missed_from), INSERT (schedule, due_at, outcome, order_id, reason, missed, missed_from), UPDATE (outcome, order_id, reason, missed, missed_from, decided_at), DELETE ON schedule_runs TO pagurus_activator;
GRANT SELECT, UPDATE (decided_until, next_at, queued, registered, skipped, missed, refused, refused_in_row, problem, problem_at) ON schedules TO pagurus_activator;
GRANT SELECT, INSERT, DELETE ON search_values TO pagurus_activator;
GRANT SELECT (id, ends_at), DELETE ON sessions TO pagurus_activator;
GRANT SELECT, INSERT, DELETE ON shifted TO pagurus_activator;
GRANT SELECT, INSERT (keyword, seconds, from_at, until_at, reason, made_by, key, asked), UPDATE (key, moved_at), DELETE ON shifts TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (count, sum, buckets), DELETE ON stats TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (turn, at), DELETE ON stats_turns TO pagurus_activator;
GRANT SELECT, UPDATE (revision) ON subscription_rules TO pagurus_activator;
GRANT SELECT, UPDATE (paused_at, paused_by, paused_because), DELETE ON subscriptions TO pagurus_activator;
GRANT SELECT, INSERT (order_no, attempt, deaths, died_on, is_computed), UPDATE (attempt, deaths, died_on, is_computed, since), DELETE ON suspects TO pagurus_activator;
GRANT SELECT, UPDATE (order_no), DELETE ON suspensions TO pagurus_activator;
GRANT SELECT ON system_overrides TO pagurus_activator;
GRANT SELECT (system, record, written_at) ON system_states TO pagurus_activator;
GRANT SELECT, INSERT (name), UPDATE (after_no, after, next_at, begun_at, rounds, ended_at) ON walks TO pagurus_activator;
GRANT SELECT, INSERT, UPDATE (held_by, held_until) ON window_shifts TO pagurus_activator;

-- worker
GRANT SELECT, INSERT, UPDATE (attempt, node, state, action, kind, name, target, tries, since), DELETE ON asking TO pagurus_worker;
GRANT INSERT (action, kind, subject, door, name, origin, reason, detail) ON audit TO pagurus_worker;
GRANT SELECT (no, request_id, verdict, step_status, headers, body, received_at) ON callbacks TO pagurus_worker;
GRANT SELECT (no, order_no, life, name, body, status, answered_at), UPDATE (status, answer, error_class, error_message, answered_at) ON calls TO pagurus_worker;
GRANT SELECT (id, request, order_no, name, call, status, created_at, next_at, attempts, last_error), INSERT (id, request, order_no, life, name, call, next_at), UPDATE (status, next_at, attempts, ended_at, last_error), DELETE ON cancellations TO pagurus_worker;
GRANT SELECT, INSERT ON children TO pagurus_worker;
GRANT SELECT, INSERT, UPDATE (snapshot), DELETE ON contexts TO pagurus_worker;
GRANT SELECT, INSERT, UPDATE (at, seconds), DELETE ON deadlines TO pagurus_worker;
GRANT SELECT (order_no, before_id, states, otherwise, reactive, stand), INSERT, UPDATE (stand, settled_at) ON dependencies TO pagurus_worker;
GRANT SELECT, INSERT, UPDATE (stream, due_at), DELETE ON due TO pagurus_worker;
GRANT SELECT, UPDATE (name) ON epochs TO pagurus_worker;
GRANT SELECT, INSERT, UPDATE (at, scenario, class, step, system, state), DELETE ON failures TO pagurus_worker;
GRANT SELECT, INSERT, UPDATE (at, steady_since, in_hand) ON heartbeats TO pagurus_worker;
GRANT SELECT (order_no), INSERT (order_no, number, life, kind, source, detail) ON history TO pagurus_worker;
GRANT SELECT (role, name) ON node_marks TO pagurus_worker;
GRANT SELECT (incarnation, name, role, address, status, ended_at, transport), INSERT (name, role, address, version, concurrency, status, transport), UPDATE (status, ended_at) ON nodes TO pagurus_worker;
GRANT INSERT ON order_labels TO pagurus_worker;
GRANT SELECT (no, id, digest, scenario, mode, queue, priority, flow, transaction_id, notify, trace, start_at, start_deadline, start_period, created_at, status, scenario_status, step, entry_point, life, attempt, events, visited, started_at, finished_at, result, message, error_class, error_message, awaited, error_system, stages, retries, answers, error_state, labels), INSERT (id, digest, scenario, mode, queue, priority, flow, transaction_id, notify, trace, start_at, start_deadline, start_period, created_at, status, awaited, answers, promise_at, labels), UPDATE (status, scenario_status, step, entry_point, attempt, events, visited, distance, started_at, finished_at, updated_at, result, message, error_class, error_message, awaited, error_system, stages, retries, error_state) ON orders TO pagurus_worker;
GRANT INSERT (order_no, life, kind, message_id, target, correlation_id, transaction_id, trace, body, next_at, receiver, format, number, subscription, group_max, group_within_ms) ON outbox TO pagurus_worker;
GRANT USAGE ON SEQUENCE outbox_number TO pagurus_worker;
GRANT SELECT, INSERT ON payloads TO pagurus_worker;
GRANT SELECT (order_no, promise_at, look_at), INSERT (order_no, promise_at, look_at), UPDATE (promise_at, look_at, marked_at, expected_at, cause, ended) ON promises TO pagurus_worker;
GRANT SELECT, INSERT (order_no, queue, position), UPDATE (held_since), DELETE ON queued TO pagurus_worker;
GRANT SELECT, INSERT (name, last_position, taken), UPDATE (last_position, taken, head) ON queues TO pagurus_worker;
GRANT SELECT (order_no, pass, attempt, wake, flow, priority, queue, position, restarts, reissued, since, woken), INSERT, UPDATE (order_no), DELETE ON ready TO pagurus_worker;
GRANT SELECT (version, checksum) ON refinery_schema_history TO pagurus_worker;
GRANT SELECT (id, order_no, life, visit, action, name, status, awaited, registered_at, closed_at, hand_out, work_seconds, task_ends_at, wait_ends_at, system, cancel), INSERT (id, order_no, life, visit, action, name, hand_out, work_seconds, accept_first, task_ends_at, force_finish, wait_ends_at, cancel), UPDATE (status, awaited, closed_at, hand_out, task_ends_at, wait_ends_at, system, cancel) ON requests TO pagurus_worker;
GRANT SELECT (order_no, pass, attempt, wake, restarts, queue, node, started_at, deadline_at), INSERT, UPDATE (wake, restarts, queue, deadline_at), DELETE ON running TO pagurus_worker;
GRANT SELECT ON scenario_operations TO pagurus_worker;
GRANT SELECT (no, name, version, source) ON scenarios TO pagurus_worker;
GRANT INSERT ON search_values TO pagurus_worker;
GRANT SELECT, INSERT, UPDATE (count, sum, buckets) ON stats TO pagurus_worker;
GRANT SELECT, INSERT, UPDATE (turn, at) ON stats_turns TO pagurus_worker;
GRANT SELECT ON subscription_rules TO pagurus_worker;
GRANT SELECT (no, url, format, secret, occasions, scenarios, labels, outcomes, paused_at, removed_at) ON subscriptions TO pagurus_worker;
GRANT SELECT (order_no, attempt, deaths, died_on, is_computed), INSERT (order_no, attempt, deaths, died_on, is_computed), UPDATE (attempt, deaths, died_on, is_computed, since), DELETE ON suspects TO pagurus_worker;
GRANT SELECT, INSERT (order_no, attempt, at), UPDATE (attempt, since, at) ON suspensions TO pagurus_worker;

-- notifier
GRANT SELECT, INSERT, UPDATE (at, steady_since, in_hand) ON heartbeats TO pagurus_notifier;
GRANT SELECT (role, name) ON node_marks TO pagurus_notifier;
GRANT SELECT (incarnation, name, role, status, ended_at), INSERT (name, role, address, version, concurrency, status, transport), UPDATE (status, ended_at) ON nodes TO pagurus_notifier;
GRANT SELECT, UPDATE (next_at, attempts, parked_because, last_error), DELETE ON outbox TO pagurus_notifier;
GRANT SELECT (version, checksum) ON refinery_schema_history TO pagurus_notifier;
GRANT SELECT, INSERT, UPDATE (count, sum, buckets) ON stats TO pagurus_notifier;
GRANT SELECT, INSERT, UPDATE (turn, at) ON stats_turns TO pagurus_notifier;
GRANT SELECT (no, secret) ON subscriptions TO pagurus_notifier;
