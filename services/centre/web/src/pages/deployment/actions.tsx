// Windows that take a node out of service or back, and that end a lease.

import { change, type Schemas } from "../../api/client";
import { ActionDialog } from "../../parts/dialog";
import { text } from "../../text/deployment";
import { knownRole, othersInService, type Node } from "./layers";
import type { Wanted } from "./nodes";

interface Ending {
    onDone: () => void;
    onClose: () => void;
}

export function NodeDialog({ wanted, nodes, onDone, onClose }: { wanted: Wanted; nodes: readonly Node[] } & Ending) {
    const { node, online } = wanted;
    const name = `${node.role}/${node.name}`;
    const way = online ? "online" : "offline";
    return (
        <ActionDialog
            title={text(`${way}_title`, { node: name })}
            act={text(way)}
            danger={!online}
            reason="required"
            request={(reason) => change("POST", `/v1/nodes/{role}/{name}/${way}`, { role: node.role, name: node.name }, { reason })}
            onDone={onDone}
            onClose={onClose}
        >
            {online ? <p>{text("online_effect")}</p> : <OfflineEffect node={node} nodes={nodes} />}
        </ActionDialog>
    );
}

function OfflineEffect({ node, nodes }: { node: Node; nodes: readonly Node[] }) {
    const others = othersInService(nodes, node);
    return (
        <>
            <p>{text(`offline_effect_${knownRole(node.role) ?? "other"}`, { n: node.stages })}</p>
            <p>{text("offline_stays")}</p>
            {others === 0 ? <p class="note bad">{text("offline_last")}</p> : <p class="note plain">{text("offline_others", { n: others })}</p>}
        </>
    );
}

export function ResignDialog({ lease, onDone, onClose }: { lease: Schemas["LeaseLine"] } & Ending) {
    return (
        <ActionDialog
            title={text("resign_title", { lease: lease.name })}
            act={text("resign")}
            danger
            reason="required"
            request={(reason) => change("POST", "/v1/leases/{name}/resign", { name: lease.name }, { reason })}
            onDone={onDone}
            onClose={onClose}
        >
            <p>{text("resign_effect", { holder: lease.holder ?? text("nobody") })}</p>
        </ActionDialog>
    );
}
