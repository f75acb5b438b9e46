// What an order did and waited for over time, read from its events.

import type { Schemas } from "../../api/client";
import type { Order } from "./permitted";

export type Event = Schemas["EventView"];

/** Row of the time line: what it waited for, its stages, its calls. */
export type Lane = "pause" | "stage" | "call";

export interface Span {
    readonly lane: Lane;
    /** Of a pause `start`, `sleep`, `wait`, `polling` or `retry`; of a stage what woke it; of a call its kind. */
    readonly kind: string;
    readonly from: number;
    readonly until: number;
    readonly life: number;
    /** What was called, or the node that ran the stage. */
    readonly detail: string;
    /** How it ended: the status of a stage, the outcome of a call; nothing while it goes on. */
    readonly outcome?: string;
    readonly failed: boolean;
}

/** An event at one moment: a restart, a kill, a change by hand. */
export interface Mark {
    readonly at: number;
    readonly kind: string;
    readonly source: string;
}

export interface Story {
    readonly from: number;
    readonly until: number;
    readonly spans: readonly Span[];
    readonly marks: readonly Mark[];
}

interface Step {
    readonly at: string;
    readonly ms: number;
    readonly kind: string;
    readonly target: string;
    readonly outcome: string;
    readonly status?: number;
    readonly class?: string;
}

interface StagePayload {
    readonly startedAt?: string;
    readonly wake?: string;
    readonly status?: string;
    readonly steps?: readonly Step[];
}

type Standing = Pick<Order, "status" | "asking" | "node" | "updatedAt" | "finishedAt" | "life">;

const PAUSES = ["sleep", "wait", "polling", "retry"];
/** Events after which an order waits to start. */
const BEGINNINGS = ["registered", "restarted", "restart_postponed", "rerun", "repaired", "reissued"];
/** Events that leave what it waits for as it is. */
const ASIDE = ["answered_by_hand", "updated", "deferred", "shifted", "shift_undone"];
/** Status of an order that waits to start, or to go on after a restart. */
const STARTING = ["new", "postponed", "reopen"];

const ms = (at: string) => new Date(at).getTime();

/** Collects spans in the order of the events. */
class Reader {
    readonly spans: Span[] = [];
    readonly marks: Mark[] = [];
    /** What it waits for since when. */
    private pending: { kind: string; from: number } | undefined;
    /** Stage that has entered a state, and goes on. */
    private stage: { from: number; wake: string; node: string; life: number } | undefined;

    read(event: Event): void {
        if (event.kind === "stage_started") return;
        const payload = (event.payload ?? {}) as StagePayload;
        if (event.kind === "stage_ended" || event.kind === "entered") {
            this.begin(event, payload);
            this.calls(event.life, payload.steps ?? []);
            if (event.kind === "stage_ended") this.end(event, payload.status ?? "");
            return;
        }
        this.aside(event);
    }

    private begin(event: Event, { startedAt, wake }: StagePayload): void {
        if (this.stage) return;
        const from = startedAt ? ms(startedAt) : ms(event.at);
        this.pauseUntil(from, event.life);
        this.stage = { from, wake: wake ?? "", node: event.source, life: event.life };
    }

    private end(event: Event, status: string): void {
        const at = ms(event.at);
        if (this.stage) this.add({ lane: "stage", kind: this.stage.wake, from: this.stage.from, until: at, life: event.life, detail: event.source, outcome: status, failed: status === "fail" });
        this.stage = undefined;
        this.pending = PAUSES.includes(status) ? { kind: status, from: at } : undefined;
    }

    private calls(life: number, steps: readonly Step[]): void {
        for (const step of steps) {
            const outcome = [step.status, step.class ?? step.outcome].filter(Boolean).join(" ");
            this.add({ lane: "call", kind: step.kind, from: ms(step.at), until: ms(step.at) + step.ms, life, detail: step.target, outcome, failed: step.outcome === "failed" });
        }
    }

    /** An event outside of stages: it may end what is waited for, or begin it. */
    private aside(event: Event): void {
        const at = ms(event.at);
        this.marks.push({ at, kind: event.kind, source: event.source });
        if (ASIDE.includes(event.kind)) return;
        this.pauseUntil(at, event.life);
        if (this.stage) this.add({ ...this.openStage(this.stage, at), outcome: event.kind, failed: true });
        this.stage = undefined;
        this.pending = BEGINNINGS.includes(event.kind) ? { kind: "start", from: at } : undefined;
    }

    private pauseUntil(at: number, life: number): void {
        if (this.pending && at > this.pending.from) this.add({ lane: "pause", kind: this.pending.kind, from: this.pending.from, until: at, life, detail: "", failed: false });
        this.pending = undefined;
    }

    /** Draws on to the present what has not ended yet. */
    goOn(order: Standing, now: number): void {
        if (order.status === "running") {
            const stage = this.stage ?? { from: Math.max(ms(order.updatedAt), this.pending?.from ?? 0), wake: "", node: order.node ?? "", life: order.life };
            this.pauseUntil(stage.from, order.life);
            this.add(this.openStage(stage, now));
            if (order.asking) this.add({ lane: "call", kind: order.asking.kind, from: ms(order.asking.since), until: now, life: order.life, detail: order.asking.target, failed: false });
        } else if (PAUSES.includes(order.status) || STARTING.includes(order.status)) {
            this.pauseUntil(now, order.life);
        }
    }

    private openStage(stage: NonNullable<Reader["stage"]>, until: number): Span {
        return { lane: "stage", kind: stage.wake, from: stage.from, until: Math.max(stage.from, until), life: stage.life, detail: stage.node, failed: false };
    }

    private add(span: Span): void {
        this.spans.push({ ...span, until: Math.max(span.from, span.until) });
    }
}

/** Story of a page of events. `whole`: nothing comes behind them, so that the present state of the order is drawn too. */
export function storyOf(events: readonly Event[], order: Standing, whole: boolean, now: number): Story {
    const reader = new Reader();
    for (const event of events) reader.read(event);
    if (whole) reader.goOn(order, now);
    const { spans, marks } = reader;
    const times = [...spans.flatMap((span) => [span.from, span.until]), ...marks.map((mark) => mark.at)];
    return { from: times.reduce((a, b) => Math.min(a, b), Infinity), until: times.reduce((a, b) => Math.max(a, b), -Infinity), spans, marks };
}
