// Actors: people or programs that take tasks of orders.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { query } from "../../app/router";
import { number } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Age } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { common } from "../../text/common";
import { flows as text } from "../../text/flows";

type Actor = Schemas["ActorView"];

const TONES = { served: "good", busy: "warn", unserved: "bad" } as const;

export function ActorList({ actors }: { actors: Shown<Schemas["PageOfActorView"]> }) {
    return (
        <Panel title={text("actor_title")} resource={actors} empty={(data) => data.items.length === 0} emptyText={text("actor_none")}>
            {(data) => (
                <>
                    <Table caption={text("caption_actors")} columns={columns(actors.state === "fresh")} rows={data.items} keyOf={(one) => one.actor} />
                    <Pager next={data.next} at={query.value.get("cursor")} />
                </>
            )}
        </Panel>
    );
}

function columns(fresh: boolean): Column<Actor>[] {
    const count = (value: number | null | undefined) => (value === null || value === undefined ? common("none") : number(value));
    return [
        { key: "actor", name: text("actor"), head: true, cell: (one) => one.actor },
        { key: "state", name: text("state"), cell: (one) => <Badge word={one.state} tone={(fresh && TONES[one.state as keyof typeof TONES]) || "plain"} /> },
        { key: "tasks", name: text("actor_tasks"), number: true, cell: (one) => number(one.tasks) },
        { key: "queued", name: text("actor_queued"), number: true, cell: (one) => count(one.queued) },
        { key: "inHand", name: text("actor_in_hand"), number: true, cell: (one) => count(one.inHand) },
        { key: "consumers", name: text("actor_consumers"), number: true, cell: (one) => count(one.consumers) },
        { key: "taken", name: text("actor_last_taken"), number: true, cell: (one) => <Age at={one.lastTakenAt} /> },
        { key: "oldest", name: text("actor_oldest"), number: true, cell: (one) => <Age at={one.oldestSince} /> },
        { key: "decided", name: text("actor_decided"), number: true, cell: (one) => number(one.decided) },
        { key: "timeouts", name: text("actor_timeouts"), number: true, cell: (one) => number(one.workTimeouts) },
    ];
}
