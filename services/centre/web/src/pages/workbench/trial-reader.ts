// Reads tests out of the value of a file, as far as they have the form of tests; whether they are right, the server says.

import type { Answer, Asked, AskedKind, Call, Callback, Trial } from "./trial";

type Mapping = Record<string, unknown>;

const isMapping = (value: unknown): value is Mapping => typeof value === "object" && value !== null && !Array.isArray(value);
const mapping = (value: unknown): Mapping => (isMapping(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string | undefined => (value === undefined || value === null ? undefined : String(value));

const KINDS: readonly AskedKind[] = ["http", "amqp", "actor", "order"];

/** Without the keys that have no value. */
function bare<T extends object>(value: T): T {
    return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

function readAsked(kind: AskedKind, value: unknown): Asked {
    const said = mapping(value);
    if (kind === "amqp") return bare({ kind, target: text(said["exchange"]), key: text(said["key"]), body: said["body"] });
    if (kind === "http" && !isMapping(value)) {
        const [, method, url] = /^(?:(\S+)\s+)?(\S*)$/.exec(text(value)?.trim() ?? "") ?? [];
        return bare({ kind, target: url, method });
    }
    if (kind === "http") return bare({ kind, target: text(said["url"]), method: text(said["method"]), body: said["body"] });
    if (!isMapping(value)) return bare({ kind, target: text(value) });
    const target = text(said[kind === "actor" ? "name" : "scenario"]);
    return bare({ kind, target, body: said[kind === "actor" ? "body" : "params"] });
}

function readAnswer(value: unknown): Answer | undefined {
    const line = mapping(value);
    const kind = KINDS.find((one) => one in line);
    if (!kind) return undefined;
    const rest = Object.fromEntries(Object.entries(line).filter(([key]) => key !== kind));
    const callback = line["callback"] === "none" ? ("none" as const) : isMapping(line["callback"]) ? (line["callback"] as Callback) : undefined;
    return bare({ ...rest, asked: readAsked(kind, line[kind]), callback });
}

function readTrial(value: unknown): Trial {
    const said = mapping(value);
    return bare({
        name: text(said["test"]) ?? "",
        order: isMapping(said["order"]) ? said["order"] : undefined,
        params: mapping(said["params"]),
        config: mapping(said["config"]),
        secrets: mapping(said["secrets"]),
        now: text(said["now"]),
        answers: list(said["answers"]).flatMap((one) => readAnswer(one) ?? []),
        calls: list(said["calls"]).map((one) => mapping(one) as unknown as Call),
        errors: said["errors"],
        expect: mapping(said["expect"]),
    });
}

/** Tests of a file. */
export function readTrials(value: unknown): Trial[] {
    return list(mapping(value)["tests"]).map(readTrial);
}
