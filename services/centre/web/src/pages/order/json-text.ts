// JSON as people type it.

export interface Parsed {
    /** Nothing where nothing was typed. */
    readonly value?: unknown;
    /** Why it is no JSON, or `object` where an object was wanted. */
    readonly error?: string;
}

/** What a text says as JSON. `object`: nothing else will do. */
export function parsedText(text: string, object: boolean): Parsed {
    if (text.trim() === "") return {};
    try {
        const value: unknown = JSON.parse(text);
        const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
        return object && !isObject ? { error: "object" } : { value };
    } catch (error) {
        return { error: (error as Error).message };
    }
}
