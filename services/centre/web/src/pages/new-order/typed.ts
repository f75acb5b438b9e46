// The three ways in which parameters are written, and the changes from one to another.

import { paramsOfFields, paramsOfJson, paramsOfRows, rowsOf, typedFor, type Made, type Row, type Texts } from "./params";
import type { SchemaField } from "./schema";

export type Way = "fields" | "rows" | "json";

/** Parameters as they are typed, in one of the ways. */
export interface Typed {
    readonly way: Way;
    readonly texts: Texts;
    /** Rows of the table, or those besides the fields. */
    readonly rows: readonly Row[];
    readonly json: string;
}

const NO_ROW: Row = { name: "", type: "text", value: "" };

/** Parameters in a way; nothing where the fields cannot say them. */
export function typedIn(way: Way, params: Record<string, unknown>, root: SchemaField | undefined): Typed | undefined {
    const empty: Typed = { way, texts: {}, rows: [], json: "" };
    if (way === "json") return { ...empty, json: JSON.stringify(params, null, 2) };
    if (way === "rows") return { ...empty, rows: Object.keys(params).length > 0 ? rowsOf(params) : [NO_ROW] };
    const typed = root && typedFor(root, params);
    return typed && { ...empty, texts: typed.texts, rows: typed.others };
}

/** The way to begin with: fields where the schema has some and they say everything, else rows. */
export function beginWith(params: Record<string, unknown>, root: SchemaField | undefined): Typed {
    const isDeep = Object.values(params).some((value) => typeof value === "object" && value !== null);
    return typedIn("fields", params, root) ?? typedIn(isDeep ? "json" : "rows", params, root) ?? { way: "json", texts: {}, rows: [], json: "{}" };
}

/** The parameters that are meant. */
export function made(typed: Typed, root: SchemaField | undefined): Made {
    if (typed.way === "json") return paramsOfJson(typed.json);
    return typed.way === "fields" && root ? paramsOfFields(root, typed.texts, typed.rows) : paramsOfRows(typed.rows);
}

/** Pointers of the fields that are shown, within the body of the order. */
export function pointersOf(typed: Typed, root: SchemaField | undefined): string[] {
    if (typed.way === "json") return ["/params"];
    const rows = typed.rows.map((row) => `/params/${row.name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    return typed.way === "fields" && root ? [...leavesOf(root).map((pointer) => `/params${pointer}`), ...rows] : rows;
}

function leavesOf(field: SchemaField): string[] {
    return field.kind === "group" ? (field.fields ?? []).flatMap(leavesOf) : [field.pointer];
}
