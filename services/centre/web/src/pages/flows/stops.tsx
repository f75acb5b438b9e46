// Stops by hand: who stopped what, until when and why; each with the way to lift it.

import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { query, setQuery, toWith } from "../../app/router";
import { shortTime } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Lines } from "../../parts/lines";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { flows as text } from "../../text/flows";
import { flowStop } from "../../text/flow-stops";
import type { Outcome } from "./outcome";
import { ResumeDialog } from "./stop-dialogs";

export type Stop = Schemas["StopView"];

export function StopList({ stops, onDone }: { stops: Shown<Schemas["PageOfStopView"]>; onDone: (outcome: Outcome) => void }) {
    const ended = query.value.get("ended") === "true";
    const tools = (
        <label class="check">
            <input type="checkbox" checked={ended} onInput={() => setQuery({ ended: ended ? undefined : true, cursor: undefined })} />
            {flowStop("stop_ended")}
        </label>
    );
    return (
        <Panel title={text("stops")} tools={tools} resource={stops} empty={(data) => data.items.length === 0} emptyText={flowStop("stop_none")}>
            {(data) => (
                <>
                    <StopTable stops={data.items} onDone={onDone} />
                    <Pager next={data.next} at={query.value.get("cursor")} />
                </>
            )}
        </Panel>
    );
}

export function StopTable({ stops, onDone }: { stops: readonly Stop[]; onDone: (outcome: Outcome) => void }) {
    const [lifting, setLifting] = useState<Stop>();
    return (
        <>
            <Table caption={flowStop("caption_stops")} columns={columns(setLifting)} rows={stops} keyOf={(stop) => stop.stop} />
            {lifting && (
                <ResumeDialog
                    stop={lifting.stop}
                    keyword={lifting.keyword}
                    onClose={() => setLifting(undefined)}
                    onDone={(outcome) => {
                        setLifting(undefined);
                        onDone(outcome);
                    }}
                />
            )}
        </>
    );
}

function columns(lift: (stop: Stop) => void): Column<Stop>[] {
    return [
        { key: "stop", name: flowStop("stop_no"), head: true, cell: (stop) => stop.stop },
        { key: "keyword", name: text("keyword"), cell: (stop) => <a href={toWith("flows", { contains: stop.keyword })}>{stop.keyword}</a> },
        { key: "state", name: text("state"), cell: state },
        { key: "from", name: flowStop("stop_from"), cell: (stop) => <Time at={stop.from} /> },
        { key: "until", name: flowStop("stop_until"), cell: (stop) => (stop.until ? <Time at={stop.until} /> : text("never_ends")) },
        { key: "by", name: flowStop("stop_by"), cell: (stop) => whoOf(stop.by) ?? common("none") },
        { key: "reason", name: common("reason"), cell: (stop) => <div class="cell-wide">{<Lines first={stop.reason} second={lifted(stop)} />}</div> },
        {
            key: "act",
            name: flowStop("resume"),
            cell: (stop) =>
                stop.holds && (
                    <Button small needs="operator" label={`${flowStop("resume")}: ${flowStop("resume_title", { stop: stop.stop, keyword: stop.keyword })}`} onClick={() => lift(stop)}>
                        {flowStop("resume")}
                    </Button>
                ),
        },
    ];
}

function state(stop: Stop) {
    if (stop.liftedAt) return <Badge word={flowStop("stop_lifted")} tone="plain" />;
    return stop.holds ? <Badge word={flowStop("stop_holds")} tone="bad" /> : <Badge word={flowStop("stop_over")} tone="plain" />;
}

function lifted(stop: Stop) {
    if (!stop.liftedAt) return undefined;
    const words = flowStop("stop_lifted_by", { by: whoOf(stop.liftedBy) ?? common("none"), time: shortTime(stop.liftedAt, now.value) });
    return stop.liftReason ? `${words}: ${stop.liftReason}` : words;
}
