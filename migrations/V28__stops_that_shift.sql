-- A stop for planned works (DSP-11) goes on to move what comes to wait, retry or run out while it holds: the shift that
-- it has begun, and the node that moves its orders, until when nobody else does.
ALTER TABLE flow_stops
    ADD COLUMN shift            bigint,
    ADD COLUMN shift_held_by    text,
    ADD COLUMN shift_held_until timestamptz,
    ADD CHECK ((shift_held_by IS NULL) = (shift_held_until IS NULL));
