// Schedules: orders at planned times, what comes next of each, and what was decided about the last ones.

import { useState } from "preact/hooks";
import { read, type Schemas } from "../api/client";
import { useResource } from "../api/resource";
import { query, setQuery } from "../app/router";
import { Button } from "../parts/button";
import { Page } from "../parts/page";
import { schedules as text } from "../text/schedules";
import { OutcomeNote, type Outcome } from "./flows/outcome";
import { CreateDialog } from "./schedules/form";
import { ScheduleDetails } from "./schedules/details";
import { ScheduleList } from "./schedules/list";

const LIMIT = 100;

export default function Schedules() {
    const schedules = useResource<Schemas["PageOfScheduleView"]>(read("/v1/schedules", {}, { cursor: query.value.get("cursor"), limit: LIMIT }));
    const [outcome, setOutcome] = useState<Outcome>();
    const close = () => setQuery({ schedule: undefined, edit: undefined, new: undefined }, true);
    const done = (one: Outcome) => {
        close();
        setOutcome(one);
        void schedules.refresh();
    };
    const shown = query.value.get("schedule");
    const tools = (
        <Button kind="primary" needs="operator" onClick={() => setQuery({ new: "true" })}>
            {text("add")}
        </Button>
    );
    return (
        <Page title={text("title")} tools={tools} request={schedules.request} command={["schedules", "list"]}>
            <OutcomeNote outcome={outcome} onClose={() => setOutcome(undefined)} onOutcome={done} />
            <ScheduleList schedules={schedules} />
            {query.value.has("new") && <CreateDialog onClose={close} onDone={done} />}
            {shown && <ScheduleDetails key={shown} name={shown} onClose={close} onDone={done} />}
        </Page>
    );
}
