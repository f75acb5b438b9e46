/** Name of the one who did something, or else the address; nothing where neither is known. */
export function whoOf(by: unknown): string | undefined {
    if (typeof by !== "object" || by === null) return undefined;
    const { name, from } = by as { name?: unknown; from?: unknown };
    return [name, from].find((one): one is string => typeof one === "string");
}
