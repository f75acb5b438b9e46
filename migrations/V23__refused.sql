-- Refused messages (AMQP-1): taken out of their broker queue when somebody first asks for them, and kept until a person
-- sends them again or drops them.
CREATE TABLE refused (
    no         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Given at the refusal, so that a message that is delivered twice stands here once.
    id         uuid NOT NULL UNIQUE,
    reason     text NOT NULL,
    refused_at text NOT NULL,
    -- Where it had been published.
    exchange   text NOT NULL,
    key        text NOT NULL,
    -- Its properties, as JSON, and its body, byte for byte.
    properties text NOT NULL,
    body       bytea NOT NULL,
    taken_at   timestamptz NOT NULL DEFAULT now()
);
