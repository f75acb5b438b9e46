// What happened over the time that is looked back over.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { duration, number, rate } from "../../app/time";
import { Chart } from "../../parts/chart";
import { Panel } from "../../parts/panel";
import { text } from "../../text/overview";
import { countsOf, ENDED, linesOf, ratesOf } from "./series";

type Stats = Schemas["StatsView"];

export function Charts({ resource }: { resource: Shown<Stats> }) {
    return (
        <div class="columns even">
            <Panel title={text("throughput_chart")} resource={resource} tools={<span class="faint">{text("throughput_unit")}</span>}>
                {(stats) => <Throughput stats={stats} />}
            </Panel>
            <Panel title={text("outcomes_chart")} resource={resource} tools={<StepUnit stats={resource.data} />}>
                {(stats) => <Outcomes stats={stats} />}
            </Panel>
        </div>
    );
}

function StepUnit({ stats }: { stats: Stats | undefined }) {
    return stats ? <span class="faint">{text("outcomes_unit", { step: duration(stats.stepSeconds * 1_000) })}</span> : null;
}

function Throughput({ stats }: { stats: Stats }) {
    const lines = linesOf(stats);
    const rates = (...kinds: Parameters<typeof countsOf>[1]) => ratesOf(lines, stats.stepSeconds, kinds);
    return (
        <Chart
            label={text("throughput_chart")}
            times={lines.times}
            format={rate}
            series={[
                { name: text("registered"), colour: "busy", values: rates("registered") },
                { name: text("ended"), colour: "good", values: rates(...ENDED), filled: true },
                { name: text("failed"), colour: "bad", values: rates("fail"), dashed: true },
            ]}
        />
    );
}

function Outcomes({ stats }: { stats: Stats }) {
    const lines = linesOf(stats);
    return (
        <Chart
            label={text("outcomes_chart")}
            times={lines.times}
            format={number}
            series={[
                { name: text("success"), colour: "good", values: countsOf(lines, ["success"]), filled: true },
                { name: text("failed"), colour: "bad", values: countsOf(lines, ["fail"]), filled: true },
                { name: text("interrupted"), colour: "warn", values: countsOf(lines, ["interrupted"]), dashed: true },
                { name: text("canceled"), colour: "rest", values: countsOf(lines, ["canceled"]), dashed: true },
            ]}
        />
    );
}
