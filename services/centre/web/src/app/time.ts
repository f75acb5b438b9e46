// Times as people read them: one zone a page, with the offset and UTC beside.

import { computed } from "@preact/signals";
import { language } from "../text";
import { common } from "../text/common";
import { stored } from "./stored";

/** The zone of the page: of the browser, or UTC. */
export const zoneChoice = stored<"local" | "utc">("zone", ["local", "utc"], "local");
export const zone = computed(() => (zoneChoice.value === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone));

const PARTS: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const DATE: Intl.DateTimeFormatOptions = { year: "numeric", month: "2-digit", day: "2-digit" };

// Swedish writes dates as ISO 8601 does, which nobody takes for another order of day and month.
const clockFormat = computed(() => new Intl.DateTimeFormat("sv-SE", { ...PARTS, timeZone: zone.value }));
const dateFormat = computed(() => new Intl.DateTimeFormat("sv-SE", { ...DATE, timeZone: zone.value }));
const offsetFormat = computed(() => new Intl.DateTimeFormat("en", { timeZone: zone.value, timeZoneName: "longOffset" }));

export type Moment = string | number | Date;

/** Offset of the zone at a time, as `UTC+01:00`. */
export function offsetAt(at: Moment): string {
    const part = offsetFormat.value.formatToParts(new Date(at)).find((one) => one.type === "timeZoneName");
    return (part?.value ?? "GMT").replace("GMT", "UTC");
}

/** Time of day, with the date where that is not today. `Intl` counts by the zone's own calendar, changes of clocks included. */
export function shortTime(at: Moment, today: number): string {
    const [day, time] = [dateFormat.value.format(new Date(at)), clockFormat.value.format(new Date(at))];
    return day === dateFormat.value.format(today) ? time : `${day} ${time}`;
}

/** Date and time of day, to the second. */
export function exactSecond(at: Moment): string {
    const date = new Date(at);
    return `${dateFormat.value.format(date)} ${clockFormat.value.format(date)}`;
}

/** Date and time, milliseconds, offset, and the same in UTC. */
export function wholeTime(at: Moment): string {
    const date = new Date(at);
    const ms = String(date.getUTCMilliseconds()).padStart(3, "0");
    const local = `${dateFormat.value.format(date)} ${clockFormat.value.format(date)}.${ms} ${offsetAt(at)}`;
    return `${local}\n${date.toISOString()}`;
}

const UNITS = [
    ["age_days", 86_400_000],
    ["age_hours", 3_600_000],
    ["age_minutes", 60_000],
    ["age_seconds", 1_000],
] as const;

/** A length of time in its two largest units: `3 min 20 s`, `250 ms`. */
export function duration(ms: number): string {
    const length = Math.abs(ms);
    if (length < 1_000) return common("age_ms", { n: Math.round(length) });
    if (length < 10_000) return common("age_seconds", { n: Math.round(length / 100) / 10 });
    const first = UNITS.findIndex(([, size]) => length >= size);
    const [name, size] = UNITS[first] ?? UNITS[3];
    const rest = UNITS[first + 1];
    const whole = common(name, { n: Math.floor(length / size) });
    const left = rest ? Math.floor((length % size) / rest[1]) : 0;
    return rest && left > 0 ? `${whole} ${common(rest[0], { n: left })}` : whole;
}

/** A number as the language writes it; `digits` behind the point at most. */
export function number(value: number, digits = 0): string {
    return new Intl.NumberFormat(language.value, { maximumFractionDigits: digits }).format(value);
}

/** A rate or a small number: as many digits as tell something. */
export function rate(value: number): string {
    return number(value, value >= 100 ? 0 : value >= 1 ? 1 : 3);
}

/** A share as a percentage. */
export function percent(share: number): string {
    return new Intl.NumberFormat(language.value, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);
}
