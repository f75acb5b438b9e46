// The list of schedules: rule, next times, the last time with its order, and what is wrong.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { query, to } from "../../app/router";
import { Badge } from "../../parts/badge";
import { hrefWith } from "../../parts/choice";
import { Lines } from "../../parts/lines";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { common } from "../../text/common";
import { schedules as text } from "../../text/schedules";
import { ruleText, scenarioOf, type Run, type Schedule } from "./rule";

export function ScheduleList({ schedules }: { schedules: Shown<Schemas["PageOfScheduleView"]> }) {
    return (
        <Panel resource={schedules} empty={(data) => data.items.length === 0} emptyText={text("none")}>
            {(data) => (
                <>
                    <Table caption={text("caption_list")} columns={columns()} rows={data.items} keyOf={(schedule) => schedule.name} />
                    <Pager next={data.next} at={query.value.get("cursor")} />
                </>
            )}
        </Panel>
    );
}

function columns(): Column<Schedule>[] {
    return [
        { key: "schedule", name: text("schedule"), head: true, cell: (one) => <a href={hrefWith({ schedule: one.name })}>{one.name}</a> },
        { key: "state", name: text("state"), cell: (one) => <ScheduleState schedule={one} /> },
        { key: "rule", name: text("rule"), cell: (one) => <div class="cell-rule">{<Lines first={ruleText(one)} second={one.note} />}</div> },
        { key: "scenario", name: text("scenario"), cell: (one) => <a href={to("scenarios", scenarioOf(one))}>{scenarioOf(one)}</a> },
        { key: "next", name: text("next"), cell: (one) => <NextTimes schedule={one} /> },
        { key: "last", name: text("last"), cell: (one) => (one.last ? <LastRun run={one.last} /> : common("never")) },
        {
            key: "problem",
            name: text("problem"),
            wide: true,
            cell: (one) => one.problem?.lasts && <span class="bad-text">{one.problem.message}</span>,
        },
    ];
}

export function ScheduleState({ schedule }: { schedule: Schedule }) {
    if (schedule.problem?.lasts) return <Badge word="failing" />;
    return <Badge word={schedule.state} />;
}

/** All that are known: the engine gives five. */
export function NextTimes({ schedule }: { schedule: Schedule }) {
    if (schedule.paused) return <span class="faint">{text("paused")}</span>;
    if (schedule.next.length === 0) return <span class="faint">{text("over")}</span>;
    return (
        <ul class="plain-list">
            {schedule.next.map((at) => (
                <li key={at}>
                    <Time at={at} />
                </li>
            ))}
        </ul>
    );
}

/** A time that has come: its order, or the reason why it has none. */
export function LastRun({ run }: { run: Run }) {
    return (
        <>
            <Time at={run.time} /> {run.order ? <a href={to("orders", run.order)}>{<Badge word={run.orderStatus ?? run.outcome} />}</a> : <Badge word={run.outcome} tone={run.outcome === "refused" ? "bad" : "plain"} />}
        </>
    );
}
