// Where the page is: everything that it shows stands in the address, so that back, forward and a pasted link show the same.

import { computed, signal } from "@preact/signals";
import { queryText, type Query } from "../api/client";

const inBrowser = typeof window !== "undefined";
const here = () => (inBrowser ? window.location.pathname + window.location.search : "/");

/** Path and query of the page. */
export const address = signal(here());
export const path = computed(() => address.value.split("?")[0] ?? "/");
export const query = computed(() => new URLSearchParams(address.value.split("?")[1] ?? ""));

/** Goes to an address of the control centre. `replace` writes no new entry into the history. */
export function go(to: string, replace = false): void {
    if (to === here()) return;
    if (replace) window.history.replaceState(null, "", to);
    else window.history.pushState(null, "", to);
    address.value = here();
}

/** Changes values of the query, and keeps the others. Empty values are taken out. */
export function setQuery(changes: Query, replace = false): void {
    const kept: Query = {};
    for (const name of new Set(query.value.keys())) kept[name] = query.value.getAll(name);
    go(path.value + queryText({ ...kept, ...changes }), replace);
}

/** Address of a page, each part of its path escaped: `to("orders", id)`. */
export function to(...parts: string[]): string {
    return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** Address of a page with a query. */
export function toWith(page: string, values: Query): string {
    return `/${page}${queryText(values)}`;
}

/** Values of a path against a pattern like `/orders/:id`; nothing where it does not fit. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
    const wanted = pattern.split("/");
    const given = path.split("/");
    if (wanted.length !== given.length) return undefined;
    const values: Record<string, string> = {};
    for (const [index, word] of wanted.entries()) {
        const part = given[index] ?? "";
        if (word.startsWith(":")) {
            if (part === "") return undefined;
            values[word.slice(1)] = safelyDecoded(part);
        } else if (word !== part) return undefined;
    }
    return values;
}

function safelyDecoded(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

/** Makes links of the control centre move the page without loading it again. */
export function interceptLinks(): void {
    window.addEventListener("popstate", () => {
        address.value = here();
    });
    document.addEventListener("click", (event) => {
        if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        const link = (event.target as Element | null)?.closest?.("a");
        if (!link || link.target || link.hasAttribute("download") || link.origin !== window.location.origin) return;
        if (isOfTheApi(link.pathname)) return;
        event.preventDefault();
        go(link.pathname + link.search);
    });
}

function isOfTheApi(path: string): boolean {
    return /^\/(v1\/|docs|openapi\.json|asyncapi\.json|healthz|readyz|metrics)/.test(path);
}
