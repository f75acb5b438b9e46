// What a text says of a scenario, as far as the pages need it before the server has read it.

type Mapping = Record<string, unknown>;

const mapping = (value: unknown): Mapping => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Mapping) : {});

export interface ScenarioFacts {
    readonly name: string;
    readonly isOperation: boolean;
    readonly states: readonly string[];
    /** Parameters that its schema may accept. */
    readonly params: Mapping;
}

/** Facts of the value of a scenario's text. */
export function factsOf(value: unknown): ScenarioFacts {
    const scenario = mapping(value);
    return {
        name: typeof scenario["scenario"] === "string" ? scenario["scenario"] : "",
        isOperation: scenario["kind"] === "operation",
        states: Object.keys(mapping(scenario["states"])),
        params: mapping(sample(scenario["params"])),
    };
}

/** A value that a JSON Schema may accept: of an object, what is required and what has an example. */
export function sample(schema: unknown, depth = 0): unknown {
    const said = mapping(schema);
    const given = said["const"] ?? said["default"] ?? firstOf(said["examples"]) ?? firstOf(said["enum"]);
    if (given !== undefined) return given;
    switch (said["type"]) {
        case "string":
            return textSample(said);
        case "integer":
        case "number":
            return typeof said["minimum"] === "number" ? said["minimum"] : 1;
        case "boolean":
            return true;
        case "array":
            return depth < 4 && said["items"] !== undefined ? [sample(said["items"], depth + 1)] : [];
        default:
            return objectSample(said, depth);
    }
}

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[])[0] : undefined);

function objectSample(said: Mapping, depth: number): Mapping {
    const properties = mapping(said["properties"]);
    const required = Array.isArray(said["required"]) ? (said["required"] as unknown[]).map(String) : [];
    if (depth >= 4) return {};
    return Object.fromEntries(required.map((key) => [key, key in properties ? sample(properties[key], depth + 1) : "text"]));
}

function textSample(said: Mapping): string {
    const digits = /^\^(.*?)(?:\[0-9\]|\\d)\{(\d+)(?:,\d*)?\}\$$/.exec(String(said["pattern"] ?? ""));
    if (digits) return `${(digits[1] ?? "").replace(/\\(.)/g, "$1")}${"1234567890".repeat(8).slice(0, Math.min(Number(digits[2]), 80))}`;
    if (said["format"] === "date-time") return "2026-03-01T10:00:00Z";
    if (said["format"] === "date") return "2026-03-01";
    return "text".padEnd(Math.min(Number(said["minLength"] ?? 0), 80), "x");
}

/** Names that a text reads under a word. */
export function namesUnder(word: "config" | "secret" | "params", text: string): string[] {
    return [...new Set([...text.matchAll(new RegExp(`\\b${word}\\.([A-Za-z_]\\w*)`, "g"))].map((found) => found[1] ?? ""))];
}

/** Parameters that a schema asks for; without a schema, those that the text reads. */
export function firstParams(text: string, facts: ScenarioFacts): Mapping {
    if (Object.keys(facts.params).length > 0) return facts.params;
    return Object.fromEntries(namesUnder("params", text).map((name) => [name, `${name}-1`]));
}

/** Constants with an address for each name that a text reads and the trial lacks. */
export function completedConfig(text: string, config: Mapping): Mapping {
    const missing = namesUnder("config", text).filter((name) => !(name in config));
    return { ...config, ...Object.fromEntries(missing.map((name) => [name, `http://${name.replaceAll("_", "-")}`])) };
}

/** Secrets with a text for each name that a text reads and the trial lacks. */
export function completedSecrets(text: string, secrets: Mapping): Mapping {
    const missing = namesUnder("secret", text).filter((name) => !(name in secrets));
    return { ...secrets, ...Object.fromEntries(missing.map((name) => [name, "secret"])) };
}

/**
 * A body with what a text reads of the bodies of answers: `response.body.id`, `callbacks.activation.body.code`. What a value is compared
 * with is taken for it, since scenarios mostly ask for what is good, or fail where it is not.
 */
export function bodyRead(word: "response" | "callbacks", text: string): Mapping | undefined {
    const place = word === "response" ? "response" : "callbacks\\??\\.\\w+";
    const reads = text.matchAll(new RegExp(`\\b${place}\\??\\.body((?:\\??\\.[A-Za-z_]\\w*)+)(?!\\w*\\()(?:\\s*[!=]=\\s*("[^"\\n]*"|-?\\d+|true|false))?`, "g"));
    const body: Mapping = {};
    for (const [, path = "", compared] of reads) {
        const keys = path.split(/\??\./).filter(Boolean);
        put(body, keys, compared === undefined ? undefined : JSON.parse(compared));
    }
    return Object.keys(body).length > 0 ? body : undefined;
}

/** Puts a value at a path, unless something is there that says more. */
function put(body: Mapping, keys: readonly string[], value: unknown): void {
    const [key = "", ...rest] = keys;
    if (rest.length > 0) {
        const inner = mapping(body[key]);
        put(inner, rest, value);
        body[key] = inner;
    } else if (!(key in body) || (value !== undefined && body[key] === `${key}-1`)) {
        body[key] = value ?? `${key}-1`;
    }
}
