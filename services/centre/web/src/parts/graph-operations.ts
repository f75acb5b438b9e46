// The operations that run inside the states of a graph, as its picture names them. No DOM.

export interface InsideOperation {
    /** Name and version, as the picture has them: `charge@3`. */
    readonly key: string;
    readonly name: string;
    /** None of an operation that is not stored. */
    readonly version: number | undefined;
    /** States that run it. */
    readonly states: readonly string[];
}

/** Operations in the order of their first states, from the `data` attributes of states. */
export function insideOf(marks: readonly Readonly<Record<string, string | undefined>>[]): InsideOperation[] {
    const states = new Map<string, string[]>();
    for (const { state = "", operations = "" } of marks) {
        for (const key of new Set(operations.split(" ").filter((one) => one !== ""))) states.set(key, [...(states.get(key) ?? []), state]);
    }
    return [...states].map(([key, of]) => {
        const [name = "", version] = key.split("@");
        return { key, name, version: version === undefined ? undefined : Number(version), states: of };
    });
}
