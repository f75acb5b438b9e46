// All that is known of an order, as names and values.

import type { ComponentChildren } from "preact";
import type { Shown } from "../../api/resource";
import { percent } from "../../app/time";
import { to, toWith } from "../../app/router";
import { Badge } from "../../parts/badge";
import { Facts } from "../../parts/facts";
import { Duration, Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { order as text } from "../../text/order";
import { type Order, placeOf } from "./permitted";
import { Said } from "../../parts/said";

type Fact = readonly [name: string, value: ComponentChildren];

export function FactsPanel({ shown }: { shown: Shown<Order> }) {
    return (
        <Panel title={text("order_facts")} resource={shown}>
            {(order) => <Facts facts={[...standing(order), ...course(order), ...times(order), ...registration(order)]} />}
        </Panel>
    );
}

function standing(order: Order): Fact[] {
    const { asking } = order;
    return [
        [text("status"), <Badge word={order.status} />],
        [text("scenario_status"), <Badge word={order.scenarioStatus} />],
        [text("state"), order.step && <code>{order.step}</code>],
        [text("progress"), <Progress value={order.progress} />],
        [text("message"), order.message],
        [text("error"), order.error && order.status !== "fail" ? <ErrorFact error={order.error} /> : null],
        [
            text("asking"),
            asking && (
                <>
                    {text("asking_since", { target: asking.target, n: asking.attempt })} <Time at={asking.since} />
                </>
            ),
        ],
        [text("retry"), order.retry && <RetryFact retry={order.retry} />],
        [text("retry_async"), order.asyncRetry && <RetryFact retry={order.asyncRetry} />],
        [text("node"), order.node && <a href={to("deployment")}>{order.node}</a>],
        [text("ready_since"), order.readySince && <Time at={order.readySince} />],
        [text("due"), order.dueAt && <Time at={order.dueAt} />],
    ];
}

/** Entry points that were visited, the last one last. */
function EntryPoints({ visited }: { visited: Order["entryPoints"] }) {
    return visited.map((one, at) => (
        <span key={one.state}>
            {at > 0 && ", "}
            <code>{one.state}</code> <Time at={one.visitedAt} />
        </span>
    ));
}

/** The action from which a repair may go on. */
function FailedAction({ failed }: { failed: NonNullable<Order["failedAction"]> }) {
    return (
        <>
            <code>{placeOf(failed)}</code>
            {typeof failed.elements === "number" && ", "}
            {typeof failed.elements === "number" && text("elements_done", { n: failed.elementsDone ?? 0, of: failed.elements })}
        </>
    );
}

function course(order: Order): Fact[] {
    return [
        [text("life"), order.life],
        [text("stages"), order.stages],
        [text("retries"), order.retries],
        [text("entry_point"), order.entryPoint && <code>{order.entryPoint}</code>],
        [text("entry_points"), order.entryPoints.length > 1 ? <EntryPoints visited={order.entryPoints} /> : null],
        [text("failed_action"), order.failedAction && <FailedAction failed={order.failedAction} />],
        [
            text("failed_over"),
            order.failedOver && (
                <>
                    {text("failed_over_times", { n: order.failedOver.times })} <Time at={order.failedOver.lastAt} />
                </>
            ),
        ],
    ];
}

function times(order: Order): Fact[] {
    const optional = (at: string | null | undefined) => at && <Time at={at} />;
    return [
        [text("created"), <Time at={order.createdAt} />],
        [text("start_at"), optional(order.startAt)],
        [text("deadline"), optional(order.startDeadline)],
        [text("started"), optional(order.startedAt)],
        [text("finished"), optional(order.finishedAt)],
        [text("duration"), order.durationMs === null ? null : <Duration ms={order.durationMs} />],
        [text("promise"), optional(order.promise?.promiseAt)],
        [text("expected"), optional(order.promise?.expectedAt)],
        [text("updated"), <Time at={order.updatedAt} />],
    ];
}

function registration(order: Order): Fact[] {
    return [
        [text("mode"), order.mode],
        [text("queue"), order.queue && <a href={to("queues", order.queue)}>{order.queue}</a>],
        [text("place"), order.position],
        [text("priority"), order.priority],
        [text("flow"), <a href={to("flows", order.flow)}>{order.flow}</a>],
        [text("transaction"), order.transactionId && <a href={toWith("orders", { transactionId: order.transactionId })}>{order.transactionId}</a>],
        [text("labels"), labelsOf(order)],
        [text("parent"), order.parent && <a href={to("orders", order.parent)}>{order.parent}</a>],
        [text("number"), String(order.no)],
    ];
}

/** Each label leads to the orders that have it. */
function labelsOf(order: Order) {
    const labels = Object.entries(order.labels ?? {});
    if (labels.length === 0) return undefined;
    return labels.map(([key, value]) => (
        <a key={key} class="chip" href={toWith("orders", { [`labels.${key}`]: value })}>{`${key}: ${value}`}</a>
    ));
}

function Progress({ value }: { value: number }) {
    return (
        <span class="progress-fact">
            <progress value={value} max={1} aria-label={text("progress")} />
            <span class="number">{percent(value)}</span>
        </span>
    );
}

function ErrorFact({ error }: { error: NonNullable<Order["error"]> }) {
    return (
        <>
            {error.class && <Badge word={error.class} tone="warn" />} <Said text={error.message} />
        </>
    );
}

function RetryFact({ retry }: { retry: NonNullable<Order["retry"]> }) {
    const { maxAttempts: max, attempt: n, policy } = retry;
    return (
        <>
            <Badge word={retry.class} tone="warn" /> {max === null ? text("retry_attempt_open", { n, policy }) : text("retry_attempt", { n, max, policy })}
            {retry.nextAt && (
                <>
                    , {text("retry_next")} <Time at={retry.nextAt} />
                </>
            )}
            {retry.endsAt && (
                <>
                    , {text("retry_ends")} <Time at={retry.endsAt} />
                </>
            )}
        </>
    );
}
