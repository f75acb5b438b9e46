// A trial of a scenario: an order, the answers that it meets, and what is expected of it. The same as a test in a file.

import { dashed, pair } from "./yaml";

export type AskedKind = "http" | "amqp" | "actor" | "order";

/** Requests that a line of the table answers. `target` is a URL, an exchange, an actor or a scenario, with masks. */
export interface Asked {
    readonly kind: AskedKind;
    readonly target?: string;
    /** Method of a call; any where there is none. */
    readonly method?: string;
    /** Routing key of a message. */
    readonly key?: string;
    /** What the body, or the parameters, must hold. */
    readonly body?: unknown;
}

export interface Callback {
    readonly after?: string;
    readonly body?: unknown;
    readonly headers?: unknown;
    readonly stepStatus?: string;
}

/** A line of the table. */
export interface Answer {
    readonly asked: Asked;
    /** Status over HTTP, or of the end of a child order. */
    readonly status?: number | string;
    readonly headers?: unknown;
    readonly body?: unknown;
    readonly fails?: string;
    readonly after?: string;
    readonly times?: number;
    readonly decision?: string;
    readonly result?: unknown;
    readonly error?: unknown;
    readonly message?: string;
    readonly step?: string;
    readonly callback?: Callback | "none";
}

export interface Call {
    readonly after: string;
    readonly name: string;
    readonly body?: unknown;
}

export interface Trial {
    readonly name: string;
    readonly order?: Record<string, unknown>;
    readonly params: Record<string, unknown>;
    readonly config: Record<string, unknown>;
    readonly secrets: Record<string, unknown>;
    readonly now?: string;
    readonly answers: readonly Answer[];
    readonly calls: readonly Call[];
    readonly errors?: unknown;
    readonly expect: Record<string, unknown>;
}

/** An expectation that every end meets: a test must expect something. */
const NOTHING = { log: [] };

/** Answers to everything that a scenario may ask: 200, published, decided, ended well; with the bodies that it reads. */
export function toAll(body?: unknown, callbackBody?: unknown): Answer[] {
    const callback: Callback = { after: "1s", ...(callbackBody === undefined ? {} : { body: callbackBody }) };
    const said = (key: "body" | "result") => (body === undefined ? {} : { [key]: body });
    return [
        { asked: { kind: "http", target: "**" }, ...said("body"), callback },
        { asked: { kind: "amqp", target: "**" }, callback },
        { asked: { kind: "actor", target: "**" }, ...said("result"), after: "1s" },
        { asked: { kind: "order", target: "**" }, ...said("result"), after: "1s" },
    ];
}

export function emptyTrial(name: string): Trial {
    return { name, params: {}, config: {}, secrets: {}, answers: toAll(), calls: [], expect: {} };
}

/** Equal lines that follow each other, as one with the number of its uses. */
export function gathered(answers: readonly Answer[]): Answer[] {
    const found: Answer[] = [];
    for (const answer of answers) {
        const last = found.at(-1);
        const same = last && JSON.stringify({ ...last, times: 1 }) === JSON.stringify({ ...answer, times: 1 });
        if (same) found[found.length - 1] = { ...last, times: (last.times ?? 1) + (answer.times ?? 1) };
        else found.push(answer);
    }
    return found;
}

const filled = (value: Record<string, unknown>) => (Object.keys(value).length > 0 ? value : undefined);

/** Who is asked, as a file says it. */
function askedValue({ kind, target, method, key, body }: Asked): unknown {
    if (kind === "amqp") return { exchange: target, key, body };
    if (kind === "http") return body === undefined ? [method, target].filter(Boolean).join(" ") : { method, url: target, body };
    if (body === undefined) return target;
    return kind === "actor" ? { name: target, body } : { scenario: target, params: body };
}

/** A line of the table as a file has it. */
export function answerValue({ asked, ...rest }: Answer): Record<string, unknown> {
    return { [asked.kind]: askedValue(asked), ...rest };
}

function trialLines(trial: Trial): string[] {
    const { name, order, params, config, secrets, now, answers, calls, errors, expect } = trial;
    const entries: [string, unknown][] = [
        ["test", name],
        ["order", order && filled(order)],
        ["params", filled(params)],
        ["config", filled(config)],
        ["secrets", filled(secrets)],
        ["now", now],
    ];
    const lines = entries.filter(([, value]) => value !== undefined).flatMap(([key, value]) => pair(key, value, 4));
    // A line for each answer, whatever its length: the table is read from the top.
    if (answers.length > 0) lines.push("answers:", ...answers.flatMap((answer) => dashed(pairs(answerValue(answer)))).map((line) => `  ${line}`));
    if (calls.length > 0) lines.push(...pair("calls", calls, 4));
    if (errors !== undefined) lines.push(...pair("errors", errors, 4));
    return [...lines, ...pair("expect", filled(expect) ?? NOTHING, 4)];
}

function pairs(value: Record<string, unknown>): string[] {
    return Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .flatMap(([key, one]) => pair(key, one, 8));
}

/** Tests as the text of a `.test.yaml`. */
export function toText(trials: readonly Trial[], scenario?: string): string {
    const tests = trials.flatMap((trial) => dashed(trialLines(trial))).map((line) => `  ${line}`);
    return [...(scenario ? pair("scenario", scenario, 0) : []), "tests:", ...tests, ""].join("\n");
}
