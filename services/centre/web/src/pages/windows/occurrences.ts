// Occurrences of a calendar within a span of time, by the rules of the engine (docs/guides/operating-flows.md): so that a page
// can draw any month without asking for it.

import type { Schemas } from "../../api/client";
import { DAY, MINUTE, dayAt, firstOfMonth, timeOf, weekdayOf } from "../../app/zoned";

export type Window = Schemas["WindowView"];
export type Rule = Schemas["CalendarRule"];

export const WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;
const NTH = ["first", "second", "third", "fourth"];
const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: MINUTE, h: 60 * MINUTE, d: DAY };

export interface Occurrence {
    readonly window: Window;
    readonly from: number;
    readonly until: number;
    /** Whether it was called off, or ended before its time. */
    readonly off: boolean;
}

/** Length of a duration such as `1h30m`, in ms; nothing where it is none. */
export function lengthOf(text: string): number | undefined {
    const parts = [...text.trim().matchAll(/(\d+)(ms|s|m|h|d)/gy)];
    const whole = parts.map(([part]) => part).join("");
    if (whole === "" || whole !== text.trim()) return undefined;
    return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ""] ?? 0), 0);
}

/** Whether a calendar names a day. */
export function names(rule: Rule, day: number): boolean {
    const on = (rule.on ?? []).map((word) => word.trim().toLowerCase());
    if (rule.every === "day") return true;
    if (rule.every === "week") return on.includes(WEEKDAYS[weekdayOf(day)] ?? "");
    return on.some((word) => isDayOfMonth(word, day));
}

function isDayOfMonth(word: string, day: number): boolean {
    const first = firstOfMonth(day);
    const [number, length] = [day - first + 1, firstOfMonth(day, 1) - first];
    if (/^\d+$/.test(word)) return Number(word) === number;
    if (word === "last") return number === length;
    const [which = "", weekday] = word.split(/\s+/);
    if (weekday !== WEEKDAYS[weekdayOf(day)]) return false;
    return which === "last" ? number > length - 7 : NTH.indexOf(which) === Math.floor((number - 1) / 7);
}

/** Starts of a calendar from a time on, before another. */
export function starts(rule: Rule, from: number, until: number): number[] {
    const earliest = rule.from ? Date.parse(rule.from) : -Infinity;
    if (!rule.every) return earliest >= from && earliest < until ? [earliest] : [];
    const latest = rule.until ? Date.parse(rule.until) : Infinity;
    const zone = rule.zone ?? "UTC";
    const [hour = 0, minute = 0] = (rule.at ?? "0:0").split(":").map(Number);
    const found: number[] = [];
    // One day more on both sides, since a start that the clocks skip may fall on the next one.
    for (let day = dayAt(zone, from) - 1; day <= dayAt(zone, until) + 1; day += 1) {
        if (!names(rule, day)) continue;
        const at = timeOf(zone, day * DAY + (hour * 60 + minute) * MINUTE);
        if (at >= from && at < until && at >= earliest && at < latest) found.push(at);
    }
    return found;
}

/** Occurrences of windows that reach into a span of time, in the order of their starts, as they are known at a time. */
export function occurrences(windows: readonly Window[], from: number, until: number, now: number): Occurrence[] {
    const found = windows.flatMap((window) => {
        const length = lengthOf(window.calendar.for) ?? 0;
        return starts(window.calendar, from - length + 1, until).flatMap((start) => occurrenceOf(window, start, start + length, now));
    });
    return found.sort((one, other) => one.from - other.from || one.window.window - other.window.window);
}

function occurrenceOf(window: Window, from: number, until: number, now: number): Occurrence[] {
    const made = Date.parse(window.madeAt);
    const removed = window.removedAt ? Date.parse(window.removedAt) : Infinity;
    if (until <= made || from >= removed) return [];
    return [{ window, from, until: Math.min(until, removed), off: isOff(window, from, now) }];
}

/** Only the newest calling off is kept: of those that are past it says for the last one alone how it ended. */
function isOff(window: Window, from: number, now: number): boolean {
    const last = window.voidUntil ? Date.parse(window.voidUntil) : -Infinity;
    return from === last || (from < last && from > now);
}

/** Windows whose next time the engine sees elsewhere: its data of time zones are other than those of the browser. */
export function disagreeing(windows: readonly Window[]): Window[] {
    return windows.filter(({ calendar, next }) => {
        const from = next ? Date.parse(next.from) : NaN;
        return calendar.every && next && starts(calendar, from, from + 1).length === 0;
    });
}
