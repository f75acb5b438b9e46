// The overview: whether all is well, and where to look if it is not.

import { read } from "../api/client";
import { useResource } from "../api/resource";
import { Choice, chosenOf } from "../parts/choice";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { text } from "../text/overview";
import { Failures, Scenarios, Statuses, Systems, Waking } from "./overview/breakdown";
import { Charts } from "./overview/charts";
import { Figures } from "./overview/figures";
import { SlowestFlows, TroublePanel, TROUBLES } from "./overview/flows";
import { PACES, RANGES, STEPS, USUAL_RANGE } from "./overview/ranges";
import { VerdictPanel } from "./overview/verdict-panel";

export default function Overview() {
    const range = chosenOf("range", RANGES, USUAL_RANGE);
    const trouble = chosenOf("trouble", TROUBLES, "flows");
    const stats = useResource(read("/v1/stats", {}, { since: range, step: STEPS[range] }), { every: PACES[range] });
    const doctor = useResource(read("/v1/doctor"), { every: 10_000 });
    const flows = useResource(read("/v1/flows", {}, { limit: 100 }));
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
                {(data) => <Figures stats={data} range={range} />}
            </Panel>
            <Charts resource={stats} />
            <div class="columns even">
                <TroublePanel kind={trouble} flows={flows} />
                <Failures resource={stats} range={range} />
                <Scenarios resource={stats} range={range} />
                <Statuses resource={stats} />
                <SlowestFlows resource={flows} />
                <Systems resource={stats} range={range} />
            </div>
            <Waking resource={stats} />
        </Page>
    );
}
