// Times and lengths of time on a page.

import { now } from "../app/clock";
import { duration, shortTime, wholeTime } from "../app/time";
import { common } from "../text/common";

/** A time of the page's zone; offset and UTC stand in its title. */
export function Time({ at }: { at: string | null | undefined }) {
    if (!at) return <span class="faint">{common("none")}</span>;
    return (
        <time dateTime={at} title={wholeTime(at)}>
            {shortTime(at, now.value)}
        </time>
    );
}

/** How long ago, or how long until. */
export function Age({ at }: { at: string | null | undefined }) {
    if (!at) return <span class="faint">{common("none")}</span>;
    return (
        <time dateTime={at} title={wholeTime(at)}>
            {duration(now.value - new Date(at).getTime())}
        </time>
    );
}

/** A length of time in milliseconds. */
export function Duration({ ms }: { ms: number | null | undefined }) {
    if (ms === null || ms === undefined) return <span class="faint">{common("none")}</span>;
    return <span class="number">{duration(ms)}</span>;
}
