-- One configuration serves all services, so one name may stand for a node of each role. Within a role
-- it stands for one process.
DROP INDEX nodes_live_name;
CREATE UNIQUE INDEX nodes_live_name ON nodes (role, name) WHERE ended_at IS NULL;
