// The plain answer to "why is it not running?", and what else needs a person. It is shown while it is true: with old data it goes.

import { read } from "../../api/client";
import { useResource, type Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { shortTime } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Eta } from "../../parts/eta";
import { Meaning } from "../../parts/meaning";
import { order as text } from "../../text/order";
import { ended, type Order } from "./permitted";
import { Said } from "../../parts/said";

export function Why({ order, shown }: { order: Order; shown: Shown<Order> }) {
    const over = ended(order);
    const asked = over ? null : read("/v1/orders/{id}/explain", { id: order.id });
    const answer = useResource(asked, { follow: { order: [order.id] } });
    const isBusy = answer.data?.status === "running";
    if (shown.state !== "fresh") return null;
    return (
        <>
            {!over && answer.state === "fresh" && answer.data && (
                <section class={isBusy ? "why busy" : "why"} aria-label={text("why")}>
                    <h2>{text(isBusy ? "doing" : "why")}</h2>
                    <p class="answer">
                        <Badge word={answer.data.reason} tone={isBusy ? "busy" : "wait"} /> <Meaning of={answer.data} /> <Said text={answer.data.explanation} />
                    </p>
                    {answer.data.eta && <Eta eta={answer.data.eta} />}
                </section>
            )}
            <Failure order={order} />
            <Warnings order={order} />
        </>
    );
}

const time = (at: string) => shortTime(at, now.value);

/** The error by which an order failed. One that is retried explains itself. */
function Failure({ order }: { order: Order }) {
    const { error, status } = order;
    if (!error || status !== "fail") return null;
    return (
        <section class="why bad" aria-label={text("error")}>
            <h2>{text("error")}</h2>
            <p class="answer">
                {error.class && <Badge word={error.class} tone="bad" />} <Said text={error.message} />
            </p>
            {error.system && (
                <p class="soft">
                    {text("system")}: <a href={`/systems/${encodeURIComponent(error.system)}`}>{error.system}</a>
                </p>
            )}
        </section>
    );
}

function Warnings({ order }: { order: Order }) {
    const { inconsistent, promise, unsentNotifications } = order;
    const jeopardy = promise?.jeopardy;
    const parked = unsentNotifications.filter((one) => one.parkedBecause);
    return (
        <>
            {inconsistent && (
                <section class="why bad" aria-label={text("cause")}>
                    <p>{text("inconsistent", { time: time(inconsistent.foundAt), findings: inconsistent.findings.join(", ") })}</p>
                </section>
            )}
            {jeopardy && !ended(order) && (
                <section class="why warn" aria-label={text("promise")}>
                    <p>{text("jeopardy", { time: time(jeopardy.expectedAt), cause: jeopardy.cause })}</p>
                </section>
            )}
            {parked.map((one) => (
                <section key={`${one.life} ${one.kind}`} class="why warn" aria-label={text("notify")}>
                    <p>
                        {text("notify")} <code>{one.kind}</code>: {text("parked")} <span lang="en">{[one.parkedBecause, one.lastError].filter(Boolean).join(": ")}</span>
                    </p>
                </section>
            ))}
        </>
    );
}
