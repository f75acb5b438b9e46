// One called system: how it answers, what its control makes of that, and what an operator can say about it.

import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import { now } from "../app/clock";
import { query, toWith } from "../app/router";
import { duration, number, percent, rate, shortTime } from "../app/time";
import type { PageProps } from "../app/pages";
import { Button } from "../parts/button";
import { ActionDialog } from "../parts/dialog";
import { Facts, Figure } from "../parts/facts";
import { DurationField } from "../parts/field";
import { Meter } from "../parts/meter";
import { Time } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Badge } from "../parts/badge";
import { flows as text } from "../text/flows";
import { common } from "../text/common";
import { Errors, isUnknown, Links, Maintenance, quantiles, State, TimeFigure, Unchanged, type System } from "./flows/cells";
import { DecisionList } from "./flows/decisions";
import { LiveCharts } from "./flows/live-charts";
import { OutcomeNote, type Outcome } from "./flows/outcome";
import { sumOf } from "./flows/series";
import { orderText } from "./flows/system-table";

export default function SystemPage({ name = "" }: PageProps) {
    const request = read("/v1/systems/{name}", { name });
    const system = useResource<System>(request, { every: 2_000 });
    const cursor = query.value.get("cursor");
    const decisions = (from: string | null) => read("/v1/systems/{name}/decisions", { name }, { cursor: from, limit: 100 });
    const recent = useResource<Schemas["PageOfDecisionView"]>(decisions(null));
    const older = useResource<Schemas["PageOfDecisionView"]>(cursor ? decisions(cursor) : null, { every: 0 });
    const [outcome, setOutcome] = useState<Outcome>();
    const done = (one: Outcome) => {
        setOutcome(one);
        for (const resource of [system, recent]) void resource.refresh();
    };
    return (
        <Page
            title={name}
            lead={system.data && <Lead system={system.data} fresh={system.state === "fresh"} />}
            tools={<Tools name={name} hasOrder={Boolean(system.data?.order)} onDone={done} />}
            request={request}
            command={["systems", "show", name]}
        >
            <OutcomeNote outcome={outcome} onClose={() => setOutcome(undefined)} onOutcome={done} />
            <Panel bare title={text("present")} resource={system}>
                {(data) => <Figures system={data} />}
            </Panel>
            {!isUnknown(system) && (
                <>
                    <LiveCharts view={system} decisions={recent} kind="system" name={name} />
                    <DecisionList decisions={cursor ? older : recent} />
                    <Details system={system} />
                </>
            )}
        </Page>
    );
}

const EXPLAINED = {
    healthy: "state_healthy",
    failing: "failing_explained",
    slowing: "state_slowing",
    stopped: "state_stopped_system",
    probing: "state_probing",
    recovering: "state_recovering",
} as const;

/** What the state means; the word of an operator goes before what the calls say. */
function explained({ state, control }: System): string {
    if (control === "kept_stopped") return text("state_kept_stopped");
    if (control === "forced_open") return text("state_forced_open");
    return text(EXPLAINED[state]);
}

function Lead({ system, fresh }: { system: System; fresh: boolean }) {
    const closed = system.closedUntil && Date.parse(system.closedUntil) > now.value;
    return (
        <span class="row">
            <State word={system.state} fresh={fresh} />
            {fresh && <span>{explained(system)}</span>}
            {closed && <span>{text("closed_until", { time: shortTime(system.closedUntil ?? 0, now.value) })}</span>}
            {system.order && <span>{orderText(system.order)}</span>}
            <Maintenance window={system.maintenance} />
            <Unchanged since={system.writtenAt} />
            <a href={toWith("errors", { system: system.system })}>{text("errors_of_system")}</a>
            <a href={toWith("orders", { system: system.system })}>{text("orders_of_system")}</a>
        </span>
    );
}

function Figures({ system }: { system: System }) {
    const errors = sumOf(system.errors);
    const share = system.failedShare;
    return (
        <div class="figures">
            <Figure
                name={text("in_progress")}
                value={<Meter label={text("in_progress")} value={system.inProgress} of={system.limit} />}
                note={system.limit === null || system.limit === undefined ? text("limit_none") : undefined}
            />
            <Figure
                name={text("failed_share")}
                value={share === null || share === undefined ? common("none") : percent(share)}
                note={text("recent_failures", { n: errors })}
                {...(errors > 0 ? { tone: "bad", href: toWith("errors", { system: system.system }) } : {})}
            />
            <Figure name={text("throughput")} value={text("per_second", { n: rate(system.throughput) })} />
            <TimeFigure name={text("call_p50")} short={system.shortTerm} long={system.longTerm} />
            <Figure name={text("open_requests")} value={number(system.openRequests)} />
        </div>
    );
}

function Details({ system }: { system: Shown<System> }) {
    return (
        <Panel title={text("facts")} resource={system}>
            {(data) => (
                <Facts
                    facts={[
                        [text("calls"), <Badge word={data.calls} tone={system.state === "fresh" ? undefined : "plain"} />],
                        [text("control"), <Badge word={data.control} tone={system.state === "fresh" ? undefined : "plain"} />],
                        [text("operator_order"), data.order && <Order order={data.order} />],
                        [text("stopped_since"), data.stoppedSince && <Time at={data.stoppedSince} />],
                        [text("base"), data.baseMs && duration(data.baseMs)],
                        [text("short_term"), quantiles(data.shortTerm)],
                        [text("long_term"), quantiles(data.longTerm)],
                        [text("fact_errors"), <Errors errors={data.errors} query={{ system: data.system }} />],
                        [text("used_by"), <Links page="flows" names={data.flows} />],
                        [text("seen_call"), data.seenAt && <Time at={data.seenAt} />],
                        [text("written"), <Time at={data.writtenAt} />],
                    ]}
                />
            )}
        </Panel>
    );
}

function Order({ order }: { order: Schemas["SystemOrderView"] }) {
    const until = order.until ? text("until", { time: shortTime(order.until, now.value) }) : text("never_ends");
    return (
        <>
            {orderText(order)}, {text("since", { time: shortTime(order.from, now.value) })}, {until}: {order.reason}
        </>
    );
}

type Act = "stop" | "open" | "clear";

const ACTS = {
    stop: { title: "stop_system_title", effect: "stop_system_effect", act: "stop_act", outcome: "outcome_system_stopped", danger: true },
    open: { title: "open_title", effect: "open_effect", act: "open", outcome: "outcome_opened", danger: true },
    clear: { title: "clear_title", effect: "clear_effect", act: "clear", outcome: "outcome_cleared", danger: false },
} as const;

function Tools({ name, hasOrder, onDone }: { name: string; hasOrder: boolean; onDone: (outcome: Outcome) => void }) {
    const [open, setOpen] = useState<Act>();
    return (
        <>
            <a class="button" href={toWith("windows", { new: "system", target: name })}>
                {text("windows_link")}
            </a>
            {hasOrder && (
                <Button needs="operator" onClick={() => setOpen("clear")}>
                    {text("clear")}
                </Button>
            )}
            <Button needs="operator" onClick={() => setOpen("open")}>
                {text("open")}
            </Button>
            <Button kind="danger" needs="operator" onClick={() => setOpen("stop")}>
                {text("stop")}
            </Button>
            {open && <OrderDialog key={open} act={open} name={name} onClose={() => setOpen(undefined)} onDone={onDone} />}
        </>
    );
}

function OrderDialog({ act, name, onClose, onDone }: { act: Act; name: string; onClose: () => void; onDone: (outcome: Outcome) => void }) {
    const [length, setLength] = useState("");
    const words = ACTS[act];
    return (
        <ActionDialog<Schemas["ConfirmationView"]>
            title={text(words.title, { name })}
            act={text(words.act)}
            danger={words.danger}
            reason="required"
            request={(reason) => change("POST", `/v1/systems/{name}/${act}`, { name }, { reason, ...(length ? { for: length } : {}) })}
            onDone={({ confirmed }) => {
                onClose();
                onDone({ words: text(words.outcome, { name }), confirmed });
            }}
            onClose={onClose}
        >
            <p>{text(words.effect)}</p>
            {act !== "clear" && <DurationField label={text("duration_for")} hint={text("duration_hint")} value={length} onInput={setLength} />}
        </ActionDialog>
    );
}
