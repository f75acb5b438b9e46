-- The longest wait of an order bounds the hand-outs of a task (ORD-12); and what a parent awaits of its child
-- stands apart from what the child's client wants to be told (ORD-23). Adding the columns rewrites no row. The
-- request of a parent still stands in the place of a notification as well, for nodes of the version before.

ALTER TABLE requests
    -- When the longest wait of the order is over: no heartbeat prolongs a hand-out beyond that.
    ADD COLUMN wait_ends_at timestamptz;

ALTER TABLE queued
    -- When the order took the queue: its first stage since it became a member was begun then.
    ADD COLUMN held_since timestamptz;

ALTER TABLE orders
    -- The request of its parent that the end of the order answers. Shown to nobody: who knows it may answer it.
    ADD COLUMN answers uuid;
