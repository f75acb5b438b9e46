import { now } from "../../app/clock";
import { duration } from "../../app/time";
import { order as text } from "../../text/order";
import { exactTime } from "./exact";
import type { Span } from "./spans";

/** A span in words, as readers and the line below the picture say it. */
export function wordsOf(span: Span): string {
    const lane = text(`span_${span.lane}`);
    const length = duration(span.until - span.from);
    return [lane, span.kind, span.detail, `${exactTime(span.from, now.value)} – ${exactTime(span.until, now.value)}`, length, span.outcome].filter(Boolean).join(", ");
}
