-- Maintenance windows (DSP-16): times, once or by a calendar, at which flows or a called system are left alone. Whether
-- one is open follows from its row and the time; nothing is written when it begins or ends.
CREATE TABLE maintenance_windows (
    no             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of the request that made it: a commit whose answer was lost is known by it.
    key            text NOT NULL UNIQUE,
    -- Every flow whose name contains it, or the called system of this name.
    flow           text,
    system         text,
    -- The calendar, as JSON.
    calendar       text NOT NULL,
    -- No occurrence ends later; null: it goes on for ever.
    ends_at        timestamptz,
    -- Occurrences that begin then or earlier are called off.
    void_until     timestamptz,
    -- True if orders that wait or retry until a time within an occurrence are moved behind its end.
    shifts         boolean NOT NULL,
    reason         text NOT NULL,
    made_by        text NOT NULL,
    made_at        timestamptz NOT NULL DEFAULT now(),
    removed_at     timestamptz,
    removed_by     text,
    remove_reason  text,
    CHECK ((flow IS NULL) <> (system IS NULL)),
    CHECK (flow IS NOT NULL OR NOT shifts),
    CHECK ((removed_at IS NULL) = (removed_by IS NULL))
);
CREATE INDEX maintenance_windows_held ON maintenance_windows (no) WHERE removed_at IS NULL;

-- The shift of each occurrence that has one: it is begun once, whoever comes first.
CREATE TABLE window_shifts (
    window_no  bigint NOT NULL,
    begins_at  timestamptz NOT NULL,
    shift      bigint NOT NULL,
    -- The node that moves its orders, until when nobody else does.
    held_by    text NOT NULL,
    held_until timestamptz NOT NULL,
    PRIMARY KEY (window_no, begins_at)
);
