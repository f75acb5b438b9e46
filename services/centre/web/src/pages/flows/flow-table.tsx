// The list of flows: those that stand still first, each figure with what it is held against.

import type { Schemas } from "../../api/client";
import { read } from "../../api/client";
import { useResource } from "../../api/resource";
import { now } from "../../app/clock";
import { query, setQuery, to, toWith } from "../../app/router";
import { duration, number, rate, shortTime } from "../../app/time";
import { Select } from "../../parts/field";
import { Lines } from "../../parts/lines";
import { Meter } from "../../parts/meter";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { flows as text } from "../../text/flows";
import { common } from "../../text/common";
import { Empty, Maintenance, quantiles, Ready, ShortAndLong, State, type Flow } from "./cells";
import { stoppedFirst } from "./rank";
import { SearchByName } from "./search";
import { sumOf } from "./series";

const STATES = ["stopped", "disabled_manually", "probing", "limited", "enabled"] as const;

/** Flows of a page: more would be too many elements. */
const LIMIT = 80;

/** What the list asks for: all that defines it stands in the address. */
export function flowsRequest() {
    const [contains, state, cursor] = ["contains", "state", "cursor"].map((name) => query.value.get(name));
    return read("/v1/flows", {}, { contains, state, cursor, limit: LIMIT });
}

export function FlowList() {
    const flows = useResource<Schemas["PageOfFlowView"]>(flowsRequest());
    const narrowed = query.value.has("contains") || query.value.has("state");
    const next = flows.data?.next;
    return (
        <>
            <div class="filters">
                <SearchByName name="contains" />
                <Select
                    label={text("filter_state")}
                    value={query.value.get("state") ?? ""}
                    options={[{ value: "", text: common("all") }, ...STATES.map((value) => ({ value, text: value }))]}
                    onChange={(state) => setQuery({ state, cursor: undefined })}
                />
            </div>
            <Panel
                title={text("flows")}
                resource={flows}
                empty={(data) => data.items.length === 0 && !data.next}
                emptyText={text(narrowed ? "flow_none_found" : "flow_none")}
            >
                {(data) => (
                    <>
                        {next && !query.value.has("state") && <p class="note plain">{text("more_follow")}</p>}
                        <Table
                            caption={text("caption_flows")}
                            columns={columns(flows.state === "fresh")}
                            rows={stoppedFirst(data.items, (flow) => flow.flow)}
                            keyOf={(flow) => flow.flow}
                        />
                        <Pager next={next} at={query.value.get("cursor")} />
                    </>
                )}
            </Panel>
        </>
    );
}

function columns(fresh: boolean): Column<Flow>[] {
    return [
        { key: "flow", name: text("flow"), head: true, cell: (flow) => <a href={to("flows", flow.flow)}>{flow.flow}</a> },
        { key: "state", name: text("state"), cell: (flow) => <Lines first={<State word={flow.state} fresh={fresh} />} second={beside(flow)} /> },
        { key: "progress", name: text("in_progress"), cell: (flow) => <Meter label={`${text("in_progress")}: ${flow.flow}`} value={flow.inProgress + flow.countedRequests} of={flow.limit} /> },
        { key: "ready", name: text("ready"), number: true, cell: (flow) => <Ready flow={flow} /> },
        { key: "empty", name: text("time_to_empty"), number: true, cell: (flow) => <Empty flow={flow} fresh={fresh} /> },
        { key: "waits", name: text("waits"), number: true, cell: (flow) => <Lines first={quantiles(flow.waits)} second={oldest(flow)} /> },
        { key: "rate", name: text("throughput"), number: true, cell: (flow) => text("per_second", { n: rate(flow.throughput) }) },
        { key: "time", name: text("stage_time"), number: true, cell: (flow) => <ShortAndLong short={flow.shortTerm} long={flow.longTerm} /> },
        { key: "failed", name: text("failed"), number: true, cell: failed },
    ];
}

function beside(flow: Flow) {
    if (flow.maintenance) return <Maintenance window={flow.maintenance} />;
    if (flow.stoppedSince) return text("since", { time: shortTime(flow.stoppedSince, now.value) });
    return flow.atLimit ? text("at_limit") : undefined;
}

function oldest(flow: Flow) {
    if (!flow.oldestReadySince) return undefined;
    return text("oldest", { age: duration(now.value - Date.parse(flow.oldestReadySince)) });
}

function failed(flow: Flow) {
    const count = sumOf(flow.errors);
    return count === 0 ? number(0) : <a href={toWith("orders", { flow: flow.flow, class: Object.keys(flow.errors).join(",") })}>{number(count)}</a>;
}
