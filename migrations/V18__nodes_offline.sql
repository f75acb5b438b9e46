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

-- Since when a node has its status. A trigger keeps it, so that no statement forgets it, nor a node of the version before.
ALTER TABLE nodes ADD COLUMN status_since timestamptz NOT NULL DEFAULT now();
UPDATE nodes SET status_since = coalesce(ended_at, started_at);
CREATE FUNCTION note_status_of_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.status_since := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER note_status BEFORE UPDATE OF status ON nodes
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_status_of_node();

-- What the process has in hand, by its own word: a worker tells nothing here, because its stages stand in `running`.
ALTER TABLE heartbeats ADD COLUMN in_hand integer NOT NULL DEFAULT 0;
