import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { now } from "../../app/clock";
import { query } from "../../app/router";
import { session } from "../../app/session";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { Time } from "../../parts/moment";
import { Page } from "../../parts/page";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { text } from "../../text/access";
import { common } from "../../text/common";
import { MakeToken } from "./make-token";
import { Secret } from "./secret";
import { makerOf, stateOf } from "./token";

type Token = Schemas["TokenView"];
type Shown = { readonly kind: "make" } | { readonly kind: "secret"; readonly made: Schemas["IssuedTokenView"] } | { readonly kind: "revoke"; readonly token: Token };

export function Tokens({ lead, tabs }: { lead: ComponentChildren; tabs: ComponentChildren }) {
    const cursor = query.value.get("cursor");
    const tokens = useResource(read("/v1/access/tokens", {}, { cursor, limit: 50 }), { every: 10_000 });
    const [dialog, setDialog] = useState<Shown>();
    const close = () => setDialog(undefined);
    const make = (
        <Button needs="admin" onClick={() => setDialog({ kind: "make" })}>
            {text("make")}
        </Button>
    );
    return (
        <Page title={text("title")} lead={lead} tools={make} request={tokens.request} command={["access", "tokens", "list"]}>
            {tabs}
            <Panel
                title={text("tokens")}
                resource={tokens}
                empty={(page) => page.items.length === 0}
                emptyText={text(session.value?.mode === "public" ? "no_tokens_public" : "no_tokens")}
            >
                {(page) => (
                    <Table
                        caption={text("tokens_caption")}
                        columns={columns((token) => setDialog({ kind: "revoke", token }))}
                        rows={page.items}
                        keyOf={(token) => token.id}
                    />
                )}
            </Panel>
            <Pager next={tokens.data?.next} at={cursor} />
            {dialog?.kind === "make" && (
                <MakeToken
                    onClose={close}
                    onDone={(made) => {
                        setDialog({ kind: "secret", made });
                        void tokens.refresh();
                    }}
                />
            )}
            {dialog?.kind === "secret" && <Secret made={dialog.made} onClose={close} />}
            {dialog?.kind === "revoke" && (
                <Revoke
                    token={dialog.token}
                    onClose={close}
                    onDone={() => {
                        close();
                        void tokens.refresh();
                    }}
                />
            )}
        </Page>
    );
}

const TONES = { valid: "good", expired: "warn", revoked: "rest" } as const;

function columns(revoke: (token: Token) => void): Column<Token>[] {
    const state = (token: Token) => stateOf(token, now.value);
    return [
        { key: "name", name: text("name"), head: true, cell: (token) => token.name },
        { key: "id", name: text("token"), cell: (token) => <code>{token.id}</code> },
        { key: "role", name: text("role"), cell: (token) => <Badge word={token.role} /> },
        { key: "tenants", name: text("tenants"), cell: (token) => token.tenants?.join(", ") },
        { key: "state", name: text("state"), cell: (token) => <Badge word={text(state(token))} tone={TONES[state(token)]} /> },
        { key: "ends", name: text("ends"), cell: (token) => <Ends token={token} /> },
        { key: "used", name: text("used"), cell: (token) => (token.usedAt ? <Time at={token.usedAt} /> : <span class="faint">{common("never")}</span>) },
        { key: "made", name: text("made"), cell: (token) => <Time at={token.madeAt} /> },
        { key: "by", name: text("made_by"), cell: (token) => makerOf(token.madeBy) },
        {
            key: "actions",
            name: text("actions"),
            cell: (token) =>
                !token.revokedAt && (
                    <Button small needs="admin" label={text("revoke_named", { name: token.name })} onClick={() => revoke(token)}>
                        {text("revoke")}
                    </Button>
                ),
        },
    ];
}

function Ends({ token }: { token: Token }) {
    if (token.revokedAt) return <Time at={token.revokedAt} />;
    return token.endsAt ? <Time at={token.endsAt} /> : <span class="faint">{text("no_end")}</span>;
}

function Revoke({ token, onClose, onDone }: { token: Token; onClose: () => void; onDone: () => void }) {
    return (
        <ActionDialog
            title={text("revoke_named", { name: token.name })}
            act={text("revoke")}
            danger
            reason="none"
            request={() => change("DELETE", "/v1/access/tokens/{id}", { id: token.id })}
            onDone={onDone}
            onClose={onClose}
        >
            <p>{text("revoke_effect", { id: token.id, name: token.name })}</p>
        </ActionDialog>
    );
}
