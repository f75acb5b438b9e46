// One flow: its figures, live charts with the decisions of the controller, and why it was decided so.

import { useState } from "preact/hooks";
import { read, type Schemas } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import { now } from "../app/clock";
import { query, toWith } from "../app/router";
import { duration, number, rate, shortTime } from "../app/time";
import type { PageProps } from "../app/pages";
import { Button } from "../parts/button";
import { Disclosure } from "../parts/disclosure";
import { Facts, Figure } from "../parts/facts";
import { LedgerSums } from "../parts/ledger-sums";
import { Meter } from "../parts/meter";
import { Age, Time } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { flows as text } from "../text/flows";
import { ledger } from "../text/ledger";
import { Empty, Errors, isUnknown, Links, Maintenance, quantiles, readyOf, readyParts, State, TimeFigure, Unchanged, type Flow } from "./flows/cells";
import { DecisionList } from "./flows/decisions";
import { HeldBy } from "./flows/held-by";
import { LiveCharts } from "./flows/live-charts";
import { OutcomeNote, type Outcome } from "./flows/outcome";
import { sumOf } from "./flows/series";
import { ShiftDialog } from "./flows/shift-dialog";
import { StopDialog } from "./flows/stop-dialogs";
import { WhatIf } from "./flows/what-if";

export default function FlowPage({ flow: name = "" }: PageProps) {
    const request = read("/v1/flows/{flow}", { flow: name });
    const flow = useResource<Flow>(request, { every: 2_000 });
    const cursor = query.value.get("cursor");
    const decisions = (from: string | null) => read("/v1/flows/{flow}/decisions", { flow: name }, { cursor: from, limit: 100 });
    const recent = useResource<Schemas["PageOfDecisionView"]>(decisions(null));
    const older = useResource<Schemas["PageOfDecisionView"]>(cursor ? decisions(cursor) : null, { every: 0 });
    const stopped = flow.data?.state === "disabled_manually";
    const stops = useResource<Schemas["PageOfStopView"]>(stopped ? read("/v1/stops", {}, { limit: 100 }) : null);
    const [outcome, setOutcome] = useState<Outcome>();
    const done = (one: Outcome) => {
        setOutcome(one);
        for (const resource of [flow, recent]) void resource.refresh();
        if (stopped) void stops.refresh();
    };
    return (
        <Page
            title={name}
            lead={flow.data && <Lead flow={flow.data} fresh={flow.state === "fresh"} />}
            tools={<Tools keyword={name} onDone={done} />}
            request={request}
            command={["flows", "show", name]}
        >
            <OutcomeNote outcome={outcome} onClose={() => setOutcome(undefined)} onOutcome={done} />
            {stopped && <HeldBy flow={name} stops={stops} onDone={done} />}
            <Panel bare title={text("present")} resource={flow}>
                {(data) => <Figures flow={data} fresh={flow.state === "fresh"} />}
            </Panel>
            {!isUnknown(flow) && (
                <>
                    <LiveCharts view={flow} decisions={recent} kind="flow" name={name} />
                    <DecisionList decisions={cursor ? older : recent} />
                    <Details flow={flow} />
                    <WhatIf flow={name} />
                    <Disclosure summary={ledger("title")}>{() => <LedgerSums of={{ flow: name }} />}</Disclosure>
                </>
            )}
        </Page>
    );
}

const EXPLAINED = { enabled: "state_enabled", limited: "state_limited", stopped: "state_stopped", probing: "state_probing", disabled_manually: "state_disabled_manually" } as const;

function Lead({ flow, fresh }: { flow: Flow; fresh: boolean }) {
    return (
        <span class="row">
            <State word={flow.state} fresh={fresh} />
            {fresh && <span>{text(EXPLAINED[flow.state])}</span>}
            {flow.stoppedSince && <span>{text("since", { time: shortTime(flow.stoppedSince, now.value) })}</span>}
            <Maintenance window={flow.maintenance} />
            <Unchanged since={flow.writtenAt} />
            <a href={toWith("orders", { flow: flow.flow })}>{text("orders_of_flow")}</a>
            <a href={toWith("orders", { flow: flow.flow, status: "retry" })}>{text("retrying")}</a>
            <a href={toWith("orders", { flow: flow.flow, status: "fail" })}>{text("errors_of_flow")}</a>
        </span>
    );
}

function Figures({ flow, fresh }: { flow: Flow; fresh: boolean }) {
    const errors = sumOf(flow.errors);
    const ready = readyOf(flow);
    return (
        <div class="figures">
            <Figure
                name={text("in_progress")}
                value={<Meter label={text("in_progress")} value={flow.inProgress + flow.countedRequests} of={flow.limit} />}
                note={flow.limit === null || flow.limit === undefined ? text("limit_none") : flow.atLimit && text("at_limit")}
                href={toWith("orders", { flow: flow.flow, status: "running" })}
            />
            <Figure name={text("ready")} value={number(ready)} note={readyParts(flow)} href={toWith("orders", { flow: flow.flow, status: "new,reopen" })} />
            <Figure name={text("time_to_empty")} value={<Empty flow={flow} fresh={fresh} />} />
            <Figure name={text("throughput")} value={text("per_second", { n: rate(flow.throughput) })} />
            <TimeFigure name={text("stage_p50")} short={flow.shortTerm} long={flow.longTerm} />
            <Figure name={text("failed")} value={number(errors)} {...(errors > 0 ? { tone: "bad" } : {})} href={toWith("orders", { flow: flow.flow, class: Object.keys(flow.errors).join(",") })} />
        </div>
    );
}

function Details({ flow }: { flow: Shown<Flow> }) {
    return (
        <Panel title={text("facts")} resource={flow}>
            {(data) => (
                <Facts
                    facts={[
                        [text("waits_fact"), quantiles(data.waits)],
                        [text("oldest_ready"), data.oldestReadySince && <Age at={data.oldestReadySince} />],
                        [text("short_term"), quantiles(data.shortTerm)],
                        [text("long_term"), quantiles(data.longTerm)],
                        [text("success_time"), quantiles(data.successes)],
                        [text("answers"), quantiles(data.answers)],
                        [text("open_requests"), number(data.openRequests)],
                        [text("counted"), number(data.countedRequests)],
                        [text("pace"), text("per_second", { n: rate(data.pace) })],
                        [text("queue_pace"), data.queuePace && text("queue_pace_value", { turn: duration(data.queuePace.turn * 1_000), doubt: duration(data.queuePace.doubt * 1_000) })],
                        [text("fact_errors"), <Errors errors={data.errors} query={{ flow: data.flow }} />],
                        [text("systems_called"), <Links page="systems" names={data.systems} />],
                        [text("seen"), data.seenAt && <Time at={data.seenAt} />],
                        [text("written"), <Time at={data.writtenAt} />],
                    ]}
                />
            )}
        </Panel>
    );
}

function Tools({ keyword, onDone }: { keyword: string; onDone: (outcome: Outcome) => void }) {
    const [open, setOpen] = useState<"stop" | "shift">();
    const close = () => setOpen(undefined);
    const done = (outcome: Outcome) => {
        close();
        onDone(outcome);
    };
    return (
        <>
            <a class="button" href={toWith("windows", { new: "flow", target: keyword })}>
                {text("windows_link")}
            </a>
            <Button needs="operator" onClick={() => setOpen("shift")}>
                {text("shift")}
            </Button>
            <Button kind="danger" needs="operator" onClick={() => setOpen("stop")}>
                {text("stop")}
            </Button>
            {open === "stop" && <StopDialog keyword={keyword} onClose={close} onDone={done} />}
            {open === "shift" && <ShiftDialog keyword={keyword} onClose={close} onDone={done} />}
        </>
    );
}
