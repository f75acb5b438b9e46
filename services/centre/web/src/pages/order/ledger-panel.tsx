// Where the time of an order went: a bar of shares, and the same as a table that sums to 100 %.

import { useResource } from "../../api/resource";
import { duration, number } from "../../app/time";
import { Disclosure } from "../../parts/disclosure";
import { Duration } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import { order as text } from "../../text/order";
import { Exact } from "./exact";
import { isKnown, ledgerOf, partsOf, toneOf, type Ledger, type Part } from "./ledger";

const SPANS = 150;

export function LedgerTab({ id }: { id: string }) {
    const ledger = useResource(ledgerOf(id), { every: 10_000, follow: { order: [id] } });
    return (
        <Panel title={text("ledger")} resource={ledger} empty={(data) => data.totalMs === 0} emptyText={text("ledger_empty")}>
            {(data) => <Shares ledger={data} />}
        </Panel>
    );
}

/** A share as text. One that is rounded away still is there. */
const shareOf = (part: Part) => (part.tenths === 0 ? `< ${number(0.1, 1)} %` : `${number(part.tenths / 10, 1)} %`);

function Shares({ ledger }: { ledger: Ledger }) {
    const parts = partsOf(ledger.shares);
    const label = text("ledger_bar", { parts: parts.map((part) => `${part.reason} ${shareOf(part)}`).join(", ") });
    return (
        <>
            <svg class="ledger-bar" viewBox="0 0 1000 30" preserveAspectRatio="none" role="img" aria-label={label}>
                {parts.map((part) => (
                    <rect key={keyOf(part)} class={`fill-${toneOf(part.reason)}`} x={part.begin} y="0" width={part.width} height="30">
                        <title>{`${part.reason} ${shareOf(part)}`}</title>
                    </rect>
                ))}
            </svg>
            <Table
                caption={text("rows_of", { title: text("ledger") })}
                columns={[
                    { key: "reason", name: text("cause"), head: true, cell: (part) => <Reason part={part} /> },
                    { key: "share", name: text("ledger_share"), number: true, cell: shareOf },
                    { key: "time", name: text("duration"), number: true, cell: (part) => <Duration ms={part.ms} /> },
                    { key: "detail", name: text("detail"), wide: true, cell: (part) => <span title={part.detail ?? ""}>{part.detail}</span> },
                ]}
                rows={parts}
                keyOf={keyOf}
            />
            <p class="total-row">
                <span>{text("ledger_total")}</span>
                <span class="number">{`${number(100)} % · ${duration(ledger.totalMs)}`}</span>
            </p>
            <Disclosure summary={text("interval")}>{() => <Spans ledger={ledger} />}</Disclosure>
        </>
    );
}

const keyOf = (part: Part) => `${part.reason} ${part.detail ?? ""}`;

function Reason({ part }: { part: Part }) {
    return (
        <>
            <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
                <rect class={`fill-${toneOf(part.reason)}`} width="12" height="12" rx="3" />
            </svg>
            {part.reason}
            {isKnown(part.reason) && <span class="faint">{` · ${text(`ledger_of_${part.reason}`)}`}</span>}
        </>
    );
}

function Spans({ ledger }: { ledger: Ledger }) {
    const shown = ledger.spans.slice(-SPANS);
    const before = (ledger.leftOut ?? 0) + ledger.spans.length - shown.length;
    return (
        <>
            {before > 0 && <p class="faint">{text("ledger_left_out", { n: before })}</p>}
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
