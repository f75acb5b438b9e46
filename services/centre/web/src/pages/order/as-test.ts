// An order as a test of its scenario: what it was registered with, what the called systems answered, where it came to.
// Bodies of answers are not kept by the engine, except those of callbacks.

import type { Schemas } from "../../api/client";
import type { Order } from "./permitted";

type Step = Pick<Schemas["StepView"], "life" | "kind" | "name" | "target" | "status" | "outcome" | "class" | "error" | "durationMs" | "at">;
type Callback = Pick<Schemas["CallbackView"], "life" | "request" | "verdict" | "body" | "stepStatus" | "receivedAt">;

export interface Recorded {
    readonly order: Order;
    readonly steps: readonly Step[];
    readonly callbacks: readonly Callback[];
}

const ENDS = ["success", "fail"];

/** Test of the present life, as the text of a file of tests. JSON is YAML too, so that values need no escaping of their own. */
export function asTest({ order, steps, callbacks }: Recorded): string {
    const left = callbacks.filter((one) => one.life === order.life && one.verdict === "accepted");
    const answers = steps.filter((one) => one.life === order.life).map((step) => `      - ${answerOf(step, left)}`);
    const lines = [
        `scenario: ${order.scenario}.yaml`,
        "tests:",
        `  - test: ${JSON.stringify(`as ${order.id}`)}`,
        `    now: ${order.createdAt}`,
        `    params: ${JSON.stringify(order.params ?? {})}`,
        `    order: ${JSON.stringify(identity(order))}`,
        ...(answers.length > 0 ? ["    answers:", ...answers] : []),
        `    expect: ${JSON.stringify(expected(order))}`,
    ];
    return `${lines.join("\n")}\n`;
}

function identity(order: Order): Record<string, string> {
    return {
        id: order.id,
        ...(order.transactionId ? { transactionId: order.transactionId } : {}),
        ...(order.queue ? { queue: order.queue } : {}),
    };
}

/** The answer of a step; each counts once, so that a second attempt finds the second answer. */
function answerOf(step: Step, callbacks: Callback[]): string {
    const answer = { ...question(step), ...outcomeOf(step), times: 1 };
    const index = callbacks.findIndex((one) => one.request === step.name);
    const callback = index < 0 ? undefined : callbacks.splice(index, 1)[0];
    if (!callback) return JSON.stringify(answer);
    const after = Math.max(0, new Date(callback.receivedAt).getTime() - new Date(step.at).getTime());
    const { body, stepStatus } = callback;
    return JSON.stringify({ ...answer, callback: { after: `${after}ms`, ...(body === null ? {} : { body }), ...(stepStatus ? { stepStatus } : {}) } });
}

function question(step: Step): Record<string, unknown> {
    const [first = "", second = ""] = step.target.split(" ");
    if (step.kind === "http") return { http: `${first} http://${second}` };
    if (step.kind === "amqp") return { amqp: { ...(first ? { exchange: first } : {}), ...(second ? { key: second } : {}) } };
    return step.kind === "actor" ? { actor: first } : { order: first };
}

function outcomeOf(step: Step): Record<string, unknown> {
    if (step.kind === "order") return { status: step.outcome === "failed" ? "fail" : "success" };
    if (step.kind === "actor") return { after: `${step.durationMs}ms` };
    if (step.kind === "amqp") return step.outcome === "failed" ? { fails: "unroutable" } : {};
    const after = step.durationMs > 0 ? { after: `${step.durationMs}ms` } : {};
    return step.status === null ? { fails: nameOf(step.error) } : { status: step.status, ...after };
}

/** The most exact name of an error: `ConnectTimeout` of "… (HttpError > ConnectTimeout)". */
function nameOf(error: string | null | undefined): string {
    if (error?.startsWith("no answer within")) return "ReadTimeout";
    return [...(error ?? "").matchAll(/\b(?:[A-Z][a-z]+){2,}\b/g)].at(-1)?.[0] ?? "ConnectionRefused";
}

function expected(order: Order): Record<string, unknown> {
    const moves = order.transitions.filter((one) => one.life === order.life);
    // A part of the path would be another path.
    const path = moves.length > 0 && !order.moreTransitions ? [moves[0]?.from, ...moves.map((one) => one.to)] : undefined;
    const failed = order.status === "fail" ? { error: order.error?.class ?? "unclassified" } : {};
    // A test ends as its scenario ends: by nobody's cancel.
    const status = ENDS.includes(order.status) ? { status: order.status } : {};
    return path ? { ...status, ...failed, path } : { scenarioStatus: order.scenarioStatus, ...status, ...failed };
}
