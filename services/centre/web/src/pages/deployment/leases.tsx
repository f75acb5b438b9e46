// Leases: what one node at a time may do, who does it, and until when.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { duration, number, wholeTime } from "../../app/time";
import { Button } from "../../parts/button";
import { Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { text } from "../../text/deployment";

type Lease = Schemas["LeaseLine"];

export function LeasesPanel({ resource, onResign }: { resource: Shown<Schemas["PageOfLeaseLine"]>; onResign: (lease: Lease) => void }) {
    const columns: Column<Lease>[] = [
        { key: "name", name: text("lease"), head: true, cell: (lease) => <code>{lease.name}</code> },
        { key: "holder", name: text("holder"), cell: (lease) => lease.holder ?? <span class="warn-text">{text("nobody")}</span> },
        { key: "epoch", name: text("epoch", { n: "" }).trim(), number: true, cell: (lease) => number(lease.epoch) },
        { key: "until", name: text("expires"), number: true, cell: (lease) => <Until at={lease.until} seen={resource.known.value.at ?? now.value} /> },
        { key: "actions", name: text("actions"), cell: (lease) => <Resign lease={lease} onResign={onResign} /> },
    ];
    return (
        <Panel title={text("leases")} resource={resource} empty={(page) => page.items.length === 0} emptyText={text("leases_empty")}>
            {(page) => (
                <>
                    <p class="faint">{text("leases_hint")}</p>
                    <Table caption={text("leases")} columns={columns} rows={page.items} keyOf={(lease) => lease.name} />
                </>
            )}
        </Panel>
    );
}

/** What was left of a lease when the server was asked: it is renewed all the time, so that counting it down would tell nothing. */
function Until({ at, seen }: { at: string; seen: number }) {
    const left = Date.parse(at) - seen;
    return (
        <time dateTime={at} title={wholeTime(at)} class={left > 0 ? "" : "warn-text"}>
            {left > 0 ? duration(left) : text("expired")}
        </time>
    );
}

function Resign({ lease, onResign }: { lease: Lease; onResign: (lease: Lease) => void }) {
    return (
        <Button small needs="operator" disabled={!lease.holder} label={`${text("resign")}: ${lease.name}`} onClick={() => onResign(lease)}>
            {text("resign")}
        </Button>
    );
}
