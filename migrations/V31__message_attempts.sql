-- Attempts at messages that the broker had handed out before, each written before it begins and taken back when it
-- ends (QLT-8). One that nobody took back is of a process that died with the message in hand.
CREATE TABLE message_attempts (
    -- Digest of the message.
    message  bytea PRIMARY KEY,
    attempts integer NOT NULL DEFAULT 1,
    at       timestamptz NOT NULL DEFAULT now()
);
