// Values as YAML, as people write it: short ones on a line, long ones below each other.

/** Words and numbers that YAML takes for something else than a text, and texts that begin like its signs. */
const AMBIGUOUS = /^(?:true|false|null|yes|no|on|off|~|[-+.]?\d.*|\.(?:inf|nan))$/i;
const DURATION = /^(?:\d+(?:ms|[dhms]))+$/;
const PLAIN = /^[\p{L}_/$][\p{L}\p{N} _./$*+@-]*$/u;

/** A text as it stands within a line; in quotes where it would be read as something else. */
function scalar(text: string): string {
    const plain = PLAIN.test(text) && !AMBIGUOUS.test(text) && !text.endsWith(" ") && !text.includes("${");
    return plain || DURATION.test(text) ? text : JSON.stringify(text);
}

/** A value on one line. */
export function flow(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
    if (typeof value === "string") return scalar(value);
    if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
    const pairs = Object.entries(value).filter(([, one]) => one !== undefined);
    return `{${pairs.map(([key, one]) => `${scalar(key)}: ${flow(one)}`).join(", ")}}`;
}

/** Longest line that is written before its parts stand below each other. */
const WIDTH = 110;

const isEmpty = (value: object) => Object.keys(value).length === 0;

/** Lines of a value; the first of them is to stand behind what comes before. */
export function block(value: unknown, indent: number): string[] {
    const line = flow(value);
    if (typeof value !== "object" || value === null || isEmpty(value) || line.length + indent <= WIDTH) return [line];
    if (Array.isArray(value)) return value.flatMap((item) => dashed(block(item, indent + 2)));
    return Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .flatMap(([key, one]) => pair(key, one, indent));
}

/** Lines of a key and its value. */
export function pair(key: string, value: unknown, indent: number): string[] {
    const name = scalar(key);
    const lines = block(value, indent + 2);
    // What stands on one line goes behind the key; a mapping or a list of several lines goes below.
    return lines.length === 1 && lines[0] === flow(value) ? [`${name}: ${lines[0] ?? ""}`] : [`${name}:`, ...lines.map((line) => `  ${line}`)];
}

/** Lines of an item of a list. */
export function dashed(lines: readonly string[]): string[] {
    return lines.map((line, index) => (index === 0 ? `- ${line}` : `  ${line}`));
}
