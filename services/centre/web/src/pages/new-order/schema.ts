// The form of a JSON Schema: which fields it has, and of which kind. What it cannot say as fields becomes a field of JSON.

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "lines" | "group" | "json";

export interface SchemaField {
    /** JSON pointer within the parameters; empty for all of them. */
    readonly pointer: string;
    readonly name: string;
    /** Title of the schema, else the name. */
    readonly label: string;
    readonly description: string | undefined;
    readonly kind: FieldKind;
    readonly required: boolean;
    /** Values of a choice. */
    readonly choices?: readonly unknown[];
    /** Kind of the values of `lines`, one on each line. */
    readonly items?: "text" | "number" | "integer";
    /** Fields of a group. */
    readonly fields?: readonly SchemaField[];
    /** Whether a group takes values besides its fields. */
    readonly open?: boolean;
    /** What the value looks like, in the schema's own words. */
    readonly form?: string | undefined;
    readonly example?: unknown;
}

type Schema = Record<string, unknown>;

/** Groups within groups; what is deeper is written as JSON. */
const MOST_DEPTH = 3;

/** The fields of a schema; nothing where it does not say which parameters there are. */
export function fieldsOf(schema: unknown): SchemaField | undefined {
    if (!isSchema(schema)) return undefined;
    const root = new Reader(schema).field(schema, { pointer: "", name: "", required: true, depth: 0 });
    return root.kind === "group" && root.fields && root.fields.length > 0 ? root : undefined;
}

/** Paths of the values that a schema names, as searches write them: `customer.id`. */
export function paramPaths(schema: unknown): string[] {
    const walk = (field: SchemaField, before: string): string[] =>
        (field.fields ?? []).flatMap((inner) => (inner.kind === "group" ? walk(inner, `${before}${inner.name}.`) : [before + inner.name]));
    const root = fieldsOf(schema);
    return root ? walk(root, "") : [];
}

function isSchema(value: unknown): value is Schema {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Part of a JSON pointer. */
export function pointerPart(name: string): string {
    return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

interface Place {
    readonly pointer: string;
    readonly name: string;
    readonly required: boolean;
    readonly depth: number;
}

class Reader {
    constructor(private readonly root: Schema) {}

    field(given: Schema, place: Place): SchemaField {
        const schema = this.resolved(given);
        const { pointer, name, required } = place;
        const base = {
            pointer,
            name,
            required,
            label: textOf(schema["title"]) ?? name,
            description: textOf(schema["description"]),
            form: formOf(schema),
            example: schema["default"] ?? (schema["examples"] as unknown[] | undefined)?.[0],
        };
        return { ...base, ...this.shape(schema, place) };
    }

    private shape(schema: Schema, place: Place): Pick<SchemaField, "kind" | "choices" | "items" | "fields" | "open"> {
        if (Array.isArray(schema["enum"])) return { kind: "choice", choices: schema["enum"] as unknown[] };
        if ("const" in schema) return { kind: "choice", choices: [schema["const"]] };
        switch (typeOf(schema)) {
            case "string":
                return { kind: "text" };
            case "number":
                return { kind: "number" };
            case "integer":
                return { kind: "integer" };
            case "boolean":
                return { kind: "boolean" };
            case "array":
                return this.list(schema);
            case "object":
                return this.group(schema, place);
            default:
                return { kind: "json" };
        }
    }

    private list(schema: Schema): Pick<SchemaField, "kind" | "items"> {
        const items = isSchema(schema["items"]) ? this.resolved(schema["items"]) : {};
        const type = "enum" in items ? undefined : typeOf(items);
        if (type === "string") return { kind: "lines", items: "text" };
        return type === "number" || type === "integer" ? { kind: "lines", items: type } : { kind: "json" };
    }

    private group(schema: Schema, place: Place): Pick<SchemaField, "kind" | "fields" | "open"> {
        const properties = schema["properties"];
        if (!isSchema(properties) || place.depth >= MOST_DEPTH) return { kind: "json" };
        const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
        const fields = Object.entries(properties).map(([name, one]) =>
            this.field(isSchema(one) ? one : {}, {
                pointer: `${place.pointer}/${pointerPart(name)}`,
                name,
                required: required.includes(name),
                depth: place.depth + 1,
            }),
        );
        return { kind: "group", fields, open: schema["additionalProperties"] !== false };
    }

    /** The schema that a reference within the same schema names. A reference in a circle ends as JSON. */
    private resolved(schema: Schema): Schema {
        let found = schema;
        for (let step = 0; typeof found["$ref"] === "string"; step++) {
            const target = step < 8 ? this.at(found["$ref"]) : undefined;
            if (!isSchema(target)) return {};
            const beside = Object.entries(found).filter(([name]) => name !== "$ref");
            found = { ...target, ...Object.fromEntries(beside) };
        }
        return found;
    }

    private at(reference: string): unknown {
        if (!reference.startsWith("#")) return undefined;
        const parts = reference.slice(1).split("/").slice(1);
        return parts.reduce<unknown>(
            (found, part) => (isSchema(found) ? found[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
            this.root,
        );
    }
}

/** The one type of a schema beside `null`. */
function typeOf(schema: Schema): string | undefined {
    const type = schema["type"];
    const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== "null");
    if (types.length === 1 && typeof types[0] === "string") return types[0];
    return types.length <= 1 && isSchema(schema["properties"]) ? "object" : undefined;
}

function textOf(value: unknown): string | undefined {
    return typeof value === "string" && value !== "" ? value : undefined;
}

/** Bounds of a value, as the schema writes them: `pattern ^[0-9]{11}$, maxLength 20`. */
function formOf(schema: Schema): string | undefined {
    const names = [
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ];
    const bounds = names.filter((name) => ["string", "number"].includes(typeof schema[name])).map((name) => `${name} ${String(schema[name])}`);
    return bounds.length > 0 ? bounds.join(", ") : undefined;
}
