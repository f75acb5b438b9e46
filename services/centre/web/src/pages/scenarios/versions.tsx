import type { Schemas } from "../../api/client";
import { path } from "../../app/router";
import { queryText } from "../../api/client";
import { Time } from "../../parts/moment";
import { Table, type Column } from "../../parts/table";
import { scenarios as text } from "../../text/scenarios";

type Version = Schemas["VersionLine"];

export function Versions({ name, versions }: { name: string; versions: readonly Version[] }) {
    const columns: Column<Version>[] = [
        {
            key: "version",
            name: text("version"),
            head: true,
            cell: (row) => <a href={path.value + queryText({ tab: "source", version: row.version })}>{row.version}</a>,
        },
        { key: "applied", name: text("applied"), cell: (row) => <Time at={row.createdAt} /> },
        { key: "diff", name: text("tab_diff"), cell: (row) => <Compare version={row.version} versions={versions} /> },
    ];
    return (
        <section class="panel" aria-label={`${text("versions")}: ${name}`}>
            <Table caption={text("versions")} columns={columns} rows={versions} keyOf={(row) => row.version} />
        </section>
    );
}

function Compare({ version, versions }: { version: number; versions: readonly Version[] }) {
    const before = versions.find((one) => one.version < version);
    if (!before) return null;
    return <a href={path.value + queryText({ tab: "diff", from: before.version, to: version })}>{text("versions_compare")}</a>;
}
