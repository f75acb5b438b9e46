// A recorded order as a trial: what the engine has kept of it, put into a table of answers.

import type { Schemas } from "../../api/client";
import { spelled } from "./story";
import { emptyTrial, gathered, type Answer, type Asked, type Callback, type Trial } from "./trial";

export interface Recorded {
    readonly order: Schemas["OrderView"];
    readonly steps: readonly Schemas["StepView"][];
    readonly callbacks: readonly Schemas["CallbackView"][];
}

type StepView = Schemas["StepView"];

/** A trial with the answers that an order got in its first life. Bodies of answers are not kept, so that it has none. */
export function trialOf({ order, steps, callbacks }: Recorded): Trial {
    const first = <T extends { life: number }>(all: readonly T[]) => all.filter((one) => one.life === 1);
    const life = first(steps);
    const came = first(callbacks).filter((one) => one.verdict === "accepted");
    const moves = first(order.transitions);
    return {
        ...emptyTrial(order.id),
        order: bare({ id: order.id, transactionId: order.transactionId ?? undefined, queue: order.queue ?? undefined }),
        params: order.params as Record<string, unknown>,
        now: order.createdAt,
        answers: gathered(life.map((step) => answerOf(step, came))),
        // A part of the path would be another path.
        expect: order.life === 1 && ended(order.status) ? bare({ status: order.status, path: order.moreTransitions ? undefined : pathOf(moves) }) : {},
    };
}

const ended = (status: string) => status === "success" || status === "fail";

const pathOf = (moves: readonly { from: string; to: string }[]) => (moves[0] ? [moves[0].from, ...moves.map((move) => move.to)] : undefined);

function bare<T extends object>(value: T): T {
    return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

/** Names of failures without an answer, as tests know them. */
const FAILURES = ["ConnectionRefused", "ConnectionReset", "ConnectionClosed", "ConnectTimeout", "DnsError", "TlsError", "ReadTimeout", "BodyError", "ProtocolError"];

function failureOf(step: StepView): string {
    const text = `${step.class ?? ""} ${step.error ?? ""}`.toLowerCase().replace(/[^a-z]/g, "");
    return FAILURES.find((name) => text.includes(name.toLowerCase())) ?? (/timeout|noanswer/.test(text) ? "ReadTimeout" : "HttpError");
}

/** Who was asked. The host is a mask, since the constants of a trial are its own. */
function askedIn(step: StepView): Asked {
    const [word = "", ...rest] = step.target.split(" ");
    if (step.kind === "http") return { kind: "http", method: word, target: `**${/\/.*$/.exec(rest.join(" "))?.[0] ?? ""}` };
    if (step.kind === "amqp") {
        const [exchange, key] = step.target.includes(" ") ? [word, rest.join(" ")] : [undefined, step.target];
        return bare({ kind: "amqp" as const, target: exchange, key });
    }
    return { kind: step.kind === "actor" ? "actor" : "order", target: word };
}

function answerOf(step: StepView, callbacks: readonly Schemas["CallbackView"][]): Answer {
    const asked = askedIn(step);
    const after = step.durationMs > 0 && (asked.kind === "http" || asked.kind === "amqp") ? spelled(step.durationMs) : undefined;
    const callback = callbacks.find((one) => one.request === step.name && Date.parse(one.receivedAt) >= Date.parse(step.at));
    const base = { asked, after, times: 1 };
    if (asked.kind === "actor") return bare({ ...base, ...decisionOf(callback, step) });
    if (asked.kind === "order") return bare({ ...base, status: statusOf(callback), after: callback ? delay(callback, step) : undefined });
    if (step.outcome === "failed" && step.status === null) return bare({ ...base, fails: asked.kind === "amqp" ? "unroutable" : failureOf(step) });
    const later: Callback | "none" | undefined = callback ? bare({ after: delay(callback, step), body: callback.body ?? undefined, stepStatus: callback.stepStatus ?? undefined }) : step.name ? "none" : undefined;
    return bare({ ...base, status: step.status ?? undefined, callback: later });
}

const delay = (callback: { receivedAt: string }, step: StepView) => spelled(Math.max(1, Date.parse(callback.receivedAt) - Date.parse(step.at)));

function decisionOf(callback: Schemas["CallbackView"] | undefined, step: StepView): Partial<Answer> {
    if (!callback) return { decision: "none" };
    const body = (callback.body ?? {}) as Record<string, unknown>;
    return { decision: typeof body["decision"] === "string" ? body["decision"] : "success", result: body["result"] ?? undefined, error: body["error"] ?? undefined, after: delay(callback, step) };
}

function statusOf(callback: Schemas["CallbackView"] | undefined): string {
    const body = (callback?.body ?? {}) as Record<string, unknown>;
    return typeof body["status"] === "string" ? body["status"] : "none";
}
