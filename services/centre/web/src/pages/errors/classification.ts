// A question about how a failure would be classified, as the address of the page has it.

import { change, type ApiRequest, type Schemas } from "../../api/client";

type Question = Schemas["QuestionView"];

/** Fields of the form that are text. */
export const ASKED = ["path", "method", "host", "scenario", "message", "exception", "stepStatus", "body"] as const;
export type Asked = (typeof ASKED)[number];

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
export { METHODS };

/** The question of an address; nothing where it asks nothing. */
export function questionOf(query: URLSearchParams): Question | undefined {
    const question: Record<string, unknown> = {};
    for (const field of ASKED) {
        const value = query.get(field);
        if (value) question[field] = value;
    }
    const status = query.get("code");
    if (status) question["status"] = Number(status);
    if (query.get("timeout") === "true") question["timeout"] = true;
    const asksNothing = Object.keys(question).every((name) => name === "method" || name === "scenario");
    return asksNothing ? undefined : (question as Question);
}

export function requestOf(question: Question): ApiRequest {
    return change("POST", "/v1/classify", {}, question);
}

const OPTIONS: Record<string, string> = { stepStatus: "step-status" };

/** Words of the command line that ask for the same. */
export function classifyCommand(question: Question): string[] {
    const words = Object.entries(question).flatMap(([name, value]) => {
        const option = `--${OPTIONS[name] ?? name}`;
        return value === true ? [option] : [option, String(value)];
    });
    return ["classify", ...words, "--why"];
}
