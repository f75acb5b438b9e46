// Layout of the calendar: weeks of a month, parts of days that occurrences take, and changes of clocks. No DOM.

import { DAY, firstOfMonth, offsetOf, startOf, weekdayOf } from "../../app/zoned";
import type { Occurrence } from "./occurrences";

export type View = "month" | "week";

/** A change of the clocks on a day: when, and the offsets before and after. */
export interface ClockChange {
    readonly at: number;
    readonly before: number;
    readonly after: number;
}

export interface Day {
    readonly day: number;
    readonly from: number;
    readonly until: number;
    /** Whether it belongs to the month that is shown, and not to one beside it. */
    readonly inside: boolean;
    readonly change: ClockChange | undefined;
}

/** First days of the weeks that a view of a day shows, from Monday. */
export function weeksOf(view: View, day: number): number[] {
    const monday = (one: number) => one - weekdayOf(one);
    if (view === "week") return [monday(day)];
    const weeks: number[] = [];
    for (let week = monday(firstOfMonth(day)); week < firstOfMonth(day, 1); week += 7) weeks.push(week);
    return weeks;
}

/** Days of a view, week by week. */
export function layout(view: View, day: number, zone: string): Day[][] {
    const month = firstOfMonth(day);
    const next = firstOfMonth(day, 1);
    return weeksOf(view, day).map((week) =>
        [0, 1, 2, 3, 4, 5, 6].map((index) => {
            const one = week + index;
            const [from, until] = [startOf(zone, one), startOf(zone, one + 1)];
            const inside = view === "week" || (one >= month && one < next);
            return { day: one, from, until, inside, change: clockChange(zone, from, until) };
        }),
    );
}

/** The change of the clocks within a span of time, to the minute. */
export function clockChange(zone: string, from: number, until: number): ClockChange | undefined {
    const [before, after] = [offsetOf(zone, from), offsetOf(zone, until)];
    if (before === after) return undefined;
    let [low, high] = [from, until];
    while (high - low > 1_000) {
        const middle = Math.floor((low + high) / 2);
        if (offsetOf(zone, middle) === before) low = middle;
        else high = middle;
    }
    return { at: Math.round(high / 1_000) * 1_000, before, after };
}

/** Part of a day that an occurrence takes, as shares of the day's own length: 23, 24 or 25 hours. */
export interface Part {
    readonly occurrence: Occurrence;
    readonly start: number;
    readonly end: number;
    /** Whether it began on a day before, or goes on into the next one. */
    readonly begun: boolean;
    readonly goesOn: boolean;
}

export function partsOf(day: Day, all: readonly Occurrence[]): Part[] {
    const length = day.until - day.from;
    return all
        .filter((one) => one.from < day.until && one.until > day.from)
        .map((occurrence) => ({
            occurrence,
            start: Math.max(0, occurrence.from - day.from) / length,
            end: Math.min(length, occurrence.until - day.from) / length,
            begun: occurrence.from < day.from,
            goesOn: occurrence.until > day.until,
        }));
}

/** Whether the clocks change while an occurrence lasts, so that both its ends need their offset. */
export function crossesChange(zone: string, occurrence: { from: number; until: number }): boolean {
    return offsetOf(zone, occurrence.from) !== offsetOf(zone, occurrence.until);
}

/** Day to go to from a view: the one before, or the next. */
export function moved(view: View, day: number, by: 1 | -1): number {
    return view === "week" ? day + 7 * by : firstOfMonth(day, by);
}

/** Number of the week by ISO 8601: that of its Thursday. */
export function weekNumber(day: number): number {
    const thursday = day - weekdayOf(day) + 3;
    const first = Date.UTC(new Date(thursday * DAY).getUTCFullYear(), 0, 1) / DAY;
    return Math.floor((thursday - first) / 7) + 1;
}

