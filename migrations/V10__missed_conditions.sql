-- A pre-condition that was missed may be restarted: whoever looks for lost ends looks through these, too.
DROP INDEX dependencies_live;
CREATE INDEX dependencies_live ON dependencies (reactive, order_no, before_id)
    WHERE stand IN ('unknown', 'found', 'open') OR (stand = 'missed' AND otherwise = 'wait');
