// Clocks on the wall of a zone, and the times that they stand for. A wall time is the milliseconds since 1970 that UTC would
// count at that reading of calendar and clock; a day is the number of such days. No DOM, and no zone but the one given.

export const DAY = 86_400_000;
export const MINUTE = 60_000;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
    let format = formats.get(zone);
    if (!format) {
        const whole = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;
        format = new Intl.DateTimeFormat("en-US", { ...whole, hourCycle: "h23", era: "short", timeZone: zone });
        formats.set(zone, format);
    }
    return format;
}

/** What the wall of a zone shows at a time. */
export function wallAt(zone: string, at: number): number {
    const parts: Record<string, number> = {};
    for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((at % 1000) + 1000) % 1000);
}

/** Milliseconds by which the wall of a zone is ahead of UTC at a time. */
export function offsetOf(zone: string, at: number): number {
    return wallAt(zone, at) - at;
}

/**
 * The time at which the wall of a zone shows this. A reading that the clocks skip is as much later as they skip, and of one
 * that they show twice the first counts: as the engine reads its calendars.
 */
export function timeOf(zone: string, wall: number): number {
    const before = wall - offsetOf(zone, wall - DAY);
    if (wallAt(zone, before) === wall) return before;
    const after = wall - offsetOf(zone, wall + DAY);
    return wallAt(zone, after) === wall ? after : before;
}

/** The day that the wall of a zone shows at a time. */
export function dayAt(zone: string, at: number): number {
    return Math.floor(wallAt(zone, at) / DAY);
}

/** The time at which a day begins in a zone. */
export function startOf(zone: string, day: number): number {
    return timeOf(zone, day * DAY);
}

/** A day as `2026-11-26`. */
export function dayText(day: number): string {
    return new Date(day * DAY).toISOString().slice(0, 10);
}

/** The day that a text like `2026-11-26` names; nothing where it names none. */
export function dayOfText(text: string | null | undefined): number | undefined {
    if (!text || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
    const time = Date.parse(`${text}T00:00:00Z`);
    return Number.isNaN(time) || dayText(time / DAY) !== text ? undefined : time / DAY;
}

/** Wall time as `2026-11-26T22:00`, as fields of forms have it. */
export function wallText(wall: number): string {
    return new Date(wall).toISOString().slice(0, 16);
}

/** The wall time of such a text. */
export function wallOfText(text: string): number | undefined {
    if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text)) return undefined;
    const time = Date.parse(`${text.slice(0, 16)}:00Z`);
    return Number.isNaN(time) ? undefined : time;
}

/** Day of the week: 0 for Monday, 6 for Sunday. */
export function weekdayOf(day: number): number {
    return (((day + 3) % 7) + 7) % 7;
}

/** The first day of a month, some months away from that of a day. */
export function firstOfMonth(day: number, months = 0): number {
    const date = new Date(day * DAY);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / DAY;
}

/** An offset as `UTC+01:00`. */
export function offsetText(offset: number): string {
    const minutes = Math.round(Math.abs(offset) / MINUTE);
    const two = (n: number) => String(n).padStart(2, "0");
    return minutes === 0 ? "UTC" : `UTC${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
