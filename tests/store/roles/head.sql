-- Roles of the database, and what each may do. Made by tests/store from the statements of shared/store; never edited.
--
-- `pagurus migrate --roles` applies it, or psql: `psql --single-transaction --set ON_ERROR_STOP=1 --file roles.sql`. It may be run
-- at any time again. The first time it needs a superuser, or who may make roles and is the owner of the tables. No role has a
-- password: set one (`\password pagurus_worker`), or log in by certificate. What they are for: docs/guides/database-roles.md.

DO $$
DECLARE
    services CONSTANT text[] := ARRAY['pagurus_intake', 'pagurus_dispatcher', 'pagurus_activator', 'pagurus_worker', 'pagurus_notifier'];
    watching CONSTANT text[] := ARRAY[{WATCHING}];
    tables CONSTANT text[] := ARRAY[{TABLES}];
    sequences CONSTANT text[] := ARRAY[{SEQUENCES}];
    functions CONSTANT text[] := ARRAY[{FUNCTIONS}];
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

{GRANTS} `pagurus migrate` adds this part again, for what a new version needs.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON {WORK_LISTS} TO pagurus_{VACUUMS}';
    END IF;
END $$;
