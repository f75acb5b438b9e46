-- A stop of flows bears the key of the request that made it: a commit whose answer was lost is known by it, and the
-- repeat makes no second stop. The default keeps services of the version before able to write during an upgrade.
ALTER TABLE flow_stops ADD COLUMN key text NOT NULL DEFAULT gen_random_uuid()::text UNIQUE;
