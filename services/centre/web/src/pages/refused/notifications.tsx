// Notifications that were parked: their receivers refused them, or cannot be reached by what is configured.

import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { query, to } from "../../app/router";
import { number } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { Time } from "../../parts/moment";
import { Page } from "../../parts/page";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { text } from "../../text/refused";
import { tabs } from "./tabs";

type Notification = Schemas["NotificationLine"];

export function NotificationsPage() {
    const cursor = query.value.get("cursor");
    const parked = useResource(read("/v1/notifications", {}, { limit: 50, cursor }), { every: 10_000 });
    const [wanted, setWanted] = useState<Notification>();
    const done = () => {
        setWanted(undefined);
        void parked.refresh();
    };
    return (
        <Page title={text("title")} lead={text("notifications_lead")} request={parked.request} command={["notifications"]}>
            <Tabs tabs={tabs()} label={text("tabs")} />
            <Panel
                title={text("tab_notifications")}
                resource={parked}
                empty={(page) => page.items.length === 0 && !page.next && !cursor}
                emptyText={text("notifications_empty")}
            >
                {(page) => (
                    <>
                        <Table
                            caption={text("tab_notifications")}
                            columns={columnsOf(setWanted)}
                            rows={page.items}
                            keyOf={(one) => `${one.order}/${one.life}/${one.kind}/${one.createdAt}`}
                        />
                        <Pager next={page.next} at={cursor} />
                    </>
                )}
            </Panel>
            {wanted && <ResendDialog notification={wanted} onDone={done} onClose={() => setWanted(undefined)} />}
        </Page>
    );
}

function columnsOf(onResend: (one: Notification) => void): Column<Notification>[] {
    return [
        { key: "order", name: text("order"), head: true, cell: (one) => <a href={to("orders", one.order)}>{one.order}</a> },
        { key: "kind", name: text("kind"), cell: (one) => <Badge word={one.kind} /> },
        { key: "target", name: text("target"), wide: true, cell: (one) => <code title={one.target}>{one.target}</code> },
        { key: "created", name: text("stored_at"), cell: (one) => <Time at={one.createdAt} /> },
        { key: "attempts", name: text("attempts"), number: true, cell: (one) => number(one.attempts) },
        { key: "why", name: text("parked_because"), wide: true, cell: (one) => <Why notification={one} /> },
        { key: "act", name: text("action"), cell: (one) => <Resend notification={one} onResend={onResend} /> },
    ];
}

function Why({ notification }: { notification: Notification }) {
    const why = [notification.parkedBecause, notification.lastError].filter(Boolean).join(": ");
    return <span title={why}>{why}</span>;
}

function Resend({ notification, onResend }: { notification: Notification; onResend: (one: Notification) => void }) {
    return (
        <Button small needs="operator" label={`${text("resend")}: ${notification.order}`} onClick={() => onResend(notification)}>
            {text("resend")}
        </Button>
    );
}

function ResendDialog({ notification, onDone, onClose }: { notification: Notification; onDone: () => void; onClose: () => void }) {
    return (
        <ActionDialog
            title={text("resend_title", { order: notification.order })}
            act={text("resend_act")}
            request={(reason) => change("POST", "/v1/orders/{id}/resend", { id: notification.order }, reason === "" ? {} : { reason })}
            onDone={onDone}
            onClose={onClose}
        >
            <p>{text("resend_effect")}</p>
        </ActionDialog>
    );
}
