// The found orders: a page of them, live, with a tick for each.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { amendedPage } from "../../api/amended";
import { json } from "../../api/client";
import { useResource, type Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { query, setQuery, to } from "../../app/router";
import { common } from "../../text/common";
import { orders as text } from "../../text/orders";
import { Button } from "../../parts/button";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { chosenColumns } from "./columns";
import type { Line } from "./export";
import { listRequest, withCondition, type Selection } from "./selection";
import { written } from "./words";

/** Orders of a page. */
const PAGE = 50;
const FINAL = ["success", "canceled", "interrupted"];
/** Shortest time for which the stream follows the same orders: each change of them opens it again. */
const STEADY = 10_000;

export interface Page {
    readonly items: readonly Line[];
    readonly next?: string | null;
}

/** The page of the address. An event of one of its orders is shown at once and asks for the page again; new orders come from time to time. */
export function useOrders(selection: Selection, cursor: string | null, live: boolean): Shown<Page> {
    const [followed, setFollowed] = useState<readonly string[]>([]);
    const follow = live && followed.length > 0 ? { follow: { order: followed } } : {};
    const page = useResource(listRequest(selection, cursor, PAGE), { every: live ? 5_000 : 0, amend: amendedPage, ...follow });
    const since = useRef(0);
    const open = page.data?.items.filter((one) => !FINAL.includes(one.status)).map((one) => one.id) ?? [];
    const key = open.join("\n");
    const isDue = Math.abs(now.value - since.current) >= STEADY;
    useEffect(() => {
        if (!isDue || key === followed.join("\n")) return;
        since.current = now.value;
        setFollowed(open);
    }, [key, isDue]);
    return page;
}

interface Props {
    page: Shown<Page>;
    selection: Selection;
    cursor: string | null;
    addressOf: (selection: Selection) => string;
    ticked: ReadonlySet<string>;
    onTick: (ticked: ReadonlySet<string>) => void;
    /** Buttons that act on what is found or ticked. */
    actions: ComponentChildren;
}

export function OrderList(props: Props) {
    const { page, selection, cursor, addressOf, ticked, onTick, actions } = props;
    const narrow = (name: string, value: string) => addressOf(withCondition(selection, name, value));
    const columns = [tickColumn(ticked, onTick), ...chosenColumns(narrow)];
    return (
        <Panel
            title={text("list")}
            resource={page}
            empty={(found) => found.items.length === 0}
            emptyText={<Nothing page={page.data} selection={selection} cursor={cursor} addressOf={addressOf} />}
            tools={
                <>
                    <TickTools items={page.data?.items ?? []} ticked={ticked} onTick={onTick} />
                    {actions}
                </>
            }
        >
            {(found) => (
                <>
                    <Table
                        caption={text("list_caption")}
                        columns={columns}
                        rows={found.items}
                        keyOf={(row) => row.id}
                        marked={(row) => ticked.has(row.id)}
                    />
                    <div class="list-foot">
                        <p class="faint">
                            {text("list_here", { n: found.items.length })}
                            {". "}
                            {text(found.next ? "looked_more" : "looked_all")}
                        </p>
                        <Pager next={found.next} at={cursor} />
                    </div>
                </>
            )}
        </Panel>
    );
}

function tickColumn(ticked: ReadonlySet<string>, onTick: (ticked: ReadonlySet<string>) => void): Column<Line> {
    const toggle = (id: string, on: boolean) => {
        const next = new Set(ticked);
        if (on) next.add(id);
        else next.delete(id);
        onTick(next);
    };
    return {
        key: "tick",
        name: text("column_tick"),
        unnamed: true,
        cell: (row) => (
            <input
                type="checkbox"
                aria-label={text("tick", { id: row.id })}
                checked={ticked.has(row.id)}
                onChange={(event) => toggle(row.id, event.currentTarget.checked)}
            />
        ),
    };
}

function TickTools({ items, ticked, onTick }: { items: readonly Line[] } & Pick<Props, "ticked" | "onTick">) {
    if (items.length === 0 && ticked.size === 0) return null;
    return (
        <>
            <Button small kind="quiet" onClick={() => onTick(new Set([...ticked, ...items.map((one) => one.id)]))}>
                {text("tick_all")}
            </Button>
            {ticked.size > 0 && (
                <Button small kind="quiet" onClick={() => onTick(new Set())}>
                    {text("tick_none")}
                </Button>
            )}
        </>
    );
}

/** An empty page says what was asked for, and whether there is more to look at. */
function Nothing({ page, selection, cursor, addressOf }: { page: Page | undefined } & Pick<Props, "selection" | "cursor" | "addressOf">) {
    if (page?.next) return <Further key={cursor} selection={selection} next={page.next} />;
    if (selection.length === 0)
        return (
            <>
                {text("no_orders")} <a href={to("orders", "new")}>{text("new_order")}</a>
            </>
        );
    return (
        <div class="applied">
            <p>{text("applied")}</p>
            <ul>
                {selection.map(([name, value]) => {
                    const condition = written(name, value);
                    return (
                        <li key={name}>
                            <a class="chip" href={addressOf(withCondition(selection, name, undefined))} aria-label={text("remove", { condition })}>
                                <code>{condition}</code>
                                <span aria-hidden="true">×</span>
                            </a>
                        </li>
                    );
                })}
            </ul>
            <p>{text("look_none")}</p>
            <a href={addressOf([])}>{text("remove_all")}</a>
        </div>
    );
}

/** The search behind a page on which nothing was found: it goes on page by page until there is something, or nothing left. */
function Further({ selection, next }: { selection: Selection; next: string }) {
    const [pages, setPages] = useState(0);
    const [failure, setFailure] = useState<string>();
    const asking = useMemo(() => ({ current: undefined as AbortController | undefined }), []);
    useEffect(() => () => asking.current?.abort(), []);
    const look = async () => {
        const signal = (asking.current = new AbortController()).signal;
        setFailure(undefined);
        try {
            let cursor = next;
            for (let count = 1; ; count++) {
                setPages(count);
                const page: Page = await json(listRequest(selection, cursor, PAGE), signal);
                if (page.items.length > 0 || !page.next) return setQuery({ cursor });
                cursor = page.next;
            }
        } catch (error) {
            if (!signal.aborted) setFailure(String((error as Error).message));
        } finally {
            setPages(0);
        }
    };
    return (
        <div role="status">
            <p>{pages > 0 ? text("look_pages", { n: pages }) : text("look_further_hint")}</p>
            {failure && <p class="bad-text">{failure}</p>}
            {pages > 0 ? (
                <Button onClick={() => asking.current?.abort()}>{common("cancel")}</Button>
            ) : (
                <Button onClick={() => void look()}>{text("look_further")}</Button>
            )}
        </div>
    );
}

/** Whether the list moves by itself. */
export function isLive(): boolean {
    return query.value.get("live") !== "off";
}
