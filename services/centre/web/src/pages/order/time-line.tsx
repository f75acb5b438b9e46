// The time line of an order: its events as bars, the chosen one in words, and a table for those who do not see it.

import { useState } from "preact/hooks";
import { json, read } from "../../api/client";
import { lastStart, useListing } from "../../api/listing";
import { now } from "../../app/clock";
import { query, setQuery } from "../../app/router";
import { duration } from "../../app/time";
import { Button } from "../../parts/button";
import { Disclosure } from "../../parts/disclosure";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import { common } from "../../text/common";
import { order as text } from "../../text/order";
import { Exact, exactTime } from "./exact";
import { ended, type Order } from "./permitted";
import { storyOf, type Event, type Span, type Story } from "./spans";
import { Drawing } from "./time-line-drawing";

/** Events that are drawn at once. */
const EVENTS = 100;
/** Bars, and rows of the table, at most: one stage may have made a thousand calls. */
const BARS = 250;
const TABLE_ROWS = 150;

const eventsBehind = (id: string, number: number, limit: number) => read("/v1/orders/{id}/events", { id }, { limit, after: number || undefined });

export function TimeLine({ order }: { order: Order }) {
    const after = Number(query.value.get("line") ?? 0);
    const events = useListing(eventsBehind(order.id, after, EVENTS), {
        every: 10_000,
        follow: { order: [order.id] },
    });
    return (
        <Panel title={text("timeline")} resource={events} empty={(data) => data.rows.length === 0} emptyText={text("line_empty")}>
            {({ rows, next }) => (
                <>
                    <Line order={order} events={rows} whole={!next} />
                    {(next || after > 0) && <Pages id={order.id} events={rows} after={after} more={next !== undefined} />}
                </>
            )}
        </Panel>
    );
}

function Line({ order, events, whole }: { order: Order; events: readonly Event[]; whole: boolean }) {
    const story = storyOf(events, order, whole, ended(order) ? 0 : now.value);
    const spans = [...story.spans].sort((a, b) => a.from - b.from || a.until - b.until).slice(0, BARS);
    const shown: Story = { ...story, spans };
    const [chosen, setChosen] = useState(0);
    const span = spans[Math.min(chosen, spans.length - 1)];
    return (
        <>
            <Drawing story={shown} chosen={chosen} onChoose={setChosen} />
            <p class="timeline-detail">{span && <Words span={span} />}</p>
            <p class="hint">{text("timeline_hint")}</p>
            <Disclosure summary={text("timeline_table")}>{() => <SpanTable spans={spans.slice(0, TABLE_ROWS)} />}</Disclosure>
        </>
    );
}

function Words({ span }: { span: Span }) {
    return (
        <>
            <strong>{text(`span_${span.lane}`)}</strong>
            <code>{span.kind}</code>
            {span.detail && <span>{span.detail}</span>}
            <span class="number">{`${exactTime(span.from, now.value)} – ${exactTime(span.until, now.value)}`}</span>
            <span class="number strong">{duration(span.until - span.from)}</span>
            {span.outcome && <span class={span.failed ? "bad-text" : "soft"}>{span.outcome}</span>}
        </>
    );
}

function SpanTable({ spans }: { spans: readonly Span[] }) {
    const at = (time: number) => <Exact at={new Date(time).toISOString()} />;
    return (
        <Table
            caption={text("rows_of", { title: text("timeline") })}
            columns={[
                { key: "kind", name: text("kind"), cell: (row) => text(`span_${row.lane}`) },
                { key: "name", name: text("name"), head: true, cell: (row) => <code>{row.kind}</code> },
                { key: "from", name: text("at"), cell: (row) => at(row.from) },
                { key: "until", name: text("until"), cell: (row) => at(row.until) },
                { key: "duration", name: text("duration"), number: true, cell: (row) => duration(row.until - row.from) },
                { key: "detail", name: text("detail"), cell: (row) => row.detail },
                { key: "outcome", name: text("outcome"), cell: (row) => row.outcome },
            ]}
            rows={spans}
            keyOf={(row) => `${row.lane} ${row.from} ${row.detail} ${row.kind}`}
        />
    );
}

function Pages({ id, events, after, more }: { id: string; events: readonly Event[]; after: number; more: boolean }) {
    const [busy, setBusy] = useState(false);
    const move = (place: number) => setQuery({ line: place > 0 ? place : undefined });
    const toEnd = async () => {
        setBusy(true);
        try {
            move(await lastStart(EVENTS, async (number) => (await json(eventsBehind(id, number, 1))).length > 0));
        } finally {
            setBusy(false);
        }
    };
    const last = events.at(-1)?.number ?? after;
    return (
        <>
            <p class="faint">{text("more_events", { from: events[0]?.number ?? after, to: last })}</p>
            <nav class="pager" aria-label={text("timeline")}>
                <Button small disabled={after === 0} onClick={() => move(0)}>
                    {common("page_first")}
                </Button>
                <Button small disabled={after === 0} onClick={() => move(after - EVENTS)}>
                    {text("page_earlier")}
                </Button>
                <Button small disabled={!more} onClick={() => move(last)}>
                    {text("page_later")}
                </Button>
                <Button small disabled={!more} busy={busy} onClick={() => void toEnd()}>
                    {text("page_last")}
                </Button>
            </nav>
        </>
    );
}
