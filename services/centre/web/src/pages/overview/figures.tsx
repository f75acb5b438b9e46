// Figures of the engine. Each leads to the list behind it.

import type { Schemas } from "../../api/client";
import { toWith } from "../../app/router";
import { duration, number, percent, rate } from "../../app/time";
import { Figure } from "../../parts/facts";
import { text } from "../../text/overview";
import { countOf, lagOf, LATE_MS, restingOf, type Counted } from "./now";
import type { Range } from "./ranges";

type Stats = Schemas["StatsView"];

export function Figures({ stats, range }: { stats: Stats; range: Range }) {
    return (
        <div class="figures overview-figures">
            <Rates stats={stats} range={range} />
            <Work now={stats.now} />
            <Care now={stats.now} />
        </div>
    );
}

function counted({ count, estimated }: Counted): string {
    return estimated ? text("estimated", { value: number(count) }) : number(count);
}

function Rates({ stats: { rates }, range }: { stats: Stats; range: Range }) {
    return (
        <>
            <Figure
                name={text("figure_registered")}
                value={text("per_second", { rate: rate(rates.registered) })}
                note={text("stages_rate", { rate: rate(rates.stages) })}
                href={toWith("orders", { createdSince: range })}
            />
            <Figure
                name={text("figure_ended")}
                value={text("per_second", { rate: rate(rates.ended) })}
                note={text("calls_rate", { rate: rate(rates.calls) })}
                href={toWith("orders", { finishedSince: range })}
            />
            <Figure
                name={text("figure_failed")}
                value={text("per_second", { rate: rate(rates.failed) })}
                note={rates.ended > 0 ? text("failed_share", { share: percent(Math.min(1, rates.failed / rates.ended)) }) : undefined}
                tone={rates.failed > 0 ? "bad" : undefined}
                href={toWith("errors", { since: range })}
            />
        </>
    );
}

function Work({ now }: { now: Stats["now"] }) {
    const oldest = now.oldestReadySeconds;
    const ready = countOf(now.waiting, "worker");
    const late = typeof oldest === "number" && oldest > 60;
    return (
        <>
            <Figure name={text("figure_running")} value={counted(countOf(now.waiting, "running"))} href="/orders?status=running" />
            <Figure
                name={text("figure_backlog")}
                value={counted(ready)}
                note={typeof oldest === "number" && ready.count > 0 ? text("figure_oldest", { age: duration(oldest * 1_000) }) : undefined}
                tone={late ? "warn" : undefined}
                href="/flows"
            />
            <Figure name={text("figure_rested")} value={counted(restingOf(now))} href="/orders?status=sleep,wait,polling,postponed" />
            <Figure
                name={text("figure_retry")}
                value={counted(countOf(now.waiting, "retry"))}
                tone={countOf(now.waiting, "retry").count > 0 ? "warn" : undefined}
                href="/orders?status=retry"
            />
            <Figure name={text("figure_open")} value={counted(now.openRequests)} href="/flows?tab=systems" />
        </>
    );
}

function Care({ now }: { now: Stats["now"] }) {
    const lag = lagOf(now);
    const age = now.oldestNotificationSeconds;
    const parked = now.parkedNotifications.count;
    const aged = typeof age === "number" ? text("figure_oldest", { age: duration(age * 1_000) }) : undefined;
    return (
        <>
            <Figure
                name={text("figure_lag")}
                value={lag === 0 ? text("lag_none") : duration(lag)}
                tone={lag > LATE_MS ? "warn" : undefined}
                href="/orders?status=sleep,wait,polling,retry,postponed"
            />
            <Figure
                name={text("figure_notifications")}
                value={counted(now.unsentNotifications)}
                note={parked > 0 ? text("figure_notifications_parked", { n: counted(now.parkedNotifications) }) : aged}
                tone={parked > 0 ? "warn" : undefined}
                href="/refused?tab=notifications"
            />
            <Figure name={text("figure_refused")} value={counted(now.refusedMessages)} tone={now.refusedMessages.count > 0 ? "warn" : undefined} href="/refused" />
            <Figure
                name={text("figure_inconsistent")}
                value={counted(now.inconsistent)}
                tone={now.inconsistent.count > 0 ? "bad" : undefined}
                href="/orders?inconsistent=true"
            />
        </>
    );
}
