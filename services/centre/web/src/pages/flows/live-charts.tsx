// Live charts of a flow or a system: what was decided before the page was opened, and what was polled since.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { query, setQuery } from "../../app/router";
import { duration, number, rate, shortTime } from "../../app/time";
import { Chart, type Mark, type Series } from "../../parts/chart";
import { Select } from "../../parts/field";
import { Panel } from "../../parts/panel";
import { flows as text } from "../../text/flows";
import { figuresOf, joined, valuesOf, withPoint, type Decision, type Figures, type Point } from "./series";

type View = Schemas["FlowView"] | Schemas["SystemView"];

const RANGES = { "5m": 300_000, "15m": 900_000, "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000 } as const;
type Range = keyof typeof RANGES;

/** Distance of two points from which on nothing is known of what was between. */
const QUIET = 30_000;

/** The span of time that is shown, by the address. */
export function chosenRange(): Range {
    const wanted = query.value.get("range") as Range | null;
    return wanted && wanted in RANGES ? wanted : "5m";
}

/** Points of a view as it was polled while the page is open. */
export function usePoints<T extends View>(resource: Shown<T>): readonly Point[] {
    const [points, setPoints] = useState<readonly Point[]>([]);
    const { data, at } = resource.known.value;
    useEffect(() => {
        if (data && at !== undefined) setPoints((before) => withPoint(before, { at, ...figuresOf(data) }));
    }, [data, at]);
    return points;
}

interface Props<T extends View> {
    view: Shown<T>;
    decisions: Shown<Schemas["PageOfDecisionView"]>;
    /** Whether it is a flow, whose stages become ready, or a system, whose calls do not. */
    kind: "flow" | "system";
    name: string;
}

export function LiveCharts<T extends View>({ view, decisions, kind, name }: Props<T>) {
    const polled = usePoints(view);
    const range = chosenRange();
    const tools = (
        <Select label={text("live_range")} value={range} options={Object.keys(RANGES).map((value) => ({ value: value as Range, text: text(`range_${value as Range}`) }))} onChange={(value) => setQuery({ range: value })} />
    );
    const since = (polled.at(-1)?.at ?? Date.now()) - RANGES[range];
    const hint = ({ items, next }: Schemas["PageOfDecisionView"]) => {
        const oldest = items.at(-1)?.at;
        return next && oldest && Date.parse(oldest) > since ? text("decisions_reach", { time: shortTime(oldest, now.value) }) : text("charts_hint");
    };
    return (
        <Panel title={text("charts")} tools={tools} resource={decisions}>
            {(page) => (
                <>
                    <Drawn polled={polled} decisions={page.items} since={since} kind={kind} name={name} usual={view.data?.longTerm.p50Ms} />
                    <p class="faint">{hint(page)}</p>
                </>
            )}
        </Panel>
    );
}

interface DrawnProps {
    polled: readonly Point[];
    decisions: readonly Decision[];
    since: number;
    kind: "flow" | "system";
    name: string;
    usual: number | null | undefined;
}

function Drawn({ polled, decisions, since, kind, name, usual }: DrawnProps) {
    const points = useMemo(() => joined(decisions, polled, since, QUIET), [decisions, polled, since]);
    const marks = useMemo(() => decisions.map(markOf), [decisions]);
    const line = (figure: keyof Figures, of: string, colour: string, more: Partial<Series> = {}): Series => ({ name: of, colour, values: valuesOf(points, figure), ...more });
    const charts: { title: string; series: Series[]; format: (value: number) => string; wide?: boolean }[] = [
        {
            title: text("chart_limit"),
            series: [line("inProgress", text("in_progress"), "accent", { filled: true }), line("limit", text("limit"), "warn", { stepped: true })],
            format: (value) => number(value, 1),
            wide: true,
        },
        { title: text("chart_throughput"), series: [line("throughput", text("throughput"), "accent", { filled: true })], format: (value) => text("per_second", { n: rate(value) }) },
        {
            title: text(kind === "flow" ? "chart_time" : "chart_time_call"),
            series: [line("p50", "p50", "accent"), line("p99", "p99", "busy"), { name: text("long_term_p50"), colour: "text-faint", dashed: true, values: points.map(() => usual ?? null) }],
            format: (value) => duration(value),
        },
        { title: text("chart_errors"), series: [line("errors", text("failed"), "bad", { filled: true })], format: (value) => number(value, 1) },
        ...(kind === "flow" ? [{ title: text("chart_ready"), series: [line("ready", text("ready"), "wait", { filled: true })], format: (value: number) => number(value, 1) }] : []),
    ];
    const times = points.map((point) => point.at / 1_000);
    return (
        <div class="charts">
            {charts.map(({ title, series, format, wide }) => (
                <section key={title} class={wide ? "wide-chart" : ""}>
                    <h3>{title}</h3>
                    <Chart label={`${title}, ${name}`} times={times} series={series} marks={marks} format={format} height={wide ? 240 : 180} sync={name} />
                </section>
            ))}
        </div>
    );
}

const COLOURS: Record<string, string> = { stopped: "bad", kept_stopped: "rest", disabled_manually: "rest", probing: "busy", enabled: "good", healthy: "good", open: "good", forced_open: "rest" };

function markOf(decision: Decision): Mark {
    const at = Date.parse(decision.at);
    return { at: at / 1_000, text: `${shortTime(at, Date.now())} ${decision.state}: ${decision.why}`, colour: COLOURS[decision.state] ?? "warn" };
}
