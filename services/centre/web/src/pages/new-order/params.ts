// Parameters as they are typed, in the fields of a schema or in rows, and the JSON that they mean.

import { pointerPart, type SchemaField } from "./schema";

/** What is typed in fields, by their pointers. */
export type Texts = Readonly<Record<string, string>>;

export type RowType = "text" | "number" | "boolean" | "json";
export const ROW_TYPES: readonly RowType[] = ["text", "number", "boolean", "json"];

/** A parameter without a schema. */
export interface Row {
    readonly name: string;
    readonly type: RowType;
    readonly value: string;
}

/** What is wrong with what is typed; the pointer is that of the parameters. */
export interface ParamFault {
    readonly pointer: string;
    readonly kind: "missing" | "not_a_number" | "not_an_integer" | "not_json" | "not_an_object" | "not_a_boolean" | "twice" | "no_name";
}

export interface Made {
    readonly params: Record<string, unknown>;
    readonly faults: readonly ParamFault[];
}

/** A value of JSON, or nothing. `undefined` is no value of JSON, so that it can say that there is none. */
function parsedJson(text: string): unknown {
    try {
        return JSON.parse(text) as unknown;
    } catch {
        return undefined;
    }
}

/** The parameters that a text of JSON means. */
export function paramsOfJson(text: string): Made {
    if (text.trim() === "") return { params: {}, faults: [] };
    const value = parsedJson(text);
    if (value === undefined) return { params: {}, faults: [{ pointer: "", kind: "not_json" }] };
    if (!isObject(value)) return { params: {}, faults: [{ pointer: "", kind: "not_an_object" }] };
    return { params: value, faults: [] };
}

function isObject(value: unknown): value is Record<string, unknown> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The parameters that rows mean. Rows without a name and a value are not there yet. */
export function paramsOfRows(rows: readonly Row[]): Made {
    const params: Record<string, unknown> = {};
    const faults: ParamFault[] = [];
    for (const row of rows) {
        if (row.name === "" && row.value === "") continue;
        const pointer = `/${pointerPart(row.name)}`;
        const value = row.type === "text" ? row.value : row.type === "number" ? numberOf(row.value) : parsedJson(row.value);
        if (row.name === "") faults.push({ pointer: "/", kind: "no_name" });
        else if (Object.hasOwn(params, row.name)) faults.push({ pointer, kind: "twice" });
        else if (value === undefined)
            faults.push({ pointer, kind: row.type === "number" ? "not_a_number" : row.type === "boolean" ? "not_a_boolean" : "not_json" });
        else if (row.type === "boolean" && typeof value !== "boolean") faults.push({ pointer, kind: "not_a_boolean" });
        else params[row.name] = value;
    }
    return { params, faults };
}

/** The rows of parameters. */
export function rowsOf(params: Record<string, unknown>): Row[] {
    return Object.entries(params).map(([name, value]) => {
        const type = typeof value === "string" ? "text" : typeof value === "number" ? "number" : typeof value === "boolean" ? "boolean" : "json";
        return { name, type, value: typeof value === "string" ? value : JSON.stringify(value) };
    });
}

function numberOf(text: string): number | undefined {
    const trimmed = text.trim().replace(",", ".");
    return /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** The parameters that fields mean, with those that have no field. What is left empty is left out. */
export function paramsOfFields(root: SchemaField, texts: Texts, others: readonly Row[]): Made {
    const faults: ParamFault[] = [];
    const value = (groupOf(root, texts, faults) ?? {}) as Record<string, unknown>;
    const more = paramsOfRows(others);
    const twice = Object.keys(more.params).filter((name) => Object.hasOwn(value, name));
    faults.push(...more.faults, ...twice.map((name): ParamFault => ({ pointer: `/${pointerPart(name)}`, kind: "twice" })));
    return { params: { ...value, ...more.params }, faults };
}

function groupOf(group: SchemaField, texts: Texts, faults: ParamFault[]): Record<string, unknown> | undefined {
    const made: Record<string, unknown> = {};
    const inner: ParamFault[] = [];
    for (const field of group.fields ?? []) {
        const value = field.kind === "group" ? groupOf(field, texts, inner) : valueOf(field, texts[field.pointer] ?? "", inner);
        if (value !== undefined) made[field.name] = value;
    }
    // A group that nobody wrote anything into is left out, and lacks nothing.
    const isWritten = Object.keys(made).length > 0 || inner.some((fault) => fault.kind !== "missing");
    if (!isWritten && !group.required) return undefined;
    faults.push(...inner);
    return made;
}

function valueOf(field: SchemaField, text: string, faults: ParamFault[]): unknown {
    const { pointer } = field;
    if (text === "" || (field.kind !== "text" && text.trim() === "")) {
        if (field.required) faults.push({ pointer, kind: "missing" });
        return undefined;
    }
    const checked = (value: unknown, kind: ParamFault["kind"]) => {
        if (value === undefined) faults.push({ pointer, kind });
        return value;
    };
    switch (field.kind) {
        case "number":
            return checked(numberOf(text), "not_a_number");
        case "integer":
            return checked(integerOf(text), "not_an_integer");
        case "lines":
            return linesOf(field, text, checked);
        case "text":
            return text;
        default:
            return checked(parsedJson(text), "not_json");
    }
}

function integerOf(text: string): number | undefined {
    const number = numberOf(text);
    return number !== undefined && Number.isSafeInteger(number) ? number : undefined;
}

function linesOf(field: SchemaField, text: string, checked: (value: unknown, kind: ParamFault["kind"]) => unknown): unknown {
    const lines = text.split("\n").filter((line) => line !== "");
    if (field.items === "text") return lines;
    const numbers = lines.map(field.items === "integer" ? integerOf : numberOf);
    return checked(numbers.includes(undefined) ? undefined : numbers, field.items === "integer" ? "not_an_integer" : "not_a_number");
}

/** What is typed for parameters: the texts of the fields, and rows for what has none. Nothing where fields cannot say it. */
export function typedFor(root: SchemaField, params: Record<string, unknown>): { texts: Texts; others: Row[] } | undefined {
    const texts: Record<string, string> = {};
    write(root, params, texts);
    const own = new Set(root.fields?.map((field) => field.name));
    const others = rowsOf(Object.fromEntries(Object.entries(params).filter(([name]) => !own.has(name))));
    const again = paramsOfFields(root, texts, others);
    const isSame = again.faults.every((fault) => fault.kind === "missing") && sorted(again.params) === sorted(params);
    return isSame ? { texts, others } : undefined;
}

function write(field: SchemaField, value: unknown, texts: Record<string, string>): void {
    if (value === undefined) return;
    if (field.kind === "group") {
        if (isObject(value)) for (const inner of field.fields ?? []) write(inner, value[inner.name], texts);
        return;
    }
    const isList = field.kind === "lines" && Array.isArray(value);
    if (isList) texts[field.pointer] = value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n");
    else texts[field.pointer] = field.kind === "text" && typeof value === "string" ? value : JSON.stringify(value);
}

/** JSON with its names in order, to compare values. */
export function sorted(value: unknown): string {
    return JSON.stringify(value, (_, one: unknown) =>
        isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
    );
}
