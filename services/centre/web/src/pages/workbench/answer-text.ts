// A line of the table of answers as people read it at a glance.

import type { Answer } from "./trial";
import { flow } from "./yaml";

/** Who is asked, in one line. */
export function askedText({ asked }: Answer): string {
    const { kind, target = "**", method, key, body } = asked;
    const line = kind === "http" ? `${method ?? "http"} ${target}` : [kind, target, key].filter((part) => part !== undefined).join(" ");
    return body === undefined ? line : `${line} ${flow(body)}`;
}

/** What is answered, in one line. */
export function replyText(answer: Answer): string {
    if (answer.fails) return answer.fails;
    const { kind } = answer.asked;
    const head = kind === "http" ? String(answer.status ?? 200) : kind === "actor" ? (answer.decision ?? "success") : kind === "order" ? String(answer.status ?? "success") : "published";
    const said = [answer.body, answer.result, answer.error].filter((one) => one !== undefined).map(flow);
    return [head, ...said].join(" ");
}

export function callbackText({ callback }: Answer): string {
    if (callback === undefined || callback === "none") return "";
    return [callback.after ?? "0s", callback.body === undefined ? "" : flow(callback.body)].join(" ").trim();
}

/** Whether a line answers everything of its kind. */
export function answersAll({ asked }: Answer): boolean {
    return asked.target === "**" && asked.method === undefined && asked.key === undefined && asked.body === undefined;
}
