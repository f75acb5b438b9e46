// Nodes by what they are there for.

import type { Schemas } from "../../api/client";

export type Node = Schemas["NodeView"];

export const LAYERS = ["reception", "distribution", "execution", "other"] as const;
export type Layer = (typeof LAYERS)[number];

/** Roles in the order of an order's way through them. */
export const ROLES = ["intake", "dispatcher", "activator", "worker", "notifier"] as const;
export type Role = (typeof ROLES)[number];

const LAYER_OF: Record<Role, Layer> = {
    intake: "reception",
    dispatcher: "distribution",
    activator: "distribution",
    worker: "execution",
    notifier: "execution",
};

/** A role of the installation, also one that this page does not know. */
export function knownRole(role: string): Role | undefined {
    return ROLES.find((one) => one === role);
}

export function layerOf(role: string): Layer {
    const known = knownRole(role);
    return known ? LAYER_OF[known] : "other";
}

/** Whether a node lives: one that is lost has given no sign for so long that others take its work over. */
export function lives(node: Pick<Node, "endedAt" | "status">): boolean {
    return !node.endedAt && node.status !== "lost" && node.status !== "stopped";
}

export interface Sorted {
    readonly layers: ReadonlyMap<Layer, readonly Node[]>;
    /** Those that live no more, the last to end first. */
    readonly ended: readonly Node[];
}

/** Living nodes by layer, and apart from them those that have ended. */
export function sorted(nodes: readonly Node[]): Sorted {
    const living = nodes.filter(lives).sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, "en", { numeric: true }));
    const layers = new Map<Layer, Node[]>();
    for (const layer of LAYERS) layers.set(layer, living.filter((node) => layerOf(node.role) === layer));
    const ended = nodes.filter((node) => !lives(node)).sort((a, b) => (b.endedAt ?? b.statusSince).localeCompare(a.endedAt ?? a.statusSince));
    return { layers, ended };
}

function rank(node: Node): number {
    const place = ROLES.findIndex((role) => role === node.role);
    return place < 0 ? ROLES.length : place;
}

/** Roles without an active node: their work waits. */
export function gaps(nodes: readonly Pick<Node, "role" | "status" | "endedAt">[]): Role[] {
    return ROLES.filter((role) => !nodes.some((node) => node.role === role && lives(node) && node.status === "active"));
}

/** Versions of living nodes, where there is more than one. */
export function differingVersions(nodes: readonly Pick<Node, "version" | "status" | "endedAt">[]): string[] {
    const versions = [...new Set(nodes.filter(lives).map((node) => node.version))].sort();
    return versions.length > 1 ? versions : [];
}

/** Living nodes of a role, but for one, that are in service. */
export function othersInService(nodes: readonly Node[], node: Pick<Node, "role" | "name">): number {
    return nodes.filter((one) => one.role === node.role && one.name !== node.name && lives(one) && !one.offline).length;
}

/** Silence from which on a node is worth a look, in ms: nodes give a sign every second or so, and are lost after twelve. */
const SILENT_MS = 5_000;

export function isSilent(node: Pick<Node, "seenAt">, at: number): boolean {
    return !node.seenAt || at - Date.parse(node.seenAt) > SILENT_MS;
}
