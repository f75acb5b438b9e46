// Cells and values that the pages of flows and systems have in common.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { to, toWith } from "../../app/router";
import { now } from "../../app/clock";
import { duration, number, shortTime } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Figure } from "../../parts/facts";
import { Lines } from "../../parts/lines";
import { flows as text } from "../../text/flows";
import { common } from "../../text/common";

export type Flow = Schemas["FlowView"];
export type System = Schemas["SystemView"];
type Quantiles = Schemas["Quantiles"];

/** Whether the engine knows nothing of the name: one panel that says so is enough. */
export function isUnknown(resource: Shown<unknown>): boolean {
    const { data, failure } = resource.known.value;
    return data === undefined && failure?.status === 404;
}

/** How long figures are unchanged before it is said: an idle flow has old ones, and so has one without a dispatcher. */
const QUIET = 60_000;

export function Unchanged({ since }: { since: string }) {
    if (now.value - Date.parse(since) < QUIET) return null;
    return <span class="soft">{text("unchanged", { time: shortTime(since, now.value) })}</span>;
}

function measured(ms: number | null | undefined): string {
    return ms === null || ms === undefined ? common("none") : duration(ms);
}

/** Median and 99th percentile as text. */
export function quantiles({ p50Ms, p99Ms }: Quantiles): string {
    return p50Ms === null || p50Ms === undefined ? common("none") : text("p50_p99", { p50: duration(p50Ms), p99: measured(p99Ms) });
}

/** Times of the last minute, with those of hours under them. */
export function ShortAndLong({ short, long }: { short: Quantiles; long: Quantiles }) {
    return <Lines first={quantiles(short)} second={usual(long)} />;
}

function usual({ p50Ms, p99Ms }: Quantiles): string | undefined {
    return p50Ms === null || p50Ms === undefined ? undefined : text("long", { p50: duration(p50Ms), p99: measured(p99Ms) });
}

/** A state in the colour of its kind; of old data without a colour, since nobody knows whether it still holds. */
export function State({ word, fresh }: { word: string; fresh: boolean }) {
    return fresh ? <Badge word={word} /> : <Badge word={word} tone="plain" />;
}

/** The maintenance window that holds something now, with the way to it. */
export function Maintenance({ window }: { window: Schemas["OpenWindowView"] | null | undefined }) {
    if (!window) return null;
    return <a href={toWith("windows", { window: window.window })}>{text("maintenance", { time: shortTime(window.until, now.value) })}</a>;
}

/** When all that is ready will have gone; of old data nothing is forecast. */
export function Empty({ flow, fresh }: { flow: Flow; fresh: boolean }) {
    const seconds = flow.secondsToEmpty;
    if (seconds === null || seconds === undefined || !fresh || readyOf(flow) === 0) return <>{common("none")}</>;
    const at = Date.parse(flow.writtenAt) + seconds * 1_000;
    return <Lines first={duration(seconds * 1_000)} second={text("empty_at", { time: shortTime(at, now.value) })} />;
}

/** Stages that are ready, of all priorities. */
export function readyOf({ ready }: Flow): number {
    return ready.high + ready.normal + ready.low;
}

export function Ready({ flow }: { flow: Flow }) {
    return <Lines first={number(readyOf(flow))} second={readyParts(flow)} />;
}

/** What is ready, by priority. */
export function readyParts(flow: Flow): string {
    const { high, normal, low } = flow.ready;
    const parts = Object.entries({ high, normal, low }).filter(([, count]) => count > 0);
    return parts.map(([name, count]) => `${name} ${number(count)}`).join(" · ");
}

/** The median of the last minute as a figure, with the 99th percentile and the times of hours beside. */
export function TimeFigure({ name, short, long }: { name: string; short: Quantiles; long: Quantiles }) {
    return <Figure name={name} value={measured(short.p50Ms)} note={<Lines first={`p99 ${measured(short.p99Ms)}`} second={usual(long)} />} />;
}

/** Errors by class, each with the way to its orders. */
export function Errors({ errors, query }: { errors: Record<string, number>; query: Record<string, string> }) {
    const all = Object.entries(errors).sort(([, one], [, other]) => other - one);
    if (all.length === 0) return <>{common("none")}</>;
    return (
        <ul class="plain-list">
            {all.map(([name, count]) => (
                <li key={name}>
                    <a href={toWith("orders", { ...query, class: name })}>
                        <code>{name}</code>
                    </a>{" "}
                    {number(count)}
                </li>
            ))}
        </ul>
    );
}

/** Names as links to their pages. */
export function Links({ page, names }: { page: "flows" | "systems"; names: readonly string[] }) {
    if (names.length === 0) return <>{common("none")}</>;
    return (
        <ul class="plain-list in-line">
            {names.map((name) => (
                <li key={name}>
                    <a href={to(page, name)}>{name}</a>
                </li>
            ))}
        </ul>
    );
}
