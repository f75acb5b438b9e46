// Stops by hand that hold a flow now, each with the way to lift it.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { Panel } from "../../parts/panel";
import { flows as text } from "../../text/flows";
import type { Outcome } from "./outcome";
import { isHit } from "./rank";
import { StopTable } from "./stops";

export function HeldBy({ flow, stops, onDone }: { flow: string; stops: Shown<Schemas["PageOfStopView"]>; onDone: (outcome: Outcome) => void }) {
    const holding = (stops.data?.items ?? []).filter((stop) => stop.holds && isHit(stop.keyword, flow));
    if (stops.state === "fresh" && holding.length === 0) return null;
    return (
        <Panel title={text("still_held")} resource={stops}>
            {() => <StopTable stops={holding} onDone={onDone} />}
        </Panel>
    );
}
