// The overview: whether all is well, and where to look if it is not.

import { read } from "../api/client";
import { useResource } from "../api/resource";
import { now } from "../app/clock";
import { seesWhole } from "../app/session";
import { shortTime } from "../app/time";
import { Choice, chosenOf } from "../parts/choice";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { text } from "../text/overview";
import { Failures, Scenarios, Statuses, Systems, Waking } from "./overview/breakdown";
import { Charts } from "./overview/charts";
import { Figures } from "./overview/figures";
import { SlowestFlows, TroublePanel, TROUBLES } from "./overview/flows";
import { isShort, PACES, RANGES, STEPS, USUAL_RANGE } from "./overview/ranges";
import { VerdictPanel } from "./overview/verdict-panel";

export default function Overview() {
    return seesWhole.value ? <Whole /> : <Own />;
}

/** What members of some tenants see: their flows, and their orders by status. The other figures are of all orders together. */
function Own() {
    const trouble = chosenOf("trouble", TROUBLES, "flows");
    const stats = useResource(read("/v1/stats"), { every: 10_000 });
    const flows = useResource(trouble === "flows" ? read("/v1/flows", {}, { limit: 100 }) : null);
    return (
        <Page title={text("title")} request={stats.request} command={["top", "--once"]}>
            <p class="faint">{text("own_tenants")}</p>
            <div class="columns even uneven">
                <TroublePanel kind={trouble} flows={flows} />
                <Statuses resource={stats} />
            </div>
            {trouble === "flows" && <SlowestFlows resource={flows} />}
        </Page>
    );
}

function Whole() {
    const range = chosenOf("range", RANGES, USUAL_RANGE);
    const trouble = chosenOf("trouble", TROUBLES, "flows");
    const stats = useResource(read("/v1/stats", {}, { since: range, step: STEPS[range] }), { every: PACES[range] });
    const doctor = useResource(read("/v1/doctor"), { every: 10_000 });
    // Whatever is looked at, the page asks three things: flows only where they are.
    const flows = useResource(trouble === "flows" ? read("/v1/flows", {}, { limit: 100 }) : null);
    const tools = (
        <Choice
            label={text("range")}
            name="range"
            chosen={range}
            usual={USUAL_RANGE}
            options={RANGES.map((value) => ({ value, text: text(`range_${value}`) }))}
        />
    );
    return (
        <Page title={text("title")} tools={tools} request={stats.request} command={["top", "--once"]}>
            <VerdictPanel resource={doctor} />
            <Panel resource={stats} bare>
                {(data) => (
                    <>
                        <Figures stats={data} range={range} />
                        {isShort(range, data) && <p class="note spaced">{text("since_later", { time: shortTime(data.since, now.value) })}</p>}
                    </>
                )}
            </Panel>
            <Charts resource={stats} />
            <div class="columns even uneven">
                <TroublePanel kind={trouble} flows={flows} />
                <Failures resource={stats} range={range} />
            </div>
            <div class="columns even">
                <Scenarios resource={stats} range={range} />
                <Statuses resource={stats} />
                {trouble === "flows" ? <SlowestFlows resource={flows} /> : <Waking resource={stats} />}
                <Systems resource={stats} range={range} />
            </div>
            {trouble === "flows" && <Waking resource={stats} />}
        </Page>
    );
}
