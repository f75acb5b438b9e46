import type { Schemas } from "../../api/client";
import { query, setQuery } from "../../app/router";
import { Button } from "../../parts/button";
import { Facts } from "../../parts/facts";
import { Json } from "../../parts/json";
import { Time } from "../../parts/moment";
import { Table, type Column } from "../../parts/table";
import { text } from "../../text/audit";
import { LineDiff } from "../../parts/line-diff-view";
import { sortedJson } from "./sorted-json";
import { partsOf, subjectPage } from "./entry";

type Entry = Schemas["AuditView"];

/** Entries, one of which is open: its number stands in the address. */
export function Entries({ entries }: { entries: readonly Entry[] }) {
    const open = query.value.get("entry");
    const isOpen = (entry: Entry) => String(entry.no) === open;
    return (
        <Table
            caption={text("caption")}
            columns={[...columns(), more(isOpen)]}
            rows={entries}
            keyOf={(entry) => entry.no}
            detail={(entry) => (isOpen(entry) ? <Details entry={entry} /> : undefined)}
        />
    );
}

const columns = (): Column<Entry>[] => [
    { key: "at", name: text("at"), cell: (entry) => <Time at={entry.at} /> },
    { key: "action", name: text("action"), head: true, cell: (entry) => <code>{entry.action}</code> },
    { key: "kind", name: text("kind"), cell: (entry) => <span class="faint">{entry.kind}</span> },
    { key: "on", name: text("subject"), cell: (entry) => <Subject entry={entry} /> },
    { key: "by", name: text("by"), cell: (entry) => <By entry={entry} /> },
    { key: "reason", name: text("reason"), wide: true, cell: (entry) => entry.reason },
];

function more(isOpen: (entry: Entry) => boolean): Column<Entry> {
    const toggle = (entry: Entry) => setQuery({ entry: isOpen(entry) ? undefined : entry.no }, true);
    return {
        key: "more",
        name: text("more"),
        cell: (entry) => (
            <Button small kind="quiet" expanded={isOpen(entry)} label={text("details_of", { no: String(entry.no) })} onClick={() => toggle(entry)}>
                {text("more")}
            </Button>
        ),
    };
}

function Subject({ entry }: { entry: Entry }) {
    const page = subjectPage(entry.kind, entry.subject);
    return page ? <a href={page}>{entry.subject}</a> : <>{entry.subject}</>;
}

function By({ entry }: { entry: Entry }) {
    const { name, from, door } = entry.by;
    return (
        <>
            {name ?? from ?? ""} <span class="faint">{door}</span>
        </>
    );
}

function Details({ entry }: { entry: Entry }) {
    const { changed, before, after, result } = partsOf(entry.detail);
    return (
        <div class="stack">
            <Facts
                facts={[
                    [text("no"), String(entry.no)],
                    [text("by"), entry.by.name ?? <span class="faint">{text("unnamed")}</span>],
                    [text("from"), entry.by.from],
                    [text("door"), entry.by.door],
                    [text("reason"), entry.reason],
                ]}
            />
            {changed && (
                <section>
                    <h3>{text("change")}</h3>
                    <LineDiff before={sortedJson(before)} after={sortedJson(after)} />
                </section>
            )}
            {result && (
                <section>
                    <h3>{text("result")}</h3>
                    <Json value={result} />
                </section>
            )}
            {!changed && !result && <p class="faint">{text("no_details")}</p>}
        </div>
    );
}
