// Times of windows as text: the date once where it is one, and the offset of both ends where the clocks change between them.

import { offsetOf, offsetText, wallAt, wallText } from "../../app/zoned";

/** Time of day that the wall of a zone shows, as `22:00`. */
export function clockText(zone: string, at: number): string {
    return wallText(wallAt(zone, at)).slice(11);
}

function dated(zone: string, at: number): string {
    return wallText(wallAt(zone, at)).replace("T", " ");
}

/** A span of time in a zone, as `2026-11-26 22:00 – 23:30 UTC+01:00`. */
export function spanText(zone: string, from: number, until: number): string {
    const [start, end] = [dated(zone, from), dated(zone, until)];
    const short = start.slice(0, 10) === end.slice(0, 10) ? end.slice(11) : end;
    const [before, after] = [offsetText(offsetOf(zone, from)), offsetText(offsetOf(zone, until))];
    return before === after ? `${start} – ${short} ${after}` : `${start} ${before} – ${short} ${after}`;
}

interface DayPart {
    readonly occurrence: { readonly from: number; readonly until: number };
    readonly begun: boolean;
    readonly goesOn: boolean;
}

/** The part of a day from clock to clock, `…` where it reaches beyond it; both offsets only where the clocks change within. */
export function partText(zone: string, { occurrence, begun, goesOn }: DayPart): string {
    const { from, until } = occurrence;
    const [before, after] = [offsetText(offsetOf(zone, from)), offsetText(offsetOf(zone, until))];
    const [start, end] = [begun ? "…" : clockText(zone, from), goesOn ? "…" : clockText(zone, until)];
    return before === after || (begun && goesOn) ? `${start}–${end}` : `${start} ${begun ? "" : before} – ${end} ${goesOn ? "" : after}`.replace(/ {2,}/g, " ").trim();
}
