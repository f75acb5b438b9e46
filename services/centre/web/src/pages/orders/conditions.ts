// The table of conditions: how each is written in the bar, sent to the API, completed and named on the command line follows
// from its line here. What it means stands in the dictionary under the same name.

import type { paths } from "../../api/schema";

type Parameters = NonNullable<paths["/v1/orders"]["get"]["parameters"]["query"]>;

/** Conditions with a value behind a path, like `params.customer.id`: the API lists them in bodies only. */
type ByPath = "attributes" | "labels" | "params" | "vars";

/** Name of a condition, as the API has it. The compiler finds a parameter of the API that the table lacks. */
export type ConditionName = Exclude<keyof Parameters, "cursor" | "limit"> | ByPath;

/** Form of a value: lists are apart by commas, and `path` conditions have theirs behind a dot of the name. */
export type Kind = "text" | "list" | "flag" | "number" | "time" | "path";

/** Lists of the engine that values are completed from. */
export type Source = "scenario" | "flow" | "system" | "node" | "queue" | "class" | "state" | "saved";

export interface Condition {
    readonly kind: Kind;
    /** The words that it takes; left out: any text. */
    readonly words?: readonly string[];
    /** List that values are completed from. */
    readonly from?: Source;
    /** Whether its empty value stands for orders that have none. */
    readonly none?: boolean;
    /** Whether the API reads it order by order, and takes it only beside a condition that narrows the search. */
    readonly costly?: boolean;
    /** Flag of the command line, where that is not the name in its spelling. */
    readonly flag?: string;
}

export const STATUSES = [
    "new",
    "postponed",
    "running",
    "sleep",
    "wait",
    "polling",
    "retry",
    "reopen",
    "success",
    "fail",
    "interrupted",
    "canceled",
] as const;

export const CONDITIONS: Readonly<Record<ConditionName, Condition>> = {
    status: { kind: "list", words: STATUSES },
    scenario: { kind: "text", from: "scenario" },
    scenarioVersion: { kind: "number" },
    idPrefix: { kind: "text" },
    ids: { kind: "list", flag: "id" },
    transactionId: { kind: "text" },
    class: { kind: "list", from: "class", none: true },
    system: { kind: "list", from: "system", none: true },
    state: { kind: "list", from: "state", none: true },
    errorState: { kind: "list", from: "state" },
    flow: { kind: "text", from: "flow" },
    queue: { kind: "text", from: "queue" },
    node: { kind: "text", from: "node" },
    text: { kind: "text" },
    createdSince: { kind: "time" },
    createdUntil: { kind: "time" },
    finishedSince: { kind: "time" },
    finishedUntil: { kind: "time" },
    params: { kind: "path", flag: "where", costly: true },
    vars: { kind: "path", flag: "where-var", costly: true },
    attributes: { kind: "path", flag: "attribute" },
    labels: { kind: "path", flag: "label" },
    scenarioStatus: { kind: "list", words: ["undefined", "on_target", "off_target", "target", "failed"] },
    priority: { kind: "text", words: ["high", "normal", "low"] },
    mode: { kind: "text", words: ["parallel", "sequential"] },
    source: { kind: "text", costly: true },
    jeopardy: { kind: "flag" },
    inconsistent: { kind: "flag" },
    failedOver: { kind: "flag", costly: true },
    saved: { kind: "text", from: "saved" },
};

export const NAMES = Object.keys(CONDITIONS) as ConditionName[];

/** The condition of a name as it is written, and its path where it has one. Nothing where there is none. */
export function conditionOf(written: string): { name: ConditionName; path: string | undefined; condition: Condition } | undefined {
    const dot = written.indexOf(".");
    const name = (dot < 0 ? written : written.slice(0, dot)) as ConditionName;
    if (!Object.hasOwn(CONDITIONS, name)) return undefined;
    const condition = CONDITIONS[name];
    const path = dot < 0 ? undefined : written.slice(dot + 1);
    if ((condition.kind === "path") !== Boolean(path)) return undefined;
    return { name, path, condition };
}

/** Flag of the command line: `--scenario-status`. */
export function flagOf(name: ConditionName): string {
    return `--${CONDITIONS[name].flag ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
