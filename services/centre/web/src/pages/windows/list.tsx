// The list of windows: what is open, what comes next, and by which rule.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { query, setQuery } from "../../app/router";
import { zone } from "../../app/time";
import { Lines } from "../../parts/lines";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { windows as text } from "../../text/windows";
import type { Window } from "./occurrences";
import { addressOf, ruleText, Target, WindowState } from "./parts";
import { spanText } from "./words";

export function WindowList({ windows }: { windows: Shown<Schemas["PageOfWindowView"]> }) {
    const ended = query.value.get("ended") === "true";
    const tools = (
        <label class="check">
            <input type="checkbox" checked={ended} onInput={() => setQuery({ ended: ended ? undefined : true, cursor: undefined })} />
            {text("ended")}
        </label>
    );
    return (
        <Panel title={text(ended ? "all" : "open_and_coming")} tools={tools} resource={windows} empty={(data) => data.items.length === 0} emptyText={text("none")}>
            {(data) => (
                <>
                    <Table caption={text("caption_list")} columns={columns(windows.state === "fresh")} rows={soonestFirst(data.items)} keyOf={(window) => window.window} />
                    <Pager next={data.next} at={query.value.get("cursor")} />
                </>
            )}
        </Panel>
    );
}

/** What is open comes first, then what opens next, then what is over. */
function soonestFirst(windows: readonly Window[]): Window[] {
    const rank = (window: Window) => (window.open ? 0 : window.next ? Date.parse(window.next.from) : Infinity);
    return [...windows].sort((one, other) => rank(one) - rank(other) || other.window - one.window);
}

function columns(fresh: boolean): Column<Window>[] {
    const span = (one: Schemas["OccurrenceView"] | null | undefined) => (one ? spanText(zone.value, Date.parse(one.from), Date.parse(one.until)) : undefined);
    return [
        { key: "window", name: text("window"), head: true, cell: (window) => <a href={addressOf(window.window)}>{window.window}</a> },
        { key: "what", name: text("what"), cell: (window) => <Target window={window} /> },
        { key: "state", name: text("state"), cell: (window) => <WindowState window={window} fresh={fresh} /> },
        {
            key: "next",
            name: text("next"),
            cell: (window) => <div class="cell-rule">{window.open ? <Lines first={span(window.open)} second={span(window.next)} /> : (span(window.next) ?? common("none"))}</div>,
        },
        { key: "rule", name: text("rule"), cell: (window) => <div class="cell-rule">{<Lines first={ruleText(window.calendar)} second={window.shift && text("shift_short")} />}</div> },
        { key: "reason", name: common("reason"), cell: (window) => <div class="cell-rule">{<Lines first={window.reason} second={whoOf(window.by)} />}</div> },
    ];
}
