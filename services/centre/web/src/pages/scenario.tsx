// One scenario: its graph with the live orders, its text, its versions, and what is different between them.

import { read, type Schemas } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import type { PageProps } from "../app/pages";
import { query, setQuery, to, toWith } from "../app/router";
import { Select } from "../parts/field";
import { LedgerSums } from "../parts/ledger-sums";
import { Time } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { chosenTab, Tabs, type Tab } from "../parts/tabs";
import { ledger } from "../text/ledger";
import { scenarios as text } from "../text/scenarios";
import { Differences } from "./scenarios/differences";
import { GraphTab } from "./scenarios/graph-tab";
import { Migration } from "./scenarios/migration";
import { Source } from "./scenarios/source";
import { Versions } from "./scenarios/versions";

type VersionPage = Schemas["PageOfVersionLine"];

const tabs = (): Tab[] => [
    { key: "graph", name: text("tab_graph") },
    { key: "source", name: text("tab_source") },
    { key: "versions", name: text("tab_versions") },
    { key: "diff", name: text("tab_diff") },
    { key: "migrate", name: text("tab_migrate") },
    { key: "ledger", name: ledger("title") },
];

export default function Scenario({ name = "" }: PageProps) {
    const versions = useResource(read("/v1/scenarios/{name}/versions", { name }, { limit: 100 }), { every: 30_000 });
    const wanted = query.value.get("version");
    const newest = versions.data?.items[0]?.version;
    const version = wanted === null ? newest : Number(wanted);
    const at = version === undefined ? name : `${name}@${version}`;
    const tab = chosenTab(tabs());
    return (
        <Page
            title={name}
            lead={<Lead versions={versions} version={version} />}
            tools={<Tools name={name} versions={versions} version={version} newest={newest} />}
            request={tab === "source" ? read("/v1/scenarios/{name}", { name }, { version: wanted }) : versions.request}
            command={tab === "ledger" ? ["order", "ledger", "--scenario", name] : ["scenario", ...(tab === "source" ? ["show", at] : tab === "graph" ? ["graph", at] : ["versions", name])]}
        >
            <Tabs tabs={tabs()} label={text("tabs")} keep={["version"]} />
            <Panel resource={versions} bare>
                {(data) => <Chosen tab={tab} name={name} version={version ?? 1} data={data} />}
            </Panel>
        </Page>
    );
}

function Chosen({ tab, name, version, data }: { tab: string; name: string; version: number; data: VersionPage }) {
    if (tab === "source") return <Source name={name} version={version} />;
    if (tab === "versions") return <Versions name={name} versions={data.items} />;
    if (tab === "diff") return <Differences name={name} versions={data.items} />;
    if (tab === "migrate") return <Migration name={name} versions={data.items} />;
    if (tab === "ledger") return <LedgerSums of={{ scenario: name }} />;
    return <GraphTab name={name} version={version} />;
}

function Lead({ versions, version }: { versions: Shown<VersionPage>; version: number | undefined }) {
    const line = versions.data?.items.find((one) => one.version === version);
    if (!line) return null;
    return (
        <>
            {text("version_at", { version: line.version })} <Time at={line.createdAt} />
        </>
    );
}

function Tools({ name, versions, version, newest }: { name: string; versions: Shown<VersionPage>; version: number | undefined; newest: number | undefined }) {
    const options = (versions.data?.items ?? []).map((line) => ({
        value: String(line.version),
        text: line.version === newest ? `${line.version} (${text("newest")})` : String(line.version),
    }));
    return (
        <>
            {options.length > 1 && (
                <Select
                    label={text("version")}
                    value={String(version ?? "")}
                    options={options}
                    onChange={(value) => setQuery({ version: Number(value) === newest ? undefined : value })}
                />
            )}
            <a class="button" href={toWith("orders", { scenario: name })}>
                {text("orders")}
            </a>
            <a class="button" href={toWith("errors", { scenario: name })}>
                {text("errors")}
            </a>
            <a class="button primary" href={to("workbench", name)}>
                {text("open_workbench")}
            </a>
        </>
    );
}
