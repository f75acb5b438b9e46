// The table of groups.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
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
import { bucketsOf, drawn } from "./hours";
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
                            columns={columnsOf(selection, groups, resource.known.value.at ?? since(groups), onBulk)}
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

const since = (groups: Groups) => Date.parse(groups.since);

/** Columns of groups as they were at the time of the answer: bars that moved with the clock would be drawn every second. */
function columnsOf(selection: Selection, groups: Groups, until: number, onBulk: (bulk: Bulk) => void): Column<Group>[] {
    return [
        { key: "group", name: text(`by_${selection.by}`), head: true, cell: (group) => <Key selection={selection} group={group} /> },
        { key: "failed", name: text("failed"), number: true, cell: (group) => <Count selection={selection} group={group} status="fail" /> },
        { key: "retrying", name: text("retrying"), number: true, cell: (group) => <Count selection={selection} group={group} status="retry" /> },
        { key: "hours", name: text("over_time"), cell: (group) => <Hours group={group} since={since(groups)} until={until} /> },
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
        <span class="stacked">
            {orders.map((id) => (
                <a key={id} href={to("orders", id)}>
                    {id}
                </a>
            ))}
        </span>
    );
}

/** Height of the picture in its own units. */
const TALL = 22;

function Hours({ group, since, until }: { group: Group; since: number; until: number }) {
    const buckets = bucketsOf(group.hours, since, until);
    const { width, failed, retrying } = drawn(buckets, TALL);
    const label = text("over_time_most", { n: buckets.most, length: duration(buckets.length), at: shortTime(group.lastAt, until) });
    return (
        <svg class="hours" viewBox={`0 0 ${width} ${TALL}`} preserveAspectRatio="none" role="img" aria-label={label}>
            <title>{label}</title>
            <rect class="ground-line" x="0" y={TALL - 0.5} width={width} height="0.5" />
            <path class="failed" d={failed} />
            <path class="retrying" d={retrying} />
        </svg>
    );
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
