// The list of refused messages with its filter.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { query, setQuery } from "../../app/router";
import { shortTime } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Choice, hrefWith } from "../../parts/choice";
import { Select } from "../../parts/field";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Said } from "../../parts/said";
import { Pager, Table, type Column } from "../../parts/table";
import { text } from "../../text/refused";
import { AGES, reasonParts, STATUSES, TYPES, type Filter } from "./filter";

type Page = Schemas["PageOfRefusedLine"];
type Line = Schemas["RefusedLine"];

interface Props {
    filter: Filter;
    resource: Shown<Page>;
    chosen: string | null;
    onDropAll: (page: Page) => void;
}

export function ListPanel({ filter, resource, chosen, onDropAll }: Props) {
    const cursor = query.value.get("cursor");
    const page = resource.data;
    const open = filter.status === "open" && !filter.reasonType && !filter.refusedBefore;
    return (
        <Panel
            title={text("list")}
            resource={resource}
            empty={(data) => data.items.length === 0 && !data.next}
            emptyText={text(open ? "empty_open" : "empty")}
            tools={
                !cursor && page && page.items.length > 0 && resource.state === "fresh" ? (
                    <Button small needs="operator" onClick={() => onDropAll(page)}>
                        {text("drop_all")}
                    </Button>
                ) : null
            }
        >
            {(data) => (
                <>
                    <Table
                        caption={text("list")}
                        columns={columnsOf(chosen !== null)}
                        rows={data.items}
                        keyOf={(line) => line.id}
                        marked={(line) => line.id === chosen}
                    />
                    <Pager next={data.next} at={cursor} />
                </>
            )}
        </Panel>
    );
}

export function FilterBar({ filter }: { filter: Filter }) {
    const change = (changes: Record<string, string | undefined>) => setQuery({ ...changes, cursor: undefined, message: undefined, view: undefined });
    const types = [...new Set([...TYPES, filter.reasonType])].filter((type) => type !== "");
    const ages = [...new Set([...AGES, filter.refusedBefore])].filter((age) => age !== "");
    return (
        <div class="filters" role="group" aria-label={text("filter")}>
            <Choice
                label={text("status")}
                name="status"
                chosen={filter.status}
                usual="open"
                drops={["cursor", "message", "view"]}
                options={STATUSES.map((value) => ({ value, text: text(`status_${value}`) }))}
            />
            <Select
                label={text("type")}
                value={filter.reasonType}
                options={[{ value: "", text: text("type_any") }, ...types.map((type) => ({ value: type as string, text: type }))]}
                onChange={(reasonType) => change({ reasonType })}
            />
            <Select
                label={text("before")}
                value={filter.refusedBefore}
                options={[{ value: "", text: text("before_any") }, ...ages.map((age) => ({ value: age as string, text: nameOfAge(age) }))]}
                onChange={(refusedBefore) => change({ refusedBefore })}
            />
        </div>
    );
}

function nameOfAge(age: string): string {
    const known = AGES.find((one) => one === age);
    return known ? text(`before_${known}`) : age;
}

function columnsOf(narrow: boolean): Column<Line>[] {
    const columns: Column<Line>[] = [
        { key: "at", name: text("refused_at"), head: true, cell: (line) => <At line={line} /> },
        { key: "type", name: text("type"), cell: (line) => <Type line={line} /> },
        { key: "reason", name: text("reason"), wide: true, cell: (line) => <Reason line={line} /> },
        { key: "key", name: text("key"), cell: (line) => <code>{line.key}</code> },
        { key: "exchange", name: text("exchange"), cell: (line) => <code>{line.exchange}</code> },
        { key: "bytes", name: text("bytes_name"), number: true, cell: (line) => text("bytes", { n: line.bytes }) },
    ];
    return narrow ? columns.filter(({ key }) => key === "at" || key === "type" || key === "reason") : columns;
}

function Reason({ line }: { line: Line }) {
    return (
        <span title={line.reason}>
            <Said text={reasonParts(line.reason).words} />
        </span>
    );
}

function At({ line }: { line: Line }) {
    return (
        <a href={hrefWith({ message: line.id, view: undefined })} aria-label={`${shortTime(line.refusedAt, now.value)}: ${line.reason}`}>
            <Time at={line.refusedAt} />
        </a>
    );
}

function Type({ line }: { line: Line }) {
    return (
        <span class="row tight">
            <Badge word={reasonParts(line.reason).type} tone="warn" />
            {line.answered && (
                <span class="faint" title={text("answered_hint")}>
                    {text("answered")}
                </span>
            )}
        </span>
    );
}
