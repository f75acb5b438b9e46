import { now } from "../../app/clock";
import { shortTime, wholeTime } from "../../app/time";
import { common } from "../../text/common";

/** A time with its milliseconds, in which the parts of an order follow each other. */
export function Exact({ at }: { at: string | null | undefined }) {
    if (!at) return <span class="faint">{common("none")}</span>;
    return (
        <time dateTime={at} title={wholeTime(at)}>
            {exactTime(at, now.value)}
        </time>
    );
}

export function exactTime(at: string | number, today: number): string {
    return `${shortTime(at, today)}.${String(new Date(at).getUTCMilliseconds()).padStart(3, "0")}`;
}
