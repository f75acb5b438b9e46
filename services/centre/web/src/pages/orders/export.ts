// Export of the selected orders: the pages of the list one after the other, as lines of a file.

import { json, type Read, type ReadAnswer, type Schemas } from "../../api/client";
import { listRequest, type Selection } from "./selection";

export type Line = Schemas["OrderLine"];
export type Format = "csv" | "ndjson";

/** Orders of one request; the API gives no more. */
const PAGE = 500;
/** Orders of one file: a browser holds it whole before it is kept. */
export const MOST = 200_000;

const FIELDS = [
    "id",
    "scenario",
    "scenarioVersion",
    "status",
    "scenarioStatus",
    "step",
    "errorClass",
    "createdAt",
    "updatedAt",
    "inconsistent",
    "jeopardy",
] as const;

/** A page of the export: the request of the list, with as many orders as the API gives. */
export function exportRequest(selection: Selection, cursor: string | null | undefined): Read<ReadAnswer<"/v1/orders">> {
    return listRequest(selection, cursor, PAGE);
}

/** A value of a table. A text that a spreadsheet would take for a formula is kept a text by an apostrophe. */
export function csvValue(value: unknown): string {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Head of a file. */
export function headOf(format: Format): string {
    return format === "csv" ? `${FIELDS.join(",")}\r\n` : "";
}

/** Lines of a file. */
export function linesOf(format: Format, orders: readonly Line[]): string {
    const line = (order: Line) =>
        format === "csv" ? `${FIELDS.map((field) => csvValue(order[field])).join(",")}\r\n` : `${JSON.stringify(order)}\n`;
    return orders.map(line).join("");
}

/** Walks through all pages. `onPage` gets the number of orders so far. Returns the parts of the file, and whether they are all. */
export async function collected(
    selection: Selection,
    format: Format,
    signal: AbortSignal,
    onPage: (orders: number) => void,
): Promise<{ parts: string[]; complete: boolean }> {
    const parts = [headOf(format)];
    let orders = 0;
    let cursor: string | null | undefined;
    do {
        const page = await json(exportRequest(selection, cursor), signal);
        parts.push(linesOf(format, page.items));
        orders += page.items.length;
        onPage(orders);
        cursor = page.next;
    } while (cursor && orders < MOST);
    return { parts, complete: !cursor };
}
