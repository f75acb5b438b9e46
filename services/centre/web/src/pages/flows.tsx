// Flows, called systems and actors: what goes, what stands still and why, with the means to stop and to resume.

import { useState } from "preact/hooks";
import { read, type ApiRequest, type Schemas } from "../api/client";
import { useResource } from "../api/resource";
import { query } from "../app/router";
import { Button } from "../parts/button";
import { Page } from "../parts/page";
import { chosenTab, Tabs } from "../parts/tabs";
import { flows as text } from "../text/flows";
import { ActorList } from "./flows/actors";
import { FlowList, flowsRequest } from "./flows/flow-table";
import { OutcomeNote, type Outcome } from "./flows/outcome";
import { ShiftDialog, UndoByNumber } from "./flows/shift-dialog";
import { StopDialog } from "./flows/stop-dialogs";
import { StopList } from "./flows/stops";
import { SystemList, systemsRequest } from "./flows/system-table";

export default function Flows() {
    const onTab = (tab: string) => query.value.get("tab") === tab;
    const cursor = (tab: string) => (onTab(tab) ? query.value.get("cursor") : null);
    const stopsRequest = read("/v1/stops", {}, { ended: onTab("stops") ? query.value.get("ended") : null, cursor: cursor("stops"), limit: 100 });
    const actorsRequest = read("/v1/actors", {}, { cursor: cursor("actors"), limit: 100 });
    const stops = useResource<Schemas["PageOfStopView"]>(stopsRequest);
    const actors = useResource<Schemas["PageOfActorView"]>(actorsRequest, { every: onTab("actors") ? 5_000 : 30_000 });
    const hasActors = onTab("actors") || (actors.data?.items.length ?? 0) > 0;
    const holding = stops.data?.items.filter((stop) => stop.holds).length;
    const tabs = [
        { key: "flows", name: text("flows") },
        { key: "systems", name: text("systems") },
        ...(hasActors ? [{ key: "actors", name: text("actor_title") }] : []),
        { key: "stops", name: text("stops"), count: stops.state === "fresh" && !stops.data?.next ? holding : undefined },
    ];
    const tab = chosenTab(tabs);
    const [outcome, setOutcome] = useState<Outcome>();
    const done = (one: Outcome) => {
        setOutcome(one);
        void stops.refresh();
    };
    const asked: Record<string, [ApiRequest, string[]]> = {
        flows: [flowsRequest(), listCommand()],
        systems: [systemsRequest(), ["systems", "list"]],
        actors: [actorsRequest, ["actors", "list"]],
        stops: [stopsRequest, ["flows", "stops", onTab("stops") && query.value.get("ended") ? "--ended" : ""]],
    };
    const [request, command] = asked[tab] ?? [flowsRequest(), listCommand()];
    return (
        <Page title={text("title")} tools={<Tools onDone={done} />} request={request} command={command}>
            <OutcomeNote outcome={outcome} onClose={() => setOutcome(undefined)} onOutcome={done} />
            <Tabs label={text("title")} tabs={tabs} />
            {tab === "flows" && <FlowList />}
            {tab === "systems" && <SystemList />}
            {tab === "actors" && <ActorList actors={actors} />}
            {tab === "stops" && <StopList stops={stops} onDone={done} />}
        </Page>
    );
}

function listCommand(): string[] {
    const [keyword, state] = [query.value.get("contains"), query.value.get("state")];
    return ["flows", "list", keyword ?? "", ...(state ? ["--state", state] : [])];
}

function Tools({ onDone }: { onDone: (outcome: Outcome) => void }) {
    const [open, setOpen] = useState<"stop" | "shift" | "undo">();
    const close = () => setOpen(undefined);
    const done = (outcome: Outcome) => {
        close();
        onDone(outcome);
    };
    const keyword = query.value.get("contains") ?? "";
    return (
        <>
            <Button needs="operator" onClick={() => setOpen("shift")}>
                {text("shift")}
            </Button>
            <Button kind="quiet" needs="operator" onClick={() => setOpen("undo")}>
                {text("shift_undo_act")}
            </Button>
            <Button kind="danger" needs="operator" onClick={() => setOpen("stop")}>
                {text("stop_flows")}
            </Button>
            {open === "stop" && <StopDialog keyword={keyword} onClose={close} onDone={done} />}
            {open === "shift" && <ShiftDialog keyword={keyword} onClose={close} onDone={done} />}
            {open === "undo" && <UndoByNumber onClose={close} onDone={done} />}
        </>
    );
}
