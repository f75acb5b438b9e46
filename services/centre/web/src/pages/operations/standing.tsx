// How far an operation is, and the outcomes of its orders. Figures lead to the orders behind them.

import { toWith } from "../../app/router";
import { duration, number, percent, rate } from "../../app/time";
import { operations as text } from "../../text/operations";
import { Facts, Figure } from "../../parts/facts";
import { Time } from "../../parts/moment";
import { Table, type Column } from "../../parts/table";
import { Orders, Outcome, Progress, isOver, whoOf, type Operation } from "./view";

const AFTERMATH = {
    succeeded: "succeeded",
    failedAgain: "failed_again",
    failedOtherwise: "failed_otherwise",
    left: "left",
} as const;

function ordersAt(operation: Operation, values: Record<string, string>): string {
    return toWith(`operations/${operation.no}`, values);
}

export function Standing({ operation, fresh }: { operation: Operation; fresh: boolean }) {
    const over = isOver(operation);
    return (
        <div class="stack">
            <div class="row">
                <Outcome word={operation.state} />
                <code>{operation.action}</code>
                {!over && operation.selecting && <span class="soft">{text("selecting")}</span>}
                {/* What is to come is said only while it is known. */}
                {fresh && operation.state === "running" && operation.speed > 0 && (
                    <span class="soft">{text("speed_text", { n: rate(operation.speed) })}</span>
                )}
                {fresh && operation.state === "running" && typeof operation.secondsLeft === "number" && (
                    <span class="soft">
                        {text("left")}: {duration(operation.secondsLeft * 1_000)}
                    </span>
                )}
            </div>
            <Progress operation={operation} />
            {operation.because && (
                <p class="note">
                    {text("because")} {operation.because}
                </p>
            )}
            <div class="figures">
                <Figure name={text("total")} value={number(operation.total)} href={ordersAt(operation, {})} />
                <Figure name={text("outcome_done")} value={number(operation.done)} href={ordersAt(operation, { outcome: "done" })} />
                <Figure name={text("outcome_skipped")} value={number(operation.skipped)} href={ordersAt(operation, { outcome: "skipped" })} />
                <Figure
                    name={text("outcome_failed")}
                    value={number(operation.failed)}
                    href={ordersAt(operation, { outcome: "failed" })}
                    {...(operation.failed > 0 ? { tone: "bad" } : {})}
                />
            </div>
        </div>
    );
}

export function Aftermath({ operation }: { operation: Operation }) {
    const { aftermath } = operation;
    if (!aftermath) return null;
    return (
        <div class="figures">
            {(Object.keys(AFTERMATH) as (keyof typeof AFTERMATH)[]).map((key) => (
                <Figure
                    key={key}
                    name={text(`aftermath_${key}`)}
                    value={number(aftermath[key])}
                    href={ordersAt(operation, { aftermath: AFTERMATH[key] })}
                    {...(key === "failedAgain" && aftermath[key] > 0 ? { tone: "bad" } : {})}
                    {...(key === "left" ? { note: text("aftermath_left_note") } : {})}
                />
            ))}
            <Figure name={text("aftermath_open")} value={number(aftermath.open)} />
        </div>
    );
}

export function Details({ operation }: { operation: Operation }) {
    const fields = operation.with as Record<string, unknown> | null;
    const ramp = operation.ramp as { start?: number; factor?: number; stop_if?: { failed_share?: number } | null } | null | undefined;
    const share = ramp?.stop_if?.failed_share;
    return (
        <Facts
            facts={[
                [text("conditions"), <Orders key="orders" operation={operation} />],
                [text("fields"), fields && Object.keys(fields).length > 0 ? <code>{JSON.stringify(fields)}</code> : null],
                [text("reason"), operation.reason],
                [text("by"), whoOf(operation.by)],
                [text("begun"), <Time key="begun" at={operation.madeAt} />],
                [text("ended"), operation.endedAt ? <Time at={operation.endedAt} /> : null],
                [text("follow_until"), operation.followUntil ? <Time at={operation.followUntil} /> : null],
                [text("rate"), typeof operation.rate === "number" ? text("rate_text", { n: operation.rate }) : null],
                [text("ramp"), ramp ? text("ramp_text", { start: ramp.start ?? 1, factor: ramp.factor ?? 1 }) : null],
                ["", typeof share === "number" ? text("ramp_stop", { share: percent(share) }) : null],
                [text("urgency"), <code key="urgency">{operation.urgency}</code>],
            ]}
        />
    );
}

type Reason = NonNullable<Operation["reasons"]>[number];

export function Reasons({ reasons }: { reasons: readonly Reason[] }) {
    const columns: Column<Reason>[] = [
        { key: "outcome", name: text("outcome"), cell: (row) => <Outcome word={row.outcome} /> },
        { key: "orders", name: text("reasons_orders"), number: true, cell: (row) => number(row.orders) },
        {
            key: "example",
            name: text("example"),
            cell: (row) => (row.example ? <a href={`/orders/${encodeURIComponent(row.example)}`}>{row.example}</a> : null),
        },
        { key: "reason", name: text("reason"), wide: true, head: true, cell: (row) => <span title={row.reason}>{row.reason}</span> },
    ];
    return <Table caption={text("reasons_caption")} columns={columns} rows={reasons} keyOf={(row) => `${row.outcome} ${row.reason}`} />;
}
