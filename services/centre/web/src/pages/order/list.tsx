// A list of the parts of an order: one page of its rows, with ways to the pages around. The place stands in the address.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { json, type Query, type Read } from "../../api/client";
import { lastStart, useListing } from "../../api/listing";
import { query, setQuery } from "../../app/router";
import { Button } from "../../parts/button";
import { Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { order as text } from "../../text/order";
import { common } from "../../text/common";

/** Rows of a page: with all their cells they stay far below the 3 000 elements that a page may have. */
export const ROWS = 100;

/** A list of the API. */
export interface ListOf<R> {
    readonly request: (id: string, query: Query) => Read<R[]>;
    /** Query for a number of rows. */
    readonly size: "limit" | "size";
    /** Query for a place: a cursor, or a number of a list whose rows are numbered without gaps. */
    readonly place: (at: string | undefined) => Query;
    readonly numbered?: boolean;
}

interface Props<R> {
    id: string;
    list: ListOf<R>;
    title: string;
    emptyText: string;
    /** Name of its place in the address, where a page has two lists. */
    param?: string;
    /** The rows of a page. */
    children: (rows: readonly R[], caption: string) => ComponentChildren;
}

export function requestOf<R>(list: ListOf<R>, id: string, at: string | undefined): Read<R[]> {
    return list.request(id, { [list.size]: ROWS, ...list.place(at) });
}

/** Places from which a page was come to by "later". */
const before = new Map<string, string | undefined>();

/** Place that the address of a next page names. */
function placeIn(url: string): string | undefined {
    const values = new URLSearchParams(url.split("?")[1] ?? "");
    return values.get("after") ?? values.get("cursor") ?? undefined;
}

interface TableProps<R> extends Omit<Props<R>, "children"> {
    columns: readonly Column<R>[];
    keyOf: (row: R) => string | number;
}

export function ListTable<R>({ columns, keyOf, ...rest }: TableProps<R>) {
    return <ListPanel {...rest}>{(rows, caption) => <Table caption={caption} columns={columns} rows={rows} keyOf={keyOf} />}</ListPanel>;
}

export function ListPanel<R>({ id, list, title, emptyText, param = "at", children }: Props<R>) {
    const at = query.value.get(param) ?? undefined;
    const listing = useListing(requestOf(list, id, at), { every: 10_000, follow: { order: [id] } });
    const body = useRef<HTMLDivElement>(null);
    const move = (place: string | undefined) => {
        setQuery({ [param]: place });
        // The button that was pressed may be gone on the page that comes.
        body.current?.focus({ preventScroll: true });
    };
    const { next } = listing.data ?? {};
    return (
        <div class="list-body" ref={body} tabIndex={-1} role="group" aria-label={title}>
            <Panel title={title} resource={listing} empty={(data) => data.rows.length === 0 && !at} emptyText={emptyText}>
                {({ rows }) => (
                    <>
                        {children(rows, text("rows_of", { title }))}
                        <Pages id={id} list={list} at={at} next={next && placeIn(next)} move={move} />
                    </>
                )}
            </Panel>
        </div>
    );
}

interface PagesProps<R> {
    id: string;
    list: ListOf<R>;
    at: string | undefined;
    next: string | undefined;
    move: (place: string | undefined) => void;
}

function Pages<R>({ id, list, at, next, move }: PagesProps<R>) {
    const [busy, setBusy] = useState(false);
    if (!at && !next) return null;
    const key = (place: string) => JSON.stringify([id, list.request(id, {}).url, place]);
    const later = () => {
        if (next) before.set(key(next), at);
        move(next);
    };
    const earlier = () => move(at && before.has(key(at)) ? before.get(key(at)) : numberedBefore(list, at));
    const toEnd = async () => {
        setBusy(true);
        try {
            const start = await lastStart(ROWS, async (number) => {
                const rows = await json<R[]>(list.request(id, { ...list.place(String(number)), [list.size]: 1 }));
                return rows.length > 0;
            });
            move(start === 0 ? undefined : String(start));
        } finally {
            setBusy(false);
        }
    };
    return (
        <nav class="pager" aria-label={text("page_list")}>
            <Button small disabled={!at} onClick={() => move(undefined)}>
                {common("page_first")}
            </Button>
            <Button small disabled={!at} onClick={earlier}>
                {text("page_earlier")}
            </Button>
            <Button small disabled={!next} onClick={later}>
                {text("page_later")}
            </Button>
            {list.numbered && (
                <Button small disabled={!next} busy={busy} onClick={() => void toEnd()}>
                    {text("page_last")}
                </Button>
            )}
        </nav>
    );
}

function numberedBefore<R>(list: ListOf<R>, at: string | undefined): string | undefined {
    const start = Number(at) - ROWS;
    return list.numbered && start > 0 ? String(start) : undefined;
}
