// A chart over time. Its library is loaded with the first chart, and its colours are those of the theme.

import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { zone } from "../app/time";

export interface Series {
    readonly name: string;
    /** A name of a colour of the style sheet, such as `good` for `--good`. */
    readonly colour: string;
    readonly values: readonly (number | null)[];
    readonly filled?: boolean;
    readonly dashed?: boolean;
    /** Whether a value holds until the next one, as a limit does. */
    readonly stepped?: boolean;
}

/** A point of time with something to say, drawn as a line with a dot; its text is shown where the pointer comes near. */
export interface Mark {
    /** Seconds since 1970. */
    readonly at: number;
    readonly text: string;
    readonly colour?: string;
}

interface Props {
    label: string;
    /** Seconds since 1970, ascending. */
    times: readonly number[];
    series: readonly Series[];
    height?: number;
    marks?: readonly Mark[];
    /** Values as text. */
    format?: (value: number) => string;
    /** Charts of the same word show the same moment under the pointer. */
    sync?: string;
}

export function Chart(props: Props) {
    const box = useRef<HTMLDivElement>(null);
    const chart = useRef<uPlot | undefined>(undefined);
    const latest = useRef(props);
    latest.current = props;
    const names = props.series.map((one) => one.name).join("\n");
    const time = zone.value;
    useEffect(() => {
        let ended = false;
        let watcher: ResizeObserver | undefined;
        const themed = new MutationObserver(() => chart.current?.redraw());
        void import("./chart-drawing").then(({ draw }) => {
            if (ended || !box.current) return;
            chart.current = draw(box.current, () => latest.current, time);
            watcher = new ResizeObserver(() => {
                const width = box.current?.clientWidth ?? 0;
                if (width > 0) chart.current?.setSize({ width, height: latest.current.height ?? 180 });
            });
            watcher.observe(box.current);
            themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
        });
        return () => {
            ended = true;
            watcher?.disconnect();
            themed.disconnect();
            chart.current?.destroy();
            chart.current = undefined;
        };
    }, [names, time]);
    useEffect(() => {
        chart.current?.setData([props.times as number[], ...props.series.map((one) => one.values as (number | null)[])]);
    });
    return (
        <figure class="chart" aria-label={props.label}>
            <div ref={box} role="img" aria-label={summary(props)} data-height={props.height ?? 180} />
        </figure>
    );
}

/** The last values as a sentence, for those who do not see the picture. */
function summary({ label, series, format }: Props): string {
    const last = series.map((one) => {
        const value = one.values.findLast((each) => each !== null);
        return `${one.name} ${value === undefined || value === null ? "–" : (format?.(value) ?? String(value))}`;
    });
    return `${label}: ${last.join(", ")}`;
}
