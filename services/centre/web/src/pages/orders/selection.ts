// A selection of orders: the conditions of the address. The list, the counts, the export, saved searches and bulk operations
// are all built from this one object, so that none of them can mean other orders than the rest.

import type { ApiRequest, Query, Read, ReadAnswer } from "../../api/client";
import { change, read } from "../../api/client";
import { EXAMINED } from "../../api/examined";
import { conditionOf, flagOf } from "./conditions";

/** Conditions as pairs of the API's own names and the values as they are written, each name once. */
export type Selection = readonly (readonly [name: string, value: string])[];

/** Words of the address that are no conditions: they say how the orders are shown. */
const VIEW = ["cursor", "columns", "live"];

/** The selection of an address's query. A list that is given more than once is put together, as the API does it. */
export function selectionOf(query: URLSearchParams): Selection {
    const pairs: [string, string][] = [];
    for (const [name, value] of query) {
        if (VIEW.includes(name)) continue;
        const same = pairs.find(([other]) => other === name);
        if (same && conditionOf(name)?.condition.kind === "list") same[1] += `,${value}`;
        else pairs.push([name, value]);
    }
    return pairs;
}

/** The selection as a query, empty values included: the empty class stands for orders without an error. */
export function queryOf(selection: Selection, more: Query = {}): string {
    const pairs = new URLSearchParams(selection.map(([name, value]) => [name, value]));
    for (const [name, value] of Object.entries(more)) {
        if (value !== undefined && value !== null && value !== "") pairs.append(name, String(value));
    }
    const text = pairs.toString();
    return text === "" ? "" : `?${text}`;
}

/** The selection with another value of a condition, or without it. */
export function withCondition(selection: Selection, name: string, value: string | undefined): Selection {
    const others = selection.filter(([other]) => other !== name);
    return value === undefined ? others : [...others, [name, value]];
}

export function valueOf(selection: Selection, name: string): string | undefined {
    return selection.find(([other]) => other === name)?.[1];
}

/** Values of a list; none where the condition is not given. */
export function listOf(selection: Selection, name: string): string[] {
    const value = valueOf(selection, name);
    return value === undefined ? [] : value.split(",");
}

/** The selected orders, one page. */
export function listRequest(selection: Selection, cursor: string | null | undefined, limit: number): Read<ReadAnswer<"/v1/orders">> {
    return { method: "GET", url: read("/v1/orders").url + queryOf(selection, { limit, cursor }) };
}

/** Counts of the selected orders. */
export function countRequest(selection: Selection, by: string): Read<ReadAnswer<"/v1/counts">> {
    return { method: "GET", url: read("/v1/counts").url + queryOf(selection, { by, examine: EXAMINED }) };
}

/** Whether a condition is read order by order. */
export function isCostly(selection: Selection): boolean {
    return selection.some(([name]) => conditionOf(name)?.condition.costly);
}

/** Whether the API counts the orders: it lists those with values of parameters or variables, and does not count them. */
export function isCountable(selection: Selection): boolean {
    return !selection.some(([name]) => ["params", "vars"].includes(conditionOf(name)?.name ?? ""));
}

/** The selection whose orders are counted by status beside the list: all statuses, where the API can look at them. */
export function overStatuses(selection: Selection): Selection {
    return isCostly(selection) || valueOf(selection, "saved") !== undefined ? selection : withCondition(selection, "status", undefined);
}

/** The selection as the body of a search. */
export function bodyOf(selection: Selection): Record<string, unknown> {
    const body: Record<string, unknown> = {};
    for (const [written, value] of selection) {
        const found = conditionOf(written);
        if (!found) continue;
        const { name, path, condition } = found;
        if (condition.kind === "path" && path !== undefined) {
            body[name] = { ...(body[name] as object | undefined), [path]: value };
        } else body[name] = typed(condition.kind, value);
    }
    return body;
}

function typed(kind: string, value: string): unknown {
    if (kind === "list") return value.split(",");
    if (kind === "flag") return value === "true";
    if (kind === "number") return Number(value);
    return value;
}

/** The part of an operation's body that names its orders. */
export function ordersOf(selection: Selection): { saved: string } | { search: Record<string, unknown> } {
    const saved = valueOf(selection, "saved");
    return saved === undefined ? { search: bodyOf(selection) } : { saved };
}

/** Saves the selection under a name. */
export function saveRequest(selection: Selection, name: string): ApiRequest {
    return change("PUT", "/v1/searches/{name}", { name }, bodyOf(selection));
}

/** The selection of a search's body, as the API answers with it. Conditions that are not set are left out. */
export function selectionOfBody(body: unknown): Selection {
    const pairs: [string, string][] = [];
    for (const [name, value] of Object.entries((body ?? {}) as Record<string, unknown>)) {
        if (value === null || value === undefined) continue;
        if (Array.isArray(value)) {
            if (value.length > 0) pairs.push([name, value.join(",")]);
        } else if (typeof value === "object") {
            for (const [path, one] of Object.entries(value)) pairs.push([`${name}.${path}`, asText(one)]);
        } else pairs.push([name, asText(value)]);
    }
    return pairs;
}

function asText(value: unknown): string {
    return typeof value === "string" ? value : JSON.stringify(value);
}

/** Flags of the command line for the selection; nothing where the command has no such flag. */
export function flagsOf(selection: Selection): string[] | undefined {
    const words: string[] = [];
    for (const [written, value] of selection) {
        const found = conditionOf(written);
        if (!found) return undefined;
        const flag = flagOf(found.name);
        if (found.path !== undefined) words.push(flag, `${found.path}=${value}`);
        else if (found.condition.kind === "list") for (const one of value.split(",")) words.push(flag, one);
        else if (found.condition.kind !== "flag") words.push(flag, value);
        // The command has no word for the orders that are not in jeopardy.
        else if (value === "true") words.push(flag);
        else return undefined;
    }
    return words;
}
