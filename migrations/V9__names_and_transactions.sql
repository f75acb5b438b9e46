-- One configuration serves all services, so one name may stand for a node of each role. Within a role
-- it stands for one process.
DROP INDEX nodes_live_name;
CREATE UNIQUE INDEX nodes_live_name ON nodes (role, name) WHERE ended_at IS NULL;

-- Orders of one business transaction are looked up by people, the newest first (ORD-6).
CREATE INDEX orders_transaction ON orders (transaction_id, no) WHERE transaction_id IS NOT NULL;
