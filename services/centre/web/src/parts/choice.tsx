// A choice of one out of few, which stands in the address: links side by side, of which one is current.

import { queryText, type Query } from "../api/client";
import { path, query } from "../app/router";

interface Props<W extends string> {
    label: string;
    /** Value of the query that is chosen. */
    name: string;
    options: readonly { readonly value: W; readonly text: string }[];
    chosen: W;
    /** Option that an address without the value stands for. */
    usual: W;
    /** Values that lose their meaning with another choice, such as the cursor of a list. */
    drops?: readonly string[];
}

export function Choice<W extends string>({ label, name, options, chosen, usual, drops = [] }: Props<W>) {
    return (
        <nav class="choice" aria-label={label}>
            {options.map(({ value, text }) => (
                <a
                    key={value}
                    href={hrefWith({ [name]: value === usual ? undefined : value, ...Object.fromEntries(drops.map((drop) => [drop, undefined])) })}
                    aria-current={value === chosen ? "true" : undefined}
                >
                    {text}
                </a>
            ))}
        </nav>
    );
}

/** Address of the page with other values in its query; what has no value is taken out. */
export function hrefWith(changes: Query): string {
    const kept: Query = {};
    for (const name of new Set(query.value.keys())) kept[name] = query.value.getAll(name);
    return path.value + queryText({ ...kept, ...changes });
}

/** The word of the query among those that are known; the usual one where it is none of them. */
export function chosenOf<W extends string>(name: string, words: readonly W[], usual: W): W {
    const wanted = query.value.get(name);
    return words.find((word) => word === wanted) ?? usual;
}
