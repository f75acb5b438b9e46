// One schedule over the page: all facts, its last times, and what can be done about it.

import { useState } from "preact/hooks";
import { change, read, type ApiRequest, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { now } from "../../app/clock";
import { shortTime } from "../../app/time";
import { query, setQuery, to, toWith } from "../../app/router";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { ActionDialog, Dialog } from "../../parts/dialog";
import { Facts } from "../../parts/facts";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { schedules as text } from "../../text/schedules";
import type { Outcome } from "../flows/outcome";
import { EditDialog } from "./form";
import { LastRun, NextTimes, ScheduleState } from "./list";
import { ruleText, type Run, type Schedule } from "./rule";

/** Times that are shown. */
const RUNS = 20;

type Act = "pause" | "resume" | "run" | "remove";

interface Props {
    name: string;
    onClose: () => void;
    onDone: (outcome: Outcome) => void;
}

export function ScheduleDetails({ name, onClose, onDone }: Props) {
    const schedule = useResource<Schedule>(read("/v1/schedules/{name}", { name }));
    const runs = useResource<Schemas["PageOfScheduleRunView"]>(read("/v1/schedules/{name}/runs", { name }, { limit: RUNS }));
    const [act, setAct] = useState<Act>();
    return (
        <Dialog title={text("facts_title", { schedule: name })} onClose={onClose} wide>
            <div class="dialog-body">
                <Panel bare resource={schedule} level={3}>
                    {(data) => <ScheduleFacts schedule={data} />}
                </Panel>
                <Panel bare title={text("decided")} resource={runs} level={3} empty={(data) => data.items.length === 0} emptyText={text("none_runs")}>
                    {(data) => <Table caption={text("caption_runs")} columns={columns()} rows={data.items} keyOf={(run) => run.time} />}
                </Panel>
            </div>
            {schedule.data && <Acts schedule={schedule.data} choose={setAct} />}
            {query.value.has("edit") && schedule.data && <EditDialog schedule={schedule.data} onClose={() => setQuery({ edit: undefined }, true)} onDone={onDone} />}
            {act && schedule.data && <ActDialog act={act} schedule={schedule.data} onClose={() => setAct(undefined)} onDone={onDone} />}
        </Dialog>
    );
}

function ScheduleFacts({ schedule }: { schedule: Schedule }) {
    const by = (who: unknown, at: string) => text("made_by", { by: whoOf(who) ?? common("none"), time: shortTime(at, now.value) });
    const { counts, problem } = schedule;
    const catchUp = schedule.catchUp ?? {};
    return (
        <Facts
            facts={[
                [text("state"), <ScheduleState schedule={schedule} />],
                [text("problem"), problem?.lasts ? <span class="bad-text">{problem.message}</span> : undefined],
                [text("problem_past"), problem?.lasts ? undefined : problem?.message],
                [text("paused"), schedule.pausedAt && [by(schedule.pausedBy, schedule.pausedAt), schedule.pauseReason].filter(Boolean).join(": ")],
                [text("rule"), ruleText(schedule)],
                [text("from"), schedule.from && <Time at={schedule.from} />],
                [text("until"), schedule.until && <Time at={schedule.until} />],
                [text("exceptions"), schedule.exceptions?.length ? <Exceptions exceptions={schedule.exceptions} /> : undefined],
                [text("next"), <NextTimes schedule={schedule} />],
                [text("last"), schedule.last && <LastRun run={schedule.last} />],
                [text("queued"), schedule.queued > 0 ? schedule.queued : undefined],
                [text("counts"), text("counts_text", { ...counts })],
                [text("catch_up"), text(`catch_up_${catchUp.policy ?? "one"}`)],
                [text("overlap"), text(`overlap_${schedule.overlap ?? "skip"}`)],
                [text("order"), <code>{JSON.stringify(schedule.order)}</code>],
                [text("orders_of"), <a href={toWith("orders", { idPrefix: `${schedule.name}@` })}>{`${schedule.name}@…`}</a>],
                [text("note"), schedule.note],
                [text("made"), by(schedule.by, schedule.madeAt)],
                [text("changed"), by(schedule.changedBy, schedule.changedAt)],
            ]}
        />
    );
}

function Exceptions({ exceptions }: { exceptions: NonNullable<Schedule["exceptions"]> }) {
    return (
        <ul class="plain-list">
            {exceptions.map((one) =>
                typeof one === "string" ? (
                    <li key={one}>{one}</li>
                ) : (
                    <li key={one.from}>
                        <Time at={one.from} /> – <Time at={one.until} />
                    </li>
                ),
            )}
        </ul>
    );
}

function columns(): Column<Run>[] {
    return [
        { key: "time", name: common("time"), head: true, cell: (run) => <Time at={run.time} /> },
        { key: "outcome", name: text("decided"), cell: (run) => <Badge word={run.outcome} tone={run.outcome === "refused" ? "bad" : "plain"} /> },
        {
            key: "order",
            name: text("order"),
            wide: true,
            cell: (run) =>
                run.order ? (
                    <>
                        <a href={to("orders", run.order)}>{run.order}</a> <Badge word={run.orderStatus} />
                    </>
                ) : (
                    [run.missed && text("missed", { n: run.missed }), run.reason].filter(Boolean).join(": ")
                ),
        },
    ];
}

function Acts({ schedule, choose }: { schedule: Schedule; choose: (act: Act) => void }) {
    const pause = schedule.paused ? "resume" : "pause";
    return (
        <footer class="dialog-foot">
            <Button kind="danger" needs="operator" onClick={() => choose("remove")}>
                {text("remove")}
            </Button>
            <Button needs="operator" onClick={() => setQuery({ edit: "true" })}>
                {text("edit")}
            </Button>
            <Button needs="operator" onClick={() => choose("run")}>
                {text("run")}
            </Button>
            <Button kind="primary" needs="operator" onClick={() => choose(pause)}>
                {text(pause)}
            </Button>
        </footer>
    );
}

const OUTCOMES = { pause: "outcome_paused", resume: "outcome_resumed", run: "outcome_run", remove: "outcome_removed" } as const;

function requestOf(act: Act, schedule: Schedule, reason: string): ApiRequest {
    const name = schedule.name;
    if (act === "remove") return { ...change("DELETE", "/v1/schedules/{name}", { name }), headers: { "if-match": `"${schedule.tag}"` } };
    return change("POST", `/v1/schedules/{name}/${act}`, { name }, { reason });
}

function ActDialog({ act, schedule, onClose, onDone }: { act: Act; schedule: Schedule; onClose: () => void; onDone: (outcome: Outcome) => void }) {
    const name = schedule.name;
    return (
        <ActionDialog<unknown>
            title={text(`${act}_title`, { schedule: name })}
            act={text(act)}
            danger={act === "remove"}
            reason={act === "remove" ? "none" : "optional"}
            request={(reason) => requestOf(act, schedule, reason)}
            onDone={() => onDone({ words: text(OUTCOMES[act], { schedule: name }), confirmed: true })}
            onClose={onClose}
        >
            <p>{text(`${act}_effect`)}</p>
        </ActionDialog>
    );
}
