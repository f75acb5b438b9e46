// The story of a trial as steps that can be gone through: what each did, and where the order stood after it.

/** An event of a story, as the server writes it. */
export interface Moment {
    /** Virtual time since the registration, as `1d5s200ms`. */
    readonly after: string;
    readonly text: string;
    /** Variables after the event, where it changed them. */
    readonly vars?: Record<string, unknown>;
}

/** A fault or a note of a test, with its place in the text of the tests. */
export interface Remark {
    readonly message: string;
    readonly hint?: string | null;
    readonly line?: number | null;
    readonly column?: number | null;
}

/** Outcome of one test. */
export interface Tried {
    readonly test: string;
    readonly passed: boolean;
    readonly duration: string;
    readonly faults: readonly Remark[];
    readonly notes: readonly Remark[];
    readonly story: readonly Moment[];
    /** Result of an order that ended. */
    readonly result?: unknown;
}

export type StepKind = "begin" | "move" | "request" | "rest" | "retry" | "callback" | "call" | "log" | "end" | "other";

export interface Step {
    readonly moment: Moment;
    readonly kind: StepKind;
    /** Virtual time in ms. */
    readonly at: number;
    /** State in which the order stands after the event. */
    readonly state: string;
    /** Way that was taken, as `from event to`. */
    readonly way?: string;
    /** Line of a request, as `POST http://billing/payments`, and its outcome. */
    readonly asked?: string;
    readonly outcome?: string;
    /** Status in which the order ended. */
    readonly ended?: string;
    /** Variables after the event. */
    readonly vars: Record<string, unknown>;
}

const UNITS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A duration of the engine in ms: `1d5s200ms`. */
export function milliseconds(text: string): number {
    let sum = 0;
    for (const [, count, unit] of text.matchAll(/(\d+)(ms|d|h|m|s)/g)) sum += Number(count) * (UNITS[unit ?? ""] ?? 0);
    return sum;
}

/** A duration as the engine reads it. */
export function spelled(ms: number): string {
    let left = Math.max(0, Math.round(ms));
    let text = "";
    for (const [unit, length] of Object.entries(UNITS)) {
        if (left < length) continue;
        text += `${Math.floor(left / length)}${unit}`;
        left %= length;
    }
    return text === "" ? "0s" : text;
}

type Read = Pick<Step, "kind"> & Partial<Pick<Step, "state" | "way" | "asked" | "outcome" | "ended">>;

const FORMS: readonly [RegExp, (groups: readonly string[]) => Read][] = [
    [/^the order begins at `(.+)`$/, ([state]) => ({ kind: "begin", state })],
    [/^`([^`]+)` (\S+) to `([^`]+)`$/, ([from, event, to]) => ({ kind: "move", state: to, way: `${from} ${event} ${to}` })],
    [/^the order ends `(\w+)` in `([^`]+)`/, ([ended, state]) => ({ kind: "end", ended, state })],
    [/^log: /, () => ({ kind: "log" })],
    [/^(?:sleeps|waits) until /, () => ({ kind: "rest" })],
    [/^polls again at /, () => ({ kind: "rest" })],
    [/^retries at /, () => ({ kind: "retry" })],
    [/^callback `/, () => ({ kind: "callback" })],
    [/^call `/, () => ({ kind: "call" })],
    [/^((?:[A-Z]+ \S+)|(?:amqp|actor|order) .*?): (.*)$/, ([asked, outcome]) => ({ kind: "request", asked, outcome })],
];

function readMoment(text: string): Read {
    for (const [form, read] of FORMS) {
        const found = form.exec(text);
        if (found) return read(found.slice(1).map((group) => group ?? ""));
    }
    return { kind: "other" };
}

/** Steps of a story. A line of a form that is not known is a step without a change of place. */
export function stepsOf(story: readonly Moment[]): Step[] {
    let state = "";
    let vars: Record<string, unknown> = {};
    return story.map((moment) => {
        const read = readMoment(moment.text);
        state = read.state ?? state;
        vars = moment.vars ?? vars;
        return { ...read, moment, at: milliseconds(moment.after), state, vars };
    });
}

/** What a graph shows of a story up to a step. */
export interface Drawn {
    readonly states: ReadonlyMap<string, string>;
    readonly taken: ReadonlySet<string>;
}

/** Marks of a graph at a step: states gone through, the present one, and ways taken. */
export function drawnAt(steps: readonly Step[], index: number): Drawn {
    const states = new Map<string, string>();
    const taken = new Set<string>();
    for (const step of steps.slice(0, index + 1)) {
        if (step.state) states.set(step.state, "passed");
        if (step.way) taken.add(step.way);
    }
    const present = steps[index];
    if (present?.state) states.set(present.state, present.ended && present.ended !== "success" ? "failed" : "present");
    return { states, taken };
}

/** States that a story goes through, the first one counted in. */
export function pathOf(steps: readonly Step[]): string[] {
    return steps.filter((step) => step.kind === "begin" || step.kind === "move").map((step) => step.state);
}

/** A stay of the order in a state, between two moves. */
export interface Stay {
    readonly state: string;
    /** Indices of its first step and of the one behind its last. */
    readonly first: number;
    readonly end: number;
    /** Virtual time of the stay in ms. */
    readonly length: number;
}

/** Stays of a story, in their order. */
export function staysOf(steps: readonly Step[]): Stay[] {
    const starts = steps.flatMap((step, index) => (index === 0 || step.kind === "move" ? [index] : []));
    return starts.map((first, index) => {
        const end = starts[index + 1] ?? steps.length;
        const from = steps[first]?.at ?? 0;
        const left = steps[end]?.at ?? steps.at(-1)?.at ?? from;
        return { state: steps[first]?.state ?? "", first, end, length: Math.max(0, left - from) };
    });
}

/** Width of a stay on a time line, from 1 to 10. Times of a story differ by powers of ten, so that their size counts, not their length. */
export function widthOf(length: number): number {
    return Math.min(10, 1 + Math.round(Math.log10(1 + length)));
}

/** The request that broke a trial off, because the table has no answer for it. */
export function unansweredIn(faults: readonly Remark[]): { asked: string; state: string } | undefined {
    for (const { message } of faults) {
        const found = /^no answer is left for `(.+?)`(?: with body .*)? in `([^`]+)`/s.exec(message);
        if (found) return { asked: found[1] ?? "", state: found[2] ?? "" };
    }
    return undefined;
}
