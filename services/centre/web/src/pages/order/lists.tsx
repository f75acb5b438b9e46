// The lists of the parts of an order: their requests, and their columns.

import { read, type Query, type Schemas } from "../../api/client";
import { to } from "../../app/router";
import { Badge } from "../../parts/badge";
import { Disclosure } from "../../parts/disclosure";
import { Json } from "../../parts/json";
import type { Column } from "../../parts/table";
import { order as text } from "../../text/order";
import { Exact } from "./exact";
import { ListTable, type ListOf } from "./list";

type Transition = Schemas["TransitionView"];
type Event = Schemas["EventView"];
type Task = Schemas["TaskView"];
type Line = Schemas["LogLineView"];
type Call = Schemas["CallView"];

export const byCursor = (at: string | undefined): Query => ({ cursor: at });

export const TRANSITIONS: ListOf<Transition> = { request: (id, query) => read("/v1/orders/{id}/transitions", { id }, query), size: "limit", place: byCursor };
export const TASKS: ListOf<Task> = { request: (id, query) => read("/v1/orders/{id}/tasks", { id }, query), size: "limit", place: byCursor };
export const CALLS: ListOf<Call> = { request: (id, query) => read("/v1/orders/{id}/calls", { id }, query), size: "limit", place: byCursor };
export const EVENTS: ListOf<Event> = {
    request: (id, query) => read("/v1/orders/{id}/events", { id }, query),
    size: "limit",
    place: (at) => ({ after: at }),
    numbered: true,
};
export const LOG: ListOf<Line> = {
    request: (id, query) => read("/v1/orders/{id}/log", { id }, query) as ReturnType<ListOf<Line>["request"]>,
    size: "size",
    // The link of a page names a cursor with dots; a bare number is that of the line before.
    place: (at) => (at !== undefined && /^\d+$/.test(at) ? { fromLine: Number(at) + 1 } : { cursor: at }),
    numbered: true,
};

const transitionColumns = (): Column<Transition>[] => [
    { key: "number", name: text("number"), number: true, cell: (row) => row.number },
    { key: "at", name: text("at"), cell: (row) => <Exact at={row.at} /> },
    { key: "from", name: text("from"), cell: (row) => <code>{row.from}</code> },
    { key: "event", name: text("event"), head: true, cell: (row) => <code>{row.event}</code> },
    { key: "to", name: text("to"), cell: (row) => <code>{row.to}</code> },
    { key: "hand-out", name: text("hand_out"), number: true, cell: (row) => row.handOut },
    { key: "life", name: text("life"), number: true, cell: (row) => row.life },
    { key: "node", name: text("source"), cell: (row) => row.node },
];

const eventColumns = (): Column<Event>[] => [
    { key: "number", name: text("number"), number: true, cell: (row) => row.number },
    { key: "at", name: text("at"), cell: (row) => <Exact at={row.at} /> },
    { key: "kind", name: text("event"), head: true, cell: (row) => <code>{row.kind}</code> },
    { key: "source", name: text("source"), cell: (row) => row.source },
    { key: "life", name: text("life"), number: true, cell: (row) => row.life },
    { key: "payload", name: text("details"), cell: (row) => <Detail value={row.payload} summary={summaryOf(row.payload)} /> },
];

/** Words of the engine that say the most about an event. */
function summaryOf(payload: unknown): string {
    if (payload === null || typeof payload !== "object") return text("details");
    const values = payload as Record<string, unknown>;
    const words = ["wake", "status", "state", "reason"].map((key) => values[key]).filter((value) => typeof value === "string" && value !== "");
    return words.length > 0 ? words.join(" · ") : text("details");
}

/** A value that is shown when somebody wants to see it. */
export function Detail({ value, summary = text("details") }: { value: unknown; summary?: string }) {
    if (value === null || value === undefined) return null;
    return <Disclosure summary={summary}>{() => <Json value={value} />}</Disclosure>;
}

const taskColumns = (): Column<Task>[] => [
    { key: "kind", name: text("kind"), cell: (row) => row.kind },
    { key: "name", name: text("name"), head: true, cell: (row) => <code>{row.name}</code> },
    { key: "status", name: text("status"), cell: (row) => <Badge word={row.status} tone={row.status === "error" ? "bad" : row.status === "running" ? "busy" : "plain"} /> },
    { key: "attempts", name: text("attempts"), number: true, cell: (row) => row.attempts },
    { key: "scheduled", name: text("scheduled"), cell: (row) => <Exact at={row.scheduledAt} /> },
    { key: "started", name: text("started"), cell: (row) => <Exact at={row.startedAt} /> },
    { key: "finished", name: text("finished"), cell: (row) => <Exact at={row.finishedAt} /> },
    { key: "life", name: text("life"), number: true, cell: (row) => row.life },
    { key: "node", name: text("node"), cell: (row) => row.node && <a href={to("deployment")}>{row.node}</a> },
    { key: "key", name: text("key"), cell: (row) => row.idempotencyKey && <code>{row.idempotencyKey}</code> },
    { key: "trace", name: text("trace"), cell: (row) => row.trace && <code>{row.trace}</code> },
];

const logColumns = (): Column<Line>[] => [
    { key: "line", name: text("line"), number: true, cell: (row) => row.line },
    { key: "at", name: text("at"), cell: (row) => <Exact at={row.at} /> },
    { key: "text", name: text("log_text"), cell: (row) => <code class="log-text">{row.text}</code> },
];

const callColumns = (): Column<Call>[] => [
    { key: "name", name: text("name"), head: true, cell: (row) => <code>{row.name}</code> },
    { key: "status", name: text("status"), cell: (row) => <Badge word={row.status} tone={row.status === "failed" ? "bad" : row.status === "answered" ? "good" : "wait"} /> },
    { key: "received", name: text("received"), cell: (row) => <Exact at={row.receivedAt} /> },
    { key: "answered", name: text("answered"), cell: (row) => <Exact at={row.answeredAt} /> },
    { key: "key", name: text("key"), cell: (row) => <code>{row.key}</code> },
    { key: "answer", name: text("details"), cell: (row) => (row.error ? <span class="sub bad-text">{row.error.message}</span> : <Detail value={row.answer} />) },
];

export function Transitions({ id }: { id: string }) {
    return <ListTable id={id} list={TRANSITIONS} title={text("tab_transitions")} columns={transitionColumns()} keyOf={(row) => row.number} emptyText={text("transitions_empty")} />;
}

export function Events({ id }: { id: string }) {
    return <ListTable id={id} list={EVENTS} title={text("tab_events")} columns={eventColumns()} keyOf={(row) => row.number} emptyText={text("events_empty")} />;
}

export function Tasks({ id }: { id: string }) {
    const keyOf = (row: Task) => `${row.life} ${row.kind} ${row.name} ${row.attempts} ${row.startedAt ?? row.scheduledAt ?? ""}`;
    return <ListTable id={id} list={TASKS} title={text("tab_tasks")} columns={taskColumns()} keyOf={keyOf} emptyText={text("tasks_empty")} />;
}

export function Log({ id }: { id: string }) {
    return <ListTable id={id} list={LOG} title={text("tab_log")} columns={logColumns()} keyOf={(row) => row.line} emptyText={text("line_empty")} />;
}

export function Calls({ id }: { id: string }) {
    return <ListTable id={id} list={CALLS} title={text("tab_calls")} columns={callColumns()} keyOf={(row) => row.key} emptyText={text("calls_empty")} />;
}
