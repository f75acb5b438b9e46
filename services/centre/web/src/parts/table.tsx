// A table of rows that data describes: columns with a name, and how a row is shown in each.

import { Fragment, type ComponentChildren } from "preact";
import { setQuery } from "../app/router";
import { common } from "../text/common";
import { Button } from "./button";

export interface Column<R> {
    readonly key: string;
    readonly name: string;
    readonly cell: (row: R) => ComponentChildren;
    /** Numbers stand at the right. */
    readonly number?: boolean;
    /** A column that takes what is left of the width, and cuts its text. */
    readonly wide?: boolean;
    /** The column names the row. */
    readonly head?: boolean;
    /** The name is for readers alone: what stands below speaks for itself. */
    readonly unnamed?: boolean;
}

interface Props<R> {
    caption: string;
    columns: readonly Column<R>[];
    rows: readonly R[];
    keyOf: (row: R) => string | number;
    /** Rows that are marked, like those of a selection. */
    marked?: (row: R) => boolean;
    /** What stands under a row that is open. */
    detail?: (row: R) => ComponentChildren;
}

export function Table<R>({ caption, columns, rows, keyOf, marked, detail }: Props<R>) {
    return (
        <div class="table-frame" role="group" aria-label={caption} tabIndex={0}>
            <table>
                <caption class="hidden-text">{caption}</caption>
                <thead>
                    <tr>
                        {columns.map((column) => (
                            <th key={column.key} scope="col" class={classOf(column)}>
                                {column.unnamed ? <span class="hidden-text">{column.name}</span> : column.name}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {rows.map((row) => (
                        <Fragment key={keyOf(row)}>
                            <Row row={row} columns={columns} marked={marked?.(row) ?? false} />
                            {detail?.(row) && (
                                <tr class="detail">
                                    <td colSpan={columns.length}>{detail(row)}</td>
                                </tr>
                            )}
                        </Fragment>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function Row<R>({ row, columns, marked }: { row: R; columns: readonly Column<R>[]; marked: boolean }) {
    return (
        <tr class={marked ? "marked" : ""}>
            {columns.map((column) =>
                column.head ? (
                    <th key={column.key} scope="row" class={classOf(column)}>
                        {column.cell(row)}
                    </th>
                ) : (
                    <td key={column.key} class={classOf(column)}>
                        {column.cell(row)}
                    </td>
                ),
            )}
        </tr>
    );
}

function classOf<R>(column: Column<R>): string {
    return [column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim();
}

/** Ways to the next page of a list, and back to its first; both stand in the address. */
export function Pager({ next, at }: { next: string | null | undefined; at: string | null | undefined }) {
    if (!next && !at) return null;
    return (
        <nav class="pager" aria-label={common("page_next")}>
            {at && (
                <Button small onClick={() => setQuery({ cursor: undefined })}>
                    {common("page_first")}
                </Button>
            )}
            {next && (
                <Button small onClick={() => setQuery({ cursor: next })}>
                    {common("page_next")}
                </Button>
            )}
        </nav>
    );
}
