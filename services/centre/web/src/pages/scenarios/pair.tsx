// Two versions, chosen in the address.

import { query, setQuery } from "../../app/router";
import type { Schemas } from "../../api/client";
import { Select } from "../../parts/field";

export interface Pair {
    readonly from: number;
    readonly to: number;
}

/** The pair of the address; the newest version and the one before it where the address says nothing. */
export function pairOf(versions: readonly Schemas["VersionLine"][]): Pair {
    const of = (name: string, otherwise: number | undefined) => Number(query.value.get(name) ?? otherwise ?? 1);
    return { from: of("from", versions[1]?.version), to: of("to", versions[0]?.version) };
}

export function PairChoice({ versions, pair, from, to }: { versions: readonly Schemas["VersionLine"][]; pair: Pair; from: string; to: string }) {
    const options = versions.map(({ version }) => ({ value: String(version), text: String(version) }));
    return (
        <div class="row">
            <Select label={from} value={String(pair.from)} options={options} onChange={(value) => setQuery({ from: value })} />
            <Select label={to} value={String(pair.to)} options={options} onChange={(value) => setQuery({ to: value })} />
        </div>
    );
}
