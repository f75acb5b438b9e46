-- The chain of the audit log (QLT-15): a hash for each row, over the hash before, its place and all of the row, so that a row
-- that is changed, removed, put in behind or moved is found. Rows are written as before, in the transactions of the actions
-- and without a lock; the sealer of the activators gives them their places afterwards.

-- The transaction that wrote a row. Rows from before this version have 0, which no transaction has: they are sealed first, in
-- the order of their numbers.
ALTER TABLE audit ADD COLUMN xid xid8 NOT NULL DEFAULT '0';
ALTER TABLE audit ALTER COLUMN xid SET DEFAULT pg_current_xact_id();

-- Order of the chain. Numbers alone are none: a transaction that began early may commit late.
CREATE INDEX audit_order ON audit (xid, no);

-- Links of the chain: added, never changed, removed from the oldest end only.
CREATE TABLE audit_chain (
    -- From 1 on, without a gap.
    position  bigint PRIMARY KEY CHECK (position > 0),
    -- Number of the row of `audit`.
    no        bigint NOT NULL UNIQUE,
    -- Counts the database servers whose numbers of transactions the rows have: one that was made of a dump begins with small
    -- ones again.
    series    integer NOT NULL,
    xid       xid8 NOT NULL,
    -- SHA-256 as `pagurus_domain::audit::chain` says.
    hash      bytea NOT NULL CHECK (octet_length(hash) = 32)
);

-- The last link that retention has removed, behind which the chain goes on; position 0 while it has removed none.
CREATE TABLE audit_anchor (
    one           boolean PRIMARY KEY DEFAULT true CHECK (one),
    position      bigint NOT NULL,
    no            bigint NOT NULL,
    series        integer NOT NULL,
    xid           xid8 NOT NULL,
    hash          bytea NOT NULL CHECK (octet_length(hash) = 32),
    -- Rows that were removed with the links up to here. Fewer than links: some had been removed by another hand before.
    entries       bigint NOT NULL,
    forgotten_at  timestamptz
);

INSERT INTO audit_anchor (position, no, series, xid, hash, entries)
VALUES (0, 0, 0, '0', decode(repeat('00', 32), 'hex'), 0);

-- How far the log was sent to a receiver outside, and which activator sends now.
CREATE TABLE audit_export (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    -- Last position that the receiver has taken.
    position    bigint NOT NULL DEFAULT 0,
    holder      bigint,
    held_until  timestamptz NOT NULL DEFAULT '-infinity'
);

INSERT INTO audit_export DEFAULT VALUES;

-- Removes the oldest rows with their links, at most `most`, and notes the last one in the anchor; the number of links that
-- were removed. The only way to remove anything of the log: services need no right to delete. Nothing is removed that is
-- younger than 30 days, nor what stands behind something younger. A link whose row is missing goes only with older rows
-- behind it, so that a hand that removes the newest rows does not have their links removed, too.
CREATE FUNCTION audit_forget(older interval, most bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
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

-- Refuses every other change, also by an activator of the former version, which deletes rows by itself during an upgrade.
-- The owner of the tables can take this away; then the chain shows what was done.
CREATE FUNCTION audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('pagurus.audit_forget', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'rows of % are never changed; audit_forget() removes the oldest', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keep();
CREATE TRIGGER audit_keep_all BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_keep();
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit_chain FOR EACH ROW EXECUTE FUNCTION audit_keep();
CREATE TRIGGER audit_keep_all BEFORE TRUNCATE ON audit_chain FOR EACH STATEMENT EXECUTE FUNCTION audit_keep();

-- `audit_forget` runs with the rights of its owner, so neither its names nor its callers are left to chance.
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION audit_forget(interval, bigint) SET search_path = pg_catalog, %I, pg_temp', current_schema());
END $$;
REVOKE ALL ON FUNCTION audit_forget(interval, bigint) FROM PUBLIC;
