// Shares of time by reason: a bar, and the same as a table that sums to 100 %.

import { duration, number } from "../app/time";
import { ledger as text } from "../text/ledger";
import { isKnown, partsOf, toneOf, type LedgerShare, type Part } from "./ledger";
import { Duration } from "./moment";
import { Table } from "./table";

/** A share as text. One that is rounded away still is there. */
const shareOf = (part: Part) => (part.tenths === 0 ? `< ${number(0.1, 1)} %` : `${number(part.tenths / 10, 1)} %`);

export function LedgerShares({ ledger }: { ledger: { readonly shares: readonly LedgerShare[]; readonly totalMs: number } }) {
    const parts = partsOf(ledger.shares);
    const label = text("bar", { parts: parts.map((part) => `${part.reason} ${shareOf(part)}`).join(", ") });
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
                caption={text("rows")}
                columns={[
                    { key: "reason", name: text("cause"), head: true, cell: (part) => <Reason part={part} /> },
                    { key: "share", name: text("share"), number: true, cell: shareOf },
                    { key: "time", name: text("duration"), number: true, cell: (part) => <Duration ms={part.ms} /> },
                    { key: "detail", name: text("detail"), wide: true, cell: (part) => <span title={part.detail ?? ""}>{part.detail}</span> },
                ]}
                rows={parts}
                keyOf={keyOf}
            />
            <p class="total-row">
                <span>{text("total")}</span>
                <span class="number">{`${number(100)} % · ${duration(ledger.totalMs)}`}</span>
            </p>
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
            {isKnown(part.reason) && <span class="faint">{` · ${text(`of_${part.reason}`)}`}</span>}
        </>
    );
}
