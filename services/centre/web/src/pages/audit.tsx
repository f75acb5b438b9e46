// The audit log: who did what, on what, when and why, and whether anybody changed that since.

import { queryText, read } from "../api/client";
import { asCommand } from "../api/command";
import { useResource } from "../api/resource";
import { query } from "../app/router";
import { CopyLine, Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Popover } from "../parts/popover";
import { Pager } from "../parts/table";
import { common } from "../text/common";
import { text } from "../text/audit";
import { Chain } from "./audit/chain-panel";
import { commandOf, conditionsOf, type Conditions } from "./audit/entry";
import { Filter } from "./audit/filter";
import { Entries } from "./audit/list";

const LIMIT = 50;

export default function Audit() {
    const conditions = conditionsOf(query.value);
    const cursor = query.value.get("cursor") ?? "";
    const list = useResource(read("/v1/audit", {}, { ...conditions, cursor, limit: LIMIT }), { every: 10_000 });
    const emptyText = list.data?.next ? text("nothing_here") : text("nothing");
    return (
        <Page title={text("title")} lead={text("lead")} tools={<Export conditions={conditions} />} request={list.request} command={commandOf(conditions)}>
            <Filter conditions={conditions} />
            <Panel title={text("list")} resource={list} empty={(page) => page.items.length === 0} emptyText={emptyText}>
                {(page) => <Entries entries={page.items} />}
            </Panel>
            <Pager next={list.data?.next} at={cursor} />
            <Chain />
        </Page>
    );
}

/** One page as a link, since a browser takes no more at once; the command goes through all pages. */
function Export({ conditions }: { conditions: Conditions }) {
    const command = commandOf(conditions, ["export"]);
    return (
        <Popover wide label={text("export")} button={text("export")}>
            <p class="faint">{text("export_hint")}</p>
            <a class="button" href={`/v1/audit/export${queryText({ ...conditions, limit: 500 })}`} download="audit.ndjson">
                {text("download")}
            </a>
            {command && <CopyLine name={common("as_command")} text={asCommand([...command, "--file", "audit.ndjson"])} />}
        </Popover>
    );
}
