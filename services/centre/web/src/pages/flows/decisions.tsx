// Decisions about a flow or a system: what was decided when, by whom, why, and with which figures.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { query } from "../../app/router";
import { duration, number, rate } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Lines } from "../../parts/lines";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Said } from "../../parts/said";
import { Pager, Table, type Column } from "../../parts/table";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { flows as text } from "../../text/flows";
import { sumOf, type Decision } from "./series";

export function DecisionList({ decisions }: { decisions: Shown<Schemas["PageOfDecisionView"]> }) {
    return (
        <Panel
            title={text("decisions")}
            resource={decisions}
            empty={(data) => data.items.length === 0 && !data.next}
            emptyText={text("decisions_none_ever")}
        >
            {(data) => (
                <>
                    <Table caption={text("caption_decisions")} columns={COLUMNS()} rows={data.items} keyOf={(one) => `${one.at} ${one.state} ${one.why}`} />
                    <Pager next={data.next} at={query.value.get("cursor")} />
                </>
            )}
        </Panel>
    );
}

const COLUMNS = (): Column<Decision>[] => [
    { key: "at", name: text("when"), head: true, cell: (one) => <Time at={one.at} /> },
    { key: "state", name: text("state"), cell: (one) => <Badge word={one.state} /> },
    { key: "limit", name: text("limit"), number: true, cell: (one) => (one.limit === null || one.limit === undefined ? common("none") : number(one.limit)) },
    { key: "why", name: text("why"), cell: (one) => <div class="cell-wide">{<Lines first={<Said text={one.why} />} second={(one.leftOut ?? 0) > 0 && text("left_out", { n: one.leftOut ?? 0 })} />}</div> },
    { key: "by", name: text("by"), cell: (one) => (one.by ? (whoOf(one.by) ?? common("none")) : <span class="faint">{text("by_engine")}</span>) },
    { key: "numbers", name: text("numbers"), cell: (one) => <Figures numbers={one.numbers} /> },
];

function Figures({ numbers }: { numbers: Schemas["DecisionNumbers"] }) {
    const time = (ms: number | null | undefined) => (ms === null || ms === undefined ? common("none") : duration(ms));
    const line = text("numbers_line", {
        inProgress: numbers.inProgress ?? 0,
        rate: rate(numbers.throughput ?? 0),
        p50: time(numbers.p50Ms),
        p99: time(numbers.p99Ms),
    });
    const errors = Object.entries(numbers.errors ?? {}).map(([name, count]) => `${name} ${number(count)}`);
    const ready = numbers.ready ? [text("numbers_ready", { n: numbers.ready })] : [];
    return <Lines first={line} second={[...ready, ...(sumOf(numbers.errors) > 0 ? errors : [])].join(" · ")} />;
}
