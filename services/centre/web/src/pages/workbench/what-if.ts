// "What would a 503 here do?": the table of answers, changed for one request of a story.

import { gathered, type Answer, type Asked } from "./trial";
import type { Step } from "./story";

/** Who is asked by a line of a story, such as `POST http://billing/payments` or `amqp network activate`. */
export function askedBy(line: string): Asked {
    const [word = "", ...rest] = line.split(" ");
    if (word === "amqp") return { kind: "amqp", target: rest[0] ?? "", key: rest.slice(1).join(" ") };
    if (word === "actor" || word === "order") return { kind: word, target: rest.join(" ") };
    return { kind: "http", method: word, target: rest.join(" ") };
}

/** Whether a mask fits: `*` stays within a segment, `**` does not. */
export function maskFits(mask: string, text: string): boolean {
    const parts = mask.split(/(\*+)/).map((part) => (part === "" ? "" : /^\*+$/.test(part) ? (part.length > 1 ? ".*" : "[^/]*") : escaped(part)));
    return new RegExp(`^${parts.join("")}$`, "s").test(text);
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Whether a line of the table may answer a request. What it asks of the body is not looked at: a story does not tell it. */
export function mayAnswer({ asked }: Answer, request: Asked): boolean {
    if (asked.kind !== request.kind) return false;
    if (asked.method !== undefined && asked.method !== request.method) return false;
    if (asked.key !== undefined && !maskFits(asked.key, request.key ?? "")) return false;
    const [mask, target] = [asked.target ?? "**", request.target ?? ""];
    // A query counts only where the mask has one.
    return maskFits(mask, asked.kind === "http" && !mask.includes("?") ? (target.split("?")[0] ?? "") : target);
}

/** What a request is answered with instead. */
export type Instead = Pick<Answer, "status" | "fails" | "decision" | "callback" | "body">;

export interface Change {
    readonly instead: Instead;
    /** Whether all later requests of the same line are answered so, too. */
    readonly always: boolean;
}

/** A table without one use of a line that has a number of them. */
function usedOnce(answers: readonly Answer[], index: number): Answer[] {
    const answer = answers[index];
    if (!answer || answer.times === undefined) return [...answers];
    return answer.times > 1 ? answers.with(index, { ...answer, times: answer.times - 1 }) : answers.toSpliced(index, 1);
}

/**
 * The table in which a request of a story is answered otherwise. Requests of the same line before it keep their answers: these go
 * before the new one, each for the times that it was used.
 */
export function changed(answers: readonly Answer[], steps: readonly Step[], index: number, change: Change): Answer[] {
    const line = steps[index]?.asked ?? "";
    const request = askedBy(line);
    const before = steps.slice(0, index).filter((step) => step.asked === line).length;
    let rest = [...answers];
    const kept: Answer[] = [];
    for (let count = 0; count <= before; count += 1) {
        const at = rest.findIndex((answer) => mayAnswer(answer, request));
        const answer = rest[at];
        if (!answer) continue;
        if (count < before) kept.push({ ...answer, asked: request, times: 1 });
        rest = usedOnce(rest, at);
    }
    const made: Answer = { asked: request, ...change.instead, ...(change.always ? {} : { times: 1 }) };
    return [...gathered(kept), made, ...rest];
}

/** What can be tried in place of an answer, by who was asked. */
export function choicesFor(kind: Asked["kind"]): readonly { readonly name: string; readonly instead: Instead }[] {
    switch (kind) {
        case "http":
            return [
                ...[503, 500, 429, 404, 400].map((status) => ({ name: String(status), instead: { status } })),
                ...["ReadTimeout", "ConnectionRefused"].map((fails) => ({ name: fails, instead: { fails } })),
                { name: "callback: none", instead: { status: 200, callback: "none" } },
            ];
        case "amqp":
            return [
                { name: "unroutable", instead: { fails: "unroutable" } },
                { name: "callback: none", instead: { callback: "none" } },
            ];
        case "actor":
            return ["fail", "none"].map((decision) => ({ name: `decision: ${decision}`, instead: { decision } }));
        case "order":
            return [
                ...["fail", "canceled", "none"].map((status) => ({ name: `status: ${status}`, instead: { status } })),
                { name: "refused", instead: { fails: "refused" } },
            ];
    }
}
