// The schema of a scenario's parameters, read from its text: the API gives it nowhere else.

import { useEffect, useState } from "preact/hooks";
import { read, send } from "../../api/client";
import { yamlValue } from "../../api/yaml";
import { fieldsOf, type SchemaField } from "./schema";

/** What is known of the schema. `failed`: it could not be asked for or read, and parameters are written as JSON. */
export type Known =
    { kind: "waiting" } | { kind: "known"; description: string | undefined; root: SchemaField | undefined } | { kind: "failed"; reason: string };

/** The schema of a scenario; of its newest version where none is named. */
export function useSchema(scenario: string, version: string): Known {
    const [known, setKnown] = useState<Known>({ kind: "waiting" });
    useEffect(() => {
        setKnown({ kind: "waiting" });
        if (scenario === "") return undefined;
        const asking = new AbortController();
        // A version that is still being typed is asked for once it stands.
        const timer = window.setTimeout(() => void ask(scenario, version, asking.signal, setKnown), version === "" ? 0 : 400);
        return () => {
            window.clearTimeout(timer);
            asking.abort();
        };
    }, [scenario, version]);
    return known;
}

async function ask(scenario: string, version: string, signal: AbortSignal, done: (known: Known) => void): Promise<void> {
    try {
        const response = await send(read("/v1/scenarios/{name}", { name: scenario }, { version }), signal);
        const source = yamlValue(await response.text()) as { params?: unknown; description?: unknown } | null;
        const description = typeof source?.description === "string" ? source.description : undefined;
        done({ kind: "known", description, root: fieldsOf(source?.params) });
    } catch (error) {
        if (!signal.aborted) done({ kind: "failed", reason: String((error as Error).message) });
    }
}
