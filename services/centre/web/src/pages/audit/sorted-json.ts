// Values of the audit log as text, in one order of their fields, so that two of them can be compared line by line.

/** A value as JSON, its fields by name; nothing for a value that is not there. */
export function sortedJson(value: unknown): string {
    return value === null || value === undefined ? "" : JSON.stringify(sorted(value), null, 2);
}

function sorted(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]));
}
