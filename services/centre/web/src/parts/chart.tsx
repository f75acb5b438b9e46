// A chart over time, as an SVG picture in the colours of the theme. The moment under the pointer has its values in the legend.

import { signal } from "@preact/signals";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import { exactSecond, zone } from "../app/time";
import { common } from "../text/common";
import { frameOf, lineOf, nearest, timeLabels, valueLabels, type Frame } from "./chart-scale";
import { useWidth } from "./width";

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

/** The moment under the pointer, in seconds, the chart that it is over, and the charts that show it. */
const pointed = signal<{ chart: string; group: string; time: number } | undefined>(undefined);

/** Distance in pixels at which the pointer is near a mark. */
const NEAR = 12;

const colour = (name: string) => `var(--${name})`;

export function Chart(props: Props) {
    const { label, times, series, height = 180, marks = [], format = String } = props;
    const box = useRef<HTMLDivElement>(null);
    const width = useWidth(box);
    const id = useId();
    const group = props.sync ?? id;
    const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
    const shown = series.filter((one) => !hidden.has(one.name));
    const frame = frameOf(times, shown.map((one) => one.values), width, height);
    const toggle = (name: string) => setHidden(new Set(hidden.has(name) ? [...hidden].filter((one) => one !== name) : [...hidden, name]));
    const onPointerMove = (event: PointerEvent & { currentTarget: HTMLElement }) => {
        const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
        pointed.value = x < frame.left || x > frame.right ? undefined : { chart: id, group, time: frame.timeOf(x) };
    };
    return (
        <figure class="chart" aria-label={label}>
            <div ref={box} class="chart-picture" role="img" aria-label={summary(props)} data-height={height} onPointerMove={onPointerMove} onPointerLeave={() => (pointed.value = undefined)}>
                {width > 0 && (
                    <svg width="100%" height={height} aria-hidden="true">
                        <Axes frame={frame} zone={zone.value} format={format} />
                        {shown.map((one) => (
                            <LineOf key={one.name} frame={frame} times={times} series={one} />
                        ))}
                        <Marks frame={frame} marks={marks} />
                        <Cursor frame={frame} times={times} series={shown} group={group} />
                    </svg>
                )}
                <Note frame={frame} marks={marks} chart={id} />
            </div>
            <Legend times={times} series={series} hidden={hidden} group={group} format={format} onToggle={toggle} />
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

function Axes({ frame, zone, format }: { frame: Frame; zone: string; format: (value: number) => string }) {
    const { left, right, top, bottom } = frame;
    return (
        <>
            {valueLabels(frame, format).map(({ at, text }) => (
                <g key={text}>
                    <path class="chart-grid" d={`M${left},${at}H${right}`} />
                    <text x={left - 8} y={at} class="of-value">
                        {text}
                    </text>
                </g>
            ))}
            {timeLabels(frame, zone).map(({ at, text, day }) => (
                <g key={at}>
                    <path class="chart-grid" d={`M${at},${top}V${bottom}`} />
                    <text x={at} y={bottom + 16}>
                        {text}
                    </text>
                    {day && (
                        <text x={at} y={bottom + 30}>
                            {day}
                        </text>
                    )}
                </g>
            ))}
        </>
    );
}

function LineOf({ frame, times, series }: { frame: Frame; times: readonly number[]; series: Series }) {
    const { path, area, lone } = lineOf(frame, times, series.values, series.stepped);
    const stroke = colour(series.colour);
    return (
        <g>
            {series.filled && <path d={area} fill={stroke} fill-opacity="0.15" />}
            <path class="chart-line" d={path} stroke={stroke} stroke-dasharray={series.dashed ? "5 4" : undefined} />
            {lone.map(({ x, y }) => (
                <circle key={x} cx={x} cy={y} r="2" fill={stroke} />
            ))}
        </g>
    );
}

function Marks({ frame, marks }: { frame: Frame; marks: readonly Mark[] }) {
    const { left, right, top, bottom, xOf } = frame;
    const within = marks.map((mark) => ({ x: xOf(mark.at), tone: colour(mark.colour ?? "warn") })).filter(({ x }) => x >= left && x <= right);
    return (
        <>
            {within.map(({ x, tone }, index) => (
                <g key={index}>
                    <path d={`M${x},${top}V${bottom}`} stroke={tone} />
                    <circle cx={x} cy={top + 4} r="3" fill={tone} />
                </g>
            ))}
        </>
    );
}

/** The point whose time is nearest to the pointer, where a chart of the group has the pointer. */
function usePointed(times: readonly number[], group: string): number | undefined {
    const at = pointed.value?.group === group ? pointed.value.time : undefined;
    return useMemo(() => (at === undefined ? undefined : nearest(times, at)), [times, at]);
}

function Cursor({ frame, times, series, group }: { frame: Frame; times: readonly number[]; series: readonly Series[]; group: string }) {
    const index = usePointed(times, group);
    if (index === undefined) return null;
    const x = frame.xOf(times[index] ?? 0);
    return (
        <>
            <path class="chart-cursor" d={`M${x},${frame.top}V${frame.bottom}`} />
            {series.map(({ name, colour: tone, values }) => {
                const value = values[index];
                return value === null || value === undefined ? null : <circle key={name} cx={x} cy={frame.yOf(value)} r="3" fill={colour(tone)} />;
            })}
        </>
    );
}

/** Text of the mark nearest to the pointer; empty where none is near, and in charts that only follow another. */
function Note({ frame, marks, chart }: { frame: Frame; marks: readonly Mark[]; chart: string }) {
    const at = pointed.value?.chart === chart ? frame.xOf(pointed.value.time) : undefined;
    const distances = at === undefined ? [] : marks.map((mark) => ({ mark, distance: Math.abs(frame.xOf(mark.at) - at) }));
    const near = distances.filter(({ distance }) => distance <= NEAR).sort((one, other) => one.distance - other.distance);
    return <p class="chart-note">{near[0]?.mark.text}</p>;
}

interface LegendProps {
    times: readonly number[];
    series: readonly Series[];
    hidden: ReadonlySet<string>;
    group: string;
    format: (value: number) => string;
    onToggle: (name: string) => void;
}

/** Names of the lines, each of which can be hidden, and their values at the pointer. */
function Legend({ times, series, hidden, group, format, onToggle }: LegendProps) {
    const index = usePointed(times, group);
    const textOf = (value: number | null | undefined) => (value === null || value === undefined ? common("none") : format(value));
    return (
        <ul class="chart-legend">
            <li>
                {common("time")}: <span>{index === undefined ? common("none") : exactSecond((times[index] ?? 0) * 1_000)}</span>
            </li>
            {series.map(({ name, colour: tone, values }) => (
                <li key={name}>
                    <button type="button" aria-pressed={!hidden.has(name)} onClick={() => onToggle(name)}>
                        <svg viewBox="0 0 12 12" aria-hidden="true">
                            <rect x="1" y="1" width="10" height="10" rx="2" stroke={colour(tone)} fill={colour(tone)} fill-opacity="0.15" />
                        </svg>
                        {name}
                    </button>
                    <span>{index === undefined ? common("none") : textOf(values[index])}</span>
                </li>
            ))}
        </ul>
    );
}
