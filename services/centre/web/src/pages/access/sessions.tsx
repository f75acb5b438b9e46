import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
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

type PersonSession = Schemas["PersonSessionView"];

export function Sessions({ lead, tabs }: { lead: ComponentChildren; tabs: ComponentChildren }) {
    const cursor = query.value.get("cursor");
    const sessions = useResource(read("/v1/access/sessions", {}, { cursor, limit: 50 }), { every: 10_000 });
    const [ending, setEnding] = useState<PersonSession>();
    return (
        <Page title={text("title")} lead={lead} request={sessions.request} command={["access", "sessions", "list"]}>
            {tabs}
            <Panel
                title={text("sessions")}
                resource={sessions}
                empty={(page) => page.items.length === 0}
                emptyText={text(session.value?.mode === "public" ? "no_sessions_public" : "no_sessions")}
            >
                {(page) => <Table caption={text("sessions_caption")} columns={columns(setEnding)} rows={page.items} keyOf={(one) => one.id} />}
            </Panel>
            <Pager next={sessions.data?.next} at={cursor} />
            {ending && (
                <ActionDialog
                    title={text("end_named", { name: ending.name })}
                    act={text("end")}
                    danger
                    reason="none"
                    request={() => change("DELETE", "/v1/access/sessions/{id}", { id: ending.id })}
                    onClose={() => setEnding(undefined)}
                    onDone={() => {
                        setEnding(undefined);
                        void sessions.refresh();
                    }}
                >
                    <p>{text("end_effect", { name: ending.name })}</p>
                </ActionDialog>
            )}
        </Page>
    );
}

function columns(end: (one: PersonSession) => void): Column<PersonSession>[] {
    return [
        { key: "name", name: text("name"), head: true, cell: (one) => one.name },
        { key: "role", name: text("role"), cell: (one) => <Badge word={one.role} /> },
        { key: "method", name: text("method"), cell: (one) => <code>{one.method}</code> },
        { key: "from", name: text("from"), cell: (one) => one.from },
        { key: "groups", name: text("groups"), wide: true, cell: (one) => <span title={one.groups.join("\n")}>{one.groups.join(", ")}</span> },
        { key: "since", name: text("since"), cell: (one) => <Time at={one.madeAt} /> },
        { key: "used", name: text("used"), cell: (one) => <Time at={one.usedAt} /> },
        { key: "ends", name: text("ends"), cell: (one) => <Time at={one.endsAt} /> },
        {
            key: "actions",
            name: text("actions"),
            cell: (one) => (
                <Button small needs="admin" label={text("end_named", { name: one.name })} onClick={() => end(one)}>
                    {text("end")}
                </Button>
            ),
        },
    ];
}
