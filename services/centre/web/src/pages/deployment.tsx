// The deployment: nodes by layer with what they do now, and leases.

import { useState } from "preact/hooks";
import { read, type Schemas } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import { query } from "../app/router";
import { Page } from "../parts/page";
import { Pager } from "../parts/table";
import { text } from "../text/deployment";
import { NodeDialog, ResignDialog } from "./deployment/actions";
import { differingVersions, gaps, LAYERS, layerOf, lives } from "./deployment/layers";
import { LeasesPanel } from "./deployment/leases";
import { EndedPanel, LayerPanel, type Wanted } from "./deployment/nodes";

export default function Deployment() {
    const cursor = query.value.get("cursor");
    const nodes = useResource(read("/v1/nodes", {}, { limit: 100, cursor }), { every: 3_000 });
    const leases = useResource(read("/v1/leases"), { every: 3_000 });
    const [wanted, setWanted] = useState<Wanted>();
    const [resigning, setResigning] = useState<Schemas["LeaseLine"]>();
    const done = () => {
        setWanted(undefined);
        setResigning(undefined);
        void nodes.refresh();
        void leases.refresh();
    };
    const held = leases.state === "fresh" ? (leases.data?.items ?? []) : [];
    const strangers = nodes.data?.items.some((node) => lives(node) && layerOf(node.role) === "other") ?? false;
    return (
        <Page title={text("title")} request={nodes.request} command={["nodes", "list"]}>
            <Advice resource={nodes} whole={!cursor} />
            {LAYERS.filter((layer) => layer !== "other" || strangers).map((layer) => (
                <LayerPanel key={layer} layer={layer} resource={nodes} leases={held} onWanted={setWanted} />
            ))}
            <LeasesPanel resource={leases} onResign={setResigning} />
            <Pager next={nodes.data?.next} at={cursor} />
            <EndedPanel resource={nodes} onWanted={setWanted} />
            {wanted && <NodeDialog wanted={wanted} nodes={nodes.data?.items ?? []} onDone={done} onClose={() => setWanted(undefined)} />}
            {resigning && <ResignDialog lease={resigning} onDone={done} onClose={() => setResigning(undefined)} />}
        </Page>
    );
}

/** What is wrong with the nodes as a whole. Old data advises nothing, and of a list with more pages the rest is not known. */
function Advice({ resource, whole }: { resource: Shown<Schemas["PageOfNodeView"]>; whole: boolean }) {
    if (resource.state !== "fresh" || !resource.data || resource.data.next || !whole) return null;
    const versions = differingVersions(resource.data.items);
    return (
        <div class="advice" role="status">
            {gaps(resource.data.items).map((role) => (
                <p key={role} class="note bad">
                    {text(`gap_${role}`)}
                </p>
            ))}
            {versions.length > 0 && <p class="note">{text("versions_differ", { versions: versions.join(", ") })}</p>}
        </div>
    );
}
