// Pages of the control centre: address, place in the navigation, and the module that shows it, which is loaded when it is
// first gone to.

import type { ComponentType } from "preact";
import type { IconName } from "../parts/icon";
import { may, seesWhole } from "./session";

export type PageProps = Record<string, string>;

export interface PageRoute {
    readonly pattern: string;
    readonly load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export const ROUTES: readonly PageRoute[] = [
    { pattern: "/", load: () => import("../pages/overview") },
    { pattern: "/orders", load: () => import("../pages/orders") },
    { pattern: "/orders/new", load: () => import("../pages/new-order") },
    { pattern: "/orders/:id", load: () => import("../pages/order") },
    { pattern: "/errors", load: () => import("../pages/errors") },
    { pattern: "/operations", load: () => import("../pages/operations") },
    { pattern: "/operations/:no", load: () => import("../pages/operation") },
    { pattern: "/flows", load: () => import("../pages/flows") },
    { pattern: "/flows/:flow", load: () => import("../pages/flow") },
    { pattern: "/systems/:name", load: () => import("../pages/system") },
    { pattern: "/windows", load: () => import("../pages/windows") },
    { pattern: "/subscriptions", load: () => import("../pages/subscriptions") },
    { pattern: "/schedules", load: () => import("../pages/schedules") },
    { pattern: "/queues", load: () => import("../pages/queues") },
    { pattern: "/queues/:name", load: () => import("../pages/queue") },
    { pattern: "/refused", load: () => import("../pages/refused") },
    { pattern: "/scenarios", load: () => import("../pages/scenarios") },
    { pattern: "/scenarios/:name", load: () => import("../pages/scenario") },
    { pattern: "/workbench", load: () => import("../pages/workbench") },
    { pattern: "/workbench/:name", load: () => import("../pages/workbench") },
    { pattern: "/deployment", load: () => import("../pages/deployment") },
    { pattern: "/audit", load: () => import("../pages/audit") },
    { pattern: "/access", load: () => import("../pages/access") },
];

export interface NavigationEntry {
    /** First part of the address, and the key of its name; empty: the overview. */
    readonly page: string;
    readonly name:
        | "overview"
        | "orders"
        | "errors"
        | "operations"
        | "flows"
        | "windows"
        | "subscriptions"
        | "schedules"
        | "queues"
        | "refused"
        | "scenarios"
        | "workbench"
        | "deployment"
        | "audit"
        | "access";
    readonly icon: IconName;
    /** Role below which the page shows nothing. */
    readonly needs?: "operator" | "admin";
    /** Whether the page is about the whole installation, and shows nothing to members of some tenants alone. */
    readonly whole?: true;
}

/** Whether a page shows something to those who ask. */
export function isFor(entry: NavigationEntry): boolean {
    return (!entry.needs || may(entry.needs)) && (!entry.whole || seesWhole.value);
}

export const NAVIGATION: readonly { readonly group: "group_work" | "group_configure" | "group_engine" | undefined; readonly entries: readonly NavigationEntry[] }[] = [
    { group: undefined, entries: [{ page: "", name: "overview", icon: "overview" }] },
    {
        group: "group_work",
        entries: [
            { page: "orders", name: "orders", icon: "orders" },
            { page: "errors", name: "errors", icon: "errors" },
            { page: "operations", name: "operations", icon: "operations" },
            { page: "flows", name: "flows", icon: "flows" },
            { page: "windows", name: "windows", icon: "windows", whole: true },
            { page: "subscriptions", name: "subscriptions", icon: "subscriptions", whole: true },
            { page: "schedules", name: "schedules", icon: "schedules" },
            { page: "queues", name: "queues", icon: "queues" },
            { page: "refused", name: "refused", icon: "refused", whole: true },
        ],
    },
    {
        group: "group_configure",
        entries: [
            { page: "scenarios", name: "scenarios", icon: "scenarios" },
            { page: "workbench", name: "workbench", icon: "workbench" },
        ],
    },
    {
        group: "group_engine",
        entries: [
            { page: "deployment", name: "deployment", icon: "deployment" },
            { page: "audit", name: "audit", icon: "audit", whole: true, needs: "operator" },
            { page: "access", name: "access", icon: "access", needs: "admin" },
        ],
    },
];
