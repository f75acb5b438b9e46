// Tables of nodes: those that live, by layer, and those that have ended.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { duration, number, shortTime } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Lines } from "../../parts/lines";
import { Age, Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { text } from "../../text/deployment";
import { isSilent, sorted, type Layer, type Node } from "./layers";

type Lease = Schemas["LeaseLine"];
type Nodes = Shown<Schemas["PageOfNodeView"]>;

/** An action on a node that somebody asked for. */
export interface Wanted {
    readonly node: Node;
    readonly online: boolean;
}

interface Props {
    resource: Nodes;
    leases: readonly Lease[];
    onWanted: (wanted: Wanted) => void;
}

/** The role, with the transport of an intake that serves one only. */
const roleOf = ({ role, transport }: Node) => (transport === "http" || transport === "amqp" ? `${role} (${transport})` : role);

const keyOf = (node: Node) => `${node.role}/${node.name}/${node.incarnation}`;

export function LayerPanel({ layer, resource, leases, onWanted }: Props & { layer: Layer }) {
    const title = text(`layer_${layer}`);
    const rowsOf = (page: Schemas["PageOfNodeView"]) => sorted(page.items).layers.get(layer) ?? [];
    const columns: Column<Node>[] = [
        { key: "name", name: text("name"), head: true, cell: (node) => <Lines first={<span class="strong">{node.name}</span>} second={<code>{roleOf(node)}</code>} /> },
        { key: "status", name: text("status"), cell: (node) => <Status node={node} leases={leases} /> },
        { key: "since", name: text("since"), number: true, cell: (node) => <Age at={node.statusSince} /> },
        { key: "load", name: text("load"), cell: (node) => <Load node={node} /> },
        { key: "seen", name: text("seen"), number: true, cell: (node) => <Seen node={node} /> },
        { key: "address", name: text("address"), cell: (node) => <Lines first={<code>{node.address}</code>} second={<code>{node.version}</code>} /> },
        { key: "actions", name: text("actions"), cell: (node) => <Order node={node} onWanted={onWanted} /> },
    ];
    return (
        <Panel title={title} resource={resource} empty={(page) => rowsOf(page).length === 0} emptyText={<span class="bad-text">{text("nodes_empty")}</span>}>
            {(page) => (
                <>
                    <p class="faint">{text(`layer_${layer}_hint`)}</p>
                    <Table caption={title} columns={columns} rows={rowsOf(page)} keyOf={keyOf} />
                </>
            )}
        </Panel>
    );
}

/** The status, the lease that the node holds, and who has it out of service. */
function Status({ node, leases }: { node: Node; leases: readonly Lease[] }) {
    const held = leases.find((lease) => lease.name === node.role && lease.holder === node.name);
    return (
        <span class="stacked">
            <span class="row">
                <Badge word={node.status} />
                {held && <span class="soft">{text("leads", { n: held.epoch })}</span>}
            </span>
            {node.offline && <Offline node={node} />}
        </span>
    );
}

function Offline({ node }: { node: Node }) {
    const { offline } = node;
    if (!offline) return null;
    const by = whoOf(offline.by);
    const values = { since: shortTime(offline.since, now.value), reason: offline.reason };
    return <span class="faint">{by ? text("offline_by", { ...values, by }) : text("offline_since", values)}</span>;
}

function Load({ node }: { node: Node }) {
    if (node.concurrency === 0) return node.left > 0 ? <>{text("in_hand", { n: node.left })}</> : <span class="faint">{common("none")}</span>;
    const share = Math.min(1, node.stages / node.concurrency);
    return (
        <span class="load">
            <svg class={share > 0.9 ? "bar warn" : "bar busy"} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class="rail" width="100" height="4" />
                <rect width={100 * share} height="4" />
            </svg>
            <span class="number">{text("load_of", { n: node.stages, most: number(node.concurrency) })}</span>
        </span>
    );
}

function Seen({ node }: { node: Node }) {
    if (!node.seenAt) return <>{common("never")}</>;
    const age = duration(Math.max(0, now.value - Date.parse(node.seenAt)));
    return <span class={isSilent(node, now.value) ? "warn-text" : "soft"}>{text("seen_ago", { age })}</span>;
}

function Order({ node, onWanted }: { node: Node; onWanted: (wanted: Wanted) => void }) {
    const online = Boolean(node.offline);
    const word = text(online ? "online" : "offline");
    return (
        <Button small needs="operator" label={`${word}: ${node.role}/${node.name}`} onClick={() => onWanted({ node, online })}>
            {word}
        </Button>
    );
}

/** Nodes that live no more. One that is out of service is so also in its next life, unless it is put back. */
export function EndedPanel({ resource, onWanted }: Omit<Props, "leases">) {
    const ended = resource.data ? sorted(resource.data.items).ended : [];
    if (ended.length === 0) return null;
    const columns: Column<Node>[] = [
        { key: "name", name: text("name"), head: true, cell: (node) => node.name },
        { key: "role", name: text("role"), cell: (node) => <code>{roleOf(node)}</code> },
        { key: "life", name: text("life"), number: true, cell: (node) => number(node.incarnation) },
        { key: "status", name: text("status"), cell: (node) => <Status node={node} leases={[]} /> },
        { key: "started", name: text("started"), cell: (node) => <Time at={node.startedAt} /> },
        { key: "ended", name: text("ended_at"), cell: (node) => <Time at={node.endedAt ?? node.statusSince} /> },
        { key: "was", name: text("was"), cell: (node) => <code>{`${node.version} ${node.address}`}</code> },
        { key: "actions", name: text("actions"), cell: (node) => node.offline && <Order node={node} onWanted={onWanted} /> },
    ];
    return (
        <details class="panel folded">
            <summary>
                <h2>{text("ended")}</h2> <span class="faint">{text("ended_count", { n: ended.length })}</span>
            </summary>
            <Table caption={text("ended")} columns={columns} rows={ended.slice(0, 100)} keyOf={keyOf} />
        </details>
    );
}
