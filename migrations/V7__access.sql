-- Tokens of programs (UI-1). A token is shown once; the table has its digest.
CREATE TABLE tokens (
    -- The part of the token that may be shown.
    id          text PRIMARY KEY,
    digest      bytea NOT NULL UNIQUE,
    name        text NOT NULL,
    role        text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin', 'client', 'system')),
    -- The principal that made it, as JSON.
    made_by     text NOT NULL,
    made_at     timestamptz NOT NULL DEFAULT now(),
    -- Null: it has no end.
    ends_at     timestamptz,
    -- Within a minute; null: never.
    used_at     timestamptz,
    revoked_at  timestamptz
);

-- Sessions of people. A session ends by its row: what has no row is no session.
CREATE TABLE sessions (
    -- A part of the digest, by which it is listed and ended.
    id                text PRIMARY KEY,
    -- Digest of the cookie.
    digest            bytea NOT NULL UNIQUE,
    method            text NOT NULL CHECK (method IN ('local', 'ldap', 'oidc')),
    -- What identifies the person for ever at the directory.
    subject           text NOT NULL,
    -- Name that is shown, and the one that was typed, by which the directory finds the person again.
    name              text NOT NULL,
    login             text NOT NULL,
    role              text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    groups            text[] NOT NULL,
    -- Session at the identity provider, by which that one may end it.
    provider_session  text,
    -- Address of the browser at the login.
    origin            text,
    made_at           timestamptz NOT NULL DEFAULT now(),
    -- Within a minute.
    used_at           timestamptz NOT NULL DEFAULT now(),
    -- When the groups were read last.
    checked_at        timestamptz NOT NULL DEFAULT now(),
    ends_at           timestamptz NOT NULL
);

-- Removal of what is over, and logouts by the provider.
CREATE INDEX sessions_ends ON sessions (ends_at);
CREATE INDEX sessions_subject ON sessions (subject);
