// Where it happens: failures by class, scenarios, systems, statuses, and the waking of suspended orders.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { toWith, to } from "../../app/router";
import { duration, number, percent } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Bars } from "../../parts/bars";
import { Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { text } from "../../text/overview";
import { failedShare, lagOf, LATE_MS, STATUS_TONES, statusOfGroup } from "./now";
import type { Range } from "./ranges";

type Stats = Schemas["StatsView"];
interface Props {
    resource: Shown<Stats>;
    range: Range;
}

/** Lines of a list here; the pages behind it have all. */
const MOST = 8;

export function Statuses({ resource }: Pick<Props, "resource">) {
    return (
        <Panel title={text("statuses_title")} resource={resource} empty={({ now }) => now.statuses.length === 0} emptyText={text("statuses_empty")}>
            {({ now }) => (
                <Bars
                    bars={now.statuses.map(({ name, count, estimated }) => ({
                        key: name,
                        name: <Badge word={name} />,
                        value: count,
                        text: estimated ? text("estimated", { value: number(count) }) : number(count),
                        href: toWith("orders", { status: name }),
                        tone: STATUS_TONES[name] ?? "plain",
                    }))}
                />
            )}
        </Panel>
    );
}

export function Failures({ resource, range }: Props) {
    return (
        <Panel title={text("errors_title")} resource={resource} empty={({ errors }) => errors.length === 0} emptyText={text("errors_empty")}>
            {({ errors }) => (
                <Bars
                    bars={errors.slice(0, MOST).map((one) => ({
                        key: one.class,
                        name: one.class === "" ? text("class_none") : <code>{one.class}</code>,
                        value: one.count,
                        href: toWith("errors", { class: one.class === "" ? "unclassified" : one.class, by: "scenario", since: range }),
                        tone: "bad" as const,
                    }))}
                />
            )}
        </Panel>
    );
}

export function Waking({ resource }: Pick<Props, "resource">) {
    return (
        <Panel title={text("lag_title")} resource={resource}>
            {({ now }) => (
                <>
                    <p class="faint">{text("lag_hint")}</p>
                    <Bars
                        beside
                        most={Math.max(LATE_MS, lagOf(now))}
                        bars={now.activation.map(({ group, currentProcessingLagMs: lag }) => ({
                            key: group,
                            name: <code>{group}</code>,
                            value: lag,
                            text: lag === 0 ? text("lag_none") : duration(lag),
                            href: toWith("orders", { status: statusOfGroup(group) }),
                            tone: lag > LATE_MS ? ("warn" as const) : ("busy" as const),
                        }))}
                    />
                </>
            )}
        </Panel>
    );
}

export function Scenarios({ resource, range }: Props) {
    const columns: Column<Schemas["ScenarioStats"]>[] = [
        {
            key: "scenario",
            name: text("scenario"),
            head: true,
            cell: (row) => <a href={to("scenarios", row.scenario)}>{row.scenario}</a>,
        },
        {
            key: "registered",
            name: text("registered"),
            number: true,
            cell: (row) => <a href={toWith("orders", { scenario: row.scenario, createdSince: range })}>{number(row.registered)}</a>,
        },
        { key: "success", name: text("success"), number: true, cell: (row) => number(row.success) },
        { key: "fail", name: text("failed"), number: true, cell: (row) => <Failed row={row} range={range} /> },
    ];
    return (
        <Panel title={text("scenarios_title")} resource={resource} empty={({ scenarios }) => scenarios.length === 0} emptyText={text("nobody_yet")}>
            {({ scenarios }) => <Table caption={text("scenarios_title")} columns={columns} rows={scenarios.slice(0, MOST)} keyOf={(row) => row.scenario} />}
        </Panel>
    );
}

function Failed({ row, range }: { row: Schemas["ScenarioStats"]; range: Range }) {
    if (row.fail === 0) return <>{number(0)}</>;
    const share = failedShare(row);
    return (
        <>
            {share !== undefined && <span class="faint">{percent(share)} </span>}
            <a class="bad-text" href={toWith("errors", { scenario: row.scenario, since: range })}>
                {number(row.fail)}
            </a>
        </>
    );
}

export function Systems({ resource, range }: Props) {
    const columns: Column<Schemas["SystemStats"]>[] = [
        { key: "system", name: text("system"), head: true, cell: (row) => <a href={to("systems", row.system)}>{row.system}</a> },
        { key: "mean", name: text("mean_time"), number: true, cell: (row) => duration(row.meanSeconds * 1_000) },
        { key: "calls", name: text("calls"), number: true, cell: (row) => number(row.calls) },
        {
            key: "errors",
            name: text("errors"),
            number: true,
            cell: (row) =>
                row.errors === 0 ? (
                    number(0)
                ) : (
                    <a class="bad-text" href={toWith("errors", { system: row.system, since: range })}>
                        {number(row.errors)}
                    </a>
                ),
        },
    ];
    const slowest = (systems: readonly Schemas["SystemStats"][]) => [...systems].sort((a, b) => b.meanSeconds - a.meanSeconds).slice(0, MOST);
    return (
        <Panel title={text("systems_title")} resource={resource} empty={({ systems }) => systems.length === 0} emptyText={text("systems_empty")}>
            {({ systems }) => <Table caption={text("systems_title")} columns={columns} rows={slowest(systems)} keyOf={(row) => row.system} />}
        </Panel>
    );
}
