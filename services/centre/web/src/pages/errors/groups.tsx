// The table of groups.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { query, to } from "../../app/router";
import { duration, number, shortTime } from "../../app/time";
import { Button } from "../../parts/button";
import { hrefWith } from "../../parts/choice";
import { Figure } from "../../parts/facts";
import { Age, Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { text } from "../../text/errors";
import type { Bulk } from "./bulk-dialog";
import { bucketsOf, height, type Bucket, type Buckets } from "./hours";
import { conditionsOf, into, type Selection } from "./selection";

type Groups = Schemas["ErrorGroups"];
type Group = Schemas["ErrorGroup"];

interface Props {
    selection: Selection;
    resource: Shown<Groups>;
    /** Whether the cursor of the address is that of this list. */
    paged: boolean;
    onBulk: (bulk: Bulk) => void;
}

export function GroupsPanel({ selection, resource, paged, onBulk }: Props) {
    return (
        <>
            <Panel resource={resource} bare>
                {(groups) => <Totals groups={groups} selection={selection} />}
            </Panel>
            <Panel title={text("groups")} resource={resource} empty={(groups) => groups.items.length === 0} emptyText={text("groups_empty")}>
                {(groups) => (
                    <>
                        {!groups.complete && <p class="note">{text("incomplete")}</p>}
                        <Table
                            caption={text("groups")}
                            columns={columnsOf(selection, groups, onBulk)}
                            rows={groups.items}
                            keyOf={(group) => `${group.scenario ?? ""}/${group.key ?? ""}`}
                        />
                        {paged && <Pager next={groups.next} at={query.value.get("cursor")} />}
                    </>
                )}
            </Panel>
        </>
    );
}

function Totals({ groups, selection }: { groups: Groups; selection: Selection }) {
    const about = (status: "fail" | "retry") => hrefOfOrders(selection, status);
    return (
        <div class="figures">
            <Figure name={text("total_failed")} value={number(groups.failed)} tone={groups.failed > 0 ? "bad" : undefined} href={about("fail")} />
            <Figure name={text("total_retrying")} value={number(groups.retrying)} tone={groups.retrying > 0 ? "warn" : undefined} href={about("retry")} />
        </div>
    );
}

/** The list of the orders of a status: on this page where it has conditions, else on that of all orders. */
function hrefOfOrders({ conditions, since }: Selection, status: "fail" | "retry"): string {
    if (Object.keys(conditions).length > 0) return hrefWith({ status: status === "fail" ? undefined : status, cursor: undefined });
    return status === "fail" ? `/orders?status=fail&finishedSince=${encodeURIComponent(since)}` : "/orders?status=retry";
}

function columnsOf(selection: Selection, groups: Groups, onBulk: (bulk: Bulk) => void): Column<Group>[] {
    const since = Date.parse(groups.since);
    return [
        { key: "group", name: text(`by_${selection.by}`), head: true, cell: (group) => <Key selection={selection} group={group} /> },
        { key: "failed", name: text("failed"), number: true, cell: (group) => <Count selection={selection} group={group} status="fail" /> },
        { key: "retrying", name: text("retrying"), number: true, cell: (group) => <Count selection={selection} group={group} status="retry" /> },
        { key: "hours", name: text("over_time"), cell: (group) => <Hours buckets={bucketsOf(group.hours, since, now.value)} lastAt={group.lastAt} /> },
        { key: "first", name: text("first"), cell: (group) => <Time at={group.hours[0]?.from} /> },
        { key: "last", name: text("last"), cell: (group) => <Age at={group.lastAt} /> },
        { key: "samples", name: text("samples"), cell: (group) => <Samples orders={group.orders.slice(0, 2)} /> },
        { key: "act", name: text("action"), cell: (group) => <Act selection={selection} group={group} since={groups.since} onBulk={onBulk} /> },
    ];
}

function nameOf(selection: Selection, group: Group): string {
    return group.key ?? text(selection.by === "class" ? "class_none" : "none_of");
}

function Key({ selection, group }: { selection: Selection; group: Group }) {
    const way = into(selection, group, group.failed > 0 || group.retrying === 0 ? "fail" : "retry");
    const name = group.key === null ? nameOf(selection, group) : <code>{group.key}</code>;
    return (
        <span class="stacked">
            {way ? <a href={hrefWith(way)}>{name}</a> : name}
            {group.scenario && selection.by !== "scenario" && <span class="faint">{group.scenario}</span>}
        </span>
    );
}

function Count({ selection, group, status }: { selection: Selection; group: Group; status: "fail" | "retry" }) {
    const count = status === "fail" ? group.failed : group.retrying;
    const way = count > 0 ? into(selection, group, status) : undefined;
    if (!way) return <span class={count > 0 ? "" : "faint"}>{number(count)}</span>;
    return (
        <a class={status === "fail" ? "bad-text" : "warn-text"} href={hrefWith(way)}>
            {number(count)}
        </a>
    );
}

function Samples({ orders }: { orders: readonly string[] }) {
    return (
        <span class="row tight">
            {orders.map((id) => (
                <a key={id} href={to("orders", id)}>
                    {id}
                </a>
            ))}
        </span>
    );
}

/** Height of the bars, and the width of each with the space beside it, in units of the picture. */
const [TALL, STEP] = [22, 4];
/** Bars that the picture has room for: fewer stand at its right, where the present is. */
const ROOM = 24;

function Hours({ buckets, lastAt }: { buckets: Buckets; lastAt: string }) {
    const { bars, length, most } = buckets;
    const width = Math.max(ROOM, bars.length) * STEP;
    const left = width - bars.length * STEP;
    const label = text("over_time_most", { n: most, length: duration(length), at: shortTime(lastAt, now.value) });
    return (
        <svg class="hours" viewBox={`0 0 ${width} ${TALL}`} preserveAspectRatio="none" role="img" aria-label={label}>
            <rect class="ground-line" x="0" y={TALL - 0.5} width={width} height="0.5" />
            {bars.map((bar, index) => {
                if (bar.failed + bar.retrying === 0) return null;
                const failed = height(bar.failed, most, TALL - 1);
                const retrying = height(bar.retrying, most, TALL - 1);
                const x = left + index * STEP;
                return (
                    <g key={bar.from}>
                        <title>{titleOf(bar, length)}</title>
                        <rect class="failed" x={x} y={TALL - failed} width={STEP - 1} height={failed} />
                        <rect class="retrying" x={x} y={TALL - failed - retrying} width={STEP - 1} height={retrying} />
                    </g>
                );
            })}
        </svg>
    );
}

function titleOf({ from, failed, retrying }: Bucket, length: number): string {
    return text("hour_of", { failed, retrying, from: shortTime(from, now.value), length: duration(length) });
}

function Act({ selection, group, since, onBulk }: { selection: Selection; group: Group; since: string; onBulk: (bulk: Bulk) => void }) {
    const more = conditionsOf(selection.by, group);
    if (!more) return null;
    const status = group.failed > 0 ? "fail" : "retry";
    const bulk = { conditions: { ...selection.conditions, ...more }, status, since } as const;
    return (
        <Button small needs="operator" label={text("act_on", { group: nameOf(selection, group) })} onClick={() => onBulk(bulk)}>
            {text("act")}
        </Button>
    );
}
