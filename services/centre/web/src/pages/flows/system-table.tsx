// The list of called systems.

import type { Schemas } from "../../api/client";
import { read } from "../../api/client";
import { useResource } from "../../api/resource";
import { now } from "../../app/clock";
import { query, to, toWith } from "../../app/router";
import { number, percent, rate, shortTime } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Lines } from "../../parts/lines";
import { Meter } from "../../parts/meter";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { whoOf } from "../../parts/who";
import { flows as text } from "../../text/flows";
import { common } from "../../text/common";
import { Links, Maintenance, ShortAndLong, State, type System } from "./cells";
import { stoppedFirst } from "./rank";
import { SearchByName } from "./search";
import { sumOf } from "./series";

/** Systems of a page: with the flows that call each, more would be too many elements. */
const LIMIT = 75;
/** Flows that are named beside a system; its page has all. */
const NAMED = 3;

export function systemsRequest() {
    return read("/v1/systems", {}, { cursor: query.value.get("cursor"), limit: LIMIT });
}

export function SystemList() {
    const systems = useResource<Schemas["PageOfSystemView"]>(systemsRequest());
    const { data } = systems;
    const wanted = query.value.get("contains") ?? "";
    // The API does not search systems by name, so a search is offered only where this page has all of them.
    const whole = data !== undefined && !data.next && !query.value.has("cursor");
    const fits = (one: System) => !whole || one.system.toLowerCase().includes(wanted.toLowerCase());
    const empty = (all: Schemas["PageOfSystemView"]) => !all.next && !all.items.some(fits);
    return (
        <>
            {whole && (
                <div class="filters">
                    <SearchByName name="contains" />
                </div>
            )}
            <Panel title={text("systems")} resource={systems} empty={empty} emptyText={text(wanted ? "system_none_found" : "system_none")}>
                {(all) => (
                    <>
                        {all.next && <p class="note plain">{text("more_follow_systems")}</p>}
                        <Table
                            caption={text("caption_systems")}
                            columns={columns(systems.state === "fresh")}
                            rows={stoppedFirst(all.items.filter(fits), (one) => one.system)}
                            keyOf={(one) => one.system}
                        />
                        <Pager next={all.next} at={query.value.get("cursor")} />
                    </>
                )}
            </Panel>
        </>
    );
}

function columns(fresh: boolean): Column<System>[] {
    return [
        { key: "system", name: text("system"), head: true, cell: (one) => <a href={to("systems", one.system)}>{one.system}</a> },
        { key: "state", name: text("state"), cell: (one) => <Lines first={<State word={one.state} fresh={fresh} />} second={beside(one)} /> },
        { key: "control", name: text("control"), cell: (one) => <Badge word={one.control} tone={fresh ? undefined : "plain"} /> },
        { key: "progress", name: text("in_progress"), cell: (one) => <Meter label={`${text("in_progress")}: ${one.system}`} value={one.inProgress} of={one.limit} /> },
        { key: "failed", name: text("failed_share"), number: true, cell: failed },
        { key: "rate", name: text("throughput"), number: true, cell: (one) => text("per_second", { n: rate(one.throughput) }) },
        { key: "time", name: text("call_time"), number: true, cell: (one) => <ShortAndLong short={one.shortTerm} long={one.longTerm} /> },
        { key: "flows", name: text("used_by"), cell: usedBy },
    ];
}

function usedBy(one: System) {
    const more = one.flows.length - NAMED;
    return <Lines first={<Links page="flows" names={one.flows.slice(0, NAMED)} />} second={more > 0 && <a href={to("systems", one.system)}>{text("more_flows", { n: more })}</a>} />;
}

/** What holds a system, in a line. */
export function beside(one: System) {
    if (one.maintenance) return <Maintenance window={one.maintenance} />;
    if (one.order) return orderText(one.order);
    if (one.closedUntil && Date.parse(one.closedUntil) > now.value) return text("closed_until", { time: shortTime(one.closedUntil, now.value) });
    return one.stoppedSince ? text("since", { time: shortTime(one.stoppedSince, now.value) }) : undefined;
}

/** Order of an operator about a system, in words. */
export function orderText(order: Schemas["SystemOrderView"]): string {
    return text(order.order === "force_open" ? "order_force_open" : "order_keep_stopped", { by: whoOf(order.by) ?? common("none") });
}

function failed(one: System) {
    if (one.failedShare === null || one.failedShare === undefined) return common("none");
    const count = sumOf(one.errors);
    return <Lines first={percent(one.failedShare)} second={count > 0 && <a href={toWith("errors", { system: one.system })}>{number(count)}</a>} />;
}
