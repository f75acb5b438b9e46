// Columns of the list of orders: which there are, and which the address has chosen.

import type { ComponentChildren } from "preact";
import { query, setQuery, to } from "../../app/router";
import { orders as text } from "../../text/orders";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Time } from "../../parts/moment";
import { Popover } from "../../parts/popover";
import type { Column } from "../../parts/table";
import type { Line } from "./export";

/** Fills a condition from a value of the list. */
type Narrow = (name: string, value: string) => string;

const CELLS = {
    id: (row: Line) => <a href={to("orders", row.id)}>{row.id}</a>,
    status: (row: Line) => (
        <span class="marks">
            <Badge word={row.status} />
            {row.inconsistent && <Badge word="inconsistent" tone="bad" />}
            {row.jeopardy && <Badge word="jeopardy" tone="warn" />}
        </span>
    ),
    scenario: (row: Line, narrow: Narrow) => <a href={narrow("scenario", row.scenario)}>{row.scenario}</a>,
    version: (row: Line) => row.scenarioVersion,
    step: (row: Line) => (row.step ? <code>{row.step}</code> : null),
    scenarioStatus: (row: Line) => <Badge word={row.scenarioStatus} />,
    class: (row: Line, narrow: Narrow) =>
        row.errorClass ? (
            <a href={narrow("class", row.errorClass)}>
                <code>{row.errorClass}</code>
            </a>
        ) : null,
    created: (row: Line) => <Time at={row.createdAt} />,
    updated: (row: Line) => <Time at={row.updatedAt} />,
} satisfies Record<string, (row: Line, narrow: Narrow) => ComponentChildren>;

type Key = keyof typeof CELLS;
const KEYS = Object.keys(CELLS) as Key[];
const USUAL: readonly Key[] = ["id", "status", "scenario", "step", "class", "created", "updated"];

/** The columns that the address names; the usual ones where it names none. The order's id is always there. */
function chosenKeys(): Key[] {
    const named = query.value.get("columns")?.split(",");
    const wanted: readonly string[] = named ? ["id", ...named] : USUAL;
    return KEYS.filter((key) => wanted.includes(key));
}

export function chosenColumns(narrow: Narrow): Column<Line>[] {
    return chosenKeys().map((key) => ({
        key,
        name: text(`column_${key}`),
        cell: (row: Line) => CELLS[key](row, narrow),
        head: key === "id",
        number: key === "version",
    }));
}

export function ColumnChoice() {
    const chosen = chosenKeys();
    const choose = (key: Key, on: boolean) => {
        const keys = KEYS.filter((other) => (other === key ? on : chosen.includes(other)));
        setQuery({ columns: keys.join(",") === USUAL.join(",") ? undefined : keys.join(",") }, true);
    };
    return (
        <Popover label={text("columns")} button={text("columns")} wide stays>
            <fieldset class="checks">
                <legend class="hidden-text">{text("columns")}</legend>
                {KEYS.filter((key) => key !== "id").map((key) => (
                    <label key={key}>
                        <input type="checkbox" checked={chosen.includes(key)} onChange={(event) => choose(key, event.currentTarget.checked)} />
                        {text(`column_${key}`)}
                    </label>
                ))}
            </fieldset>
            <Button small kind="quiet" disabled={!query.value.has("columns")} onClick={() => setQuery({ columns: undefined }, true)}>
                {text("columns_usual")}
            </Button>
        </Popover>
    );
}
