import { queryText } from "../api/client";
import { path, query } from "../app/router";

export interface Tab {
    readonly key: string;
    readonly name: string;
    readonly count?: number | undefined;
}

/** Parts of a page, one of which is shown: the value of `tab` in the address; the first one where there is none.
 * Values named by `keep` go along from one to the other. */
export function Tabs({ tabs, label, keep = [] }: { tabs: readonly Tab[]; label: string; keep?: readonly string[] }) {
    const kept = Object.fromEntries(keep.map((name) => [name, query.value.get(name)]));
    const chosen = query.value.get("tab") ?? tabs[0]?.key;
    return (
        <nav class="tabs" aria-label={label}>
            {tabs.map((tab, index) => (
                <a
                    key={tab.key}
                    href={path.value + queryText({ tab: index === 0 ? undefined : tab.key, ...kept })}
                    aria-current={tab.key === chosen ? "page" : undefined}
                >
                    {tab.name}
                    {tab.count !== undefined && <span class="count">{tab.count}</span>}
                </a>
            ))}
        </nav>
    );
}

/** The chosen tab. */
export function chosenTab(tabs: readonly Tab[]): string {
    const wanted = query.value.get("tab");
    return tabs.find((tab) => tab.key === wanted)?.key ?? tabs[0]?.key ?? "";
}
