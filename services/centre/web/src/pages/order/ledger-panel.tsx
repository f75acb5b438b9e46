// Where the time of an order went, with its spans one after the other.

import { read, type Read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { duration } from "../../app/time";
import { Disclosure } from "../../parts/disclosure";
import { LedgerShares } from "../../parts/ledger-shares";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import { ledger as words } from "../../text/ledger";
import { order as text } from "../../text/order";
import { Exact } from "./exact";

type Ledger = Schemas["LedgerView"];

const SPANS = 150;

export function ledgerOf(id: string): Read<Ledger> {
    return read("/v1/orders/{id}/ledger", { id });
}

export function LedgerTab({ id }: { id: string }) {
    const ledger = useResource(ledgerOf(id), { every: 10_000, follow: { order: [id] } });
    return (
        <Panel title={words("title")} resource={ledger} empty={(data) => data.totalMs === 0} emptyText={words("empty")}>
            {(data) => (
                <>
                    <LedgerShares ledger={data} />
                    <Disclosure summary={text("interval")}>{() => <Spans ledger={data} />}</Disclosure>
                </>
            )}
        </Panel>
    );
}

function Spans({ ledger }: { ledger: Ledger }) {
    const shown = ledger.spans.slice(-SPANS);
    const before = (ledger.leftOut ?? 0) + ledger.spans.length - shown.length;
    return (
        <>
            {before > 0 && <p class="faint">{words("left_out", { n: before })}</p>}
            <SpanTable spans={shown} />
        </>
    );
}

function SpanTable({ spans }: { spans: Ledger["spans"] }) {
    return (
        <Table
            caption={text("interval")}
            columns={[
                { key: "from", name: text("at"), head: true, cell: (span) => <Exact at={span.from} /> },
                { key: "until", name: text("until"), cell: (span) => <Exact at={span.until} /> },
                { key: "length", name: text("duration"), number: true, cell: (span) => duration(new Date(span.until).getTime() - new Date(span.from).getTime()) },
                { key: "reason", name: text("cause"), cell: (span) => span.reason },
                { key: "detail", name: text("detail"), cell: (span) => span.detail },
            ]}
            rows={spans}
            keyOf={(span) => `${span.from} ${span.reason}`}
        />
    );
}
