-- Subscriptions: standing receivers of what happens to orders (ORD-38).

CREATE TABLE subscriptions (
    no             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text NOT NULL,
    -- Grows with each change of the rule.
    version        integer NOT NULL DEFAULT 1,
    url            text NOT NULL,
    format         text NOT NULL,
    -- Name of the secret with which webhooks are signed; null is that of the configuration.
    secret         text,
    -- Occasions, masks of scenarios, and final statuses: lists of words. Labels: an object of texts.
    occasions      text[] NOT NULL,
    scenarios      text[] NOT NULL,
    labels         jsonb NOT NULL,
    outcomes       text[] NOT NULL,
    made_by        text NOT NULL,
    made_at        timestamptz NOT NULL DEFAULT now(),
    -- Nothing is stored for it since this time.
    paused_at      timestamptz,
    paused_by      text,
    paused_because text,
    -- Its undelivered notifications are being deleted, and then its row is.
    removed_at     timestamptz,
    CHECK ((paused_at IS NULL) = (paused_because IS NULL))
);

CREATE UNIQUE INDEX subscriptions_name ON subscriptions (name) WHERE removed_at IS NULL;

-- The revision of all subscriptions: who ends orders reads it with the ends, and the subscriptions only where it is another.
CREATE TABLE subscription_rules (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision  bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO subscription_rules (revision) VALUES (0);

-- Replays: notifications of orders that ended in a time range, stored again for one subscription.
CREATE TABLE replays (
    no           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subscription bigint NOT NULL REFERENCES subscriptions (no) ON DELETE CASCADE,
    ended_from   timestamptz NOT NULL,
    ended_until  timestamptz NOT NULL,
    -- The walk over orders by number: where it stands, and where it ends.
    position     bigint NOT NULL DEFAULT 0,
    last         bigint,
    -- Transactions below this one may still end an order in the range.
    barrier      xid8,
    looked_at    bigint NOT NULL DEFAULT 0,
    stored       bigint NOT NULL DEFAULT 0,
    reason       text,
    made_by      text NOT NULL,
    made_at      timestamptz NOT NULL DEFAULT now(),
    done_at      timestamptz
);

CREATE INDEX replays_of ON replays (subscription, no);
CREATE INDEX replays_open ON replays (no) WHERE done_at IS NULL;

-- The subscription that a notification is for; null of those that an order asked for.
ALTER TABLE outbox ADD COLUMN subscription bigint;

CREATE INDEX outbox_subscription ON outbox (subscription) WHERE subscription IS NOT NULL;
