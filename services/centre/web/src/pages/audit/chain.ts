// Verification of the chain of the audit log: every hash is computed here, from the entries, so that the server cannot claim
// that they hold. Encoding and order of the checks are those of `pagurus audit verify`.

import type { Schemas } from "../../api/client";
import { hex, sha256 } from "../../app/sha256";

export type ChainPage = Schemas["AuditChainView"];
type Link = Schemas["AuditLinkView"];
type Entry = Schemas["AuditedEntry"];
type Point = Schemas["ChainPointView"];

/** A head that somebody noted elsewhere: a hash, and its position where that was noted too. */
export interface NotedHead {
    readonly position: number | undefined;
    readonly hash: string;
}

/** What does not hold, by the key of its words; the values stand in them. */
export interface Fault {
    readonly key:
        | "fault_links_missing"
        | "fault_removed"
        | "fault_changed"
        | "fault_moved"
        | "fault_put_in"
        | "fault_missing_before"
        | "fault_head_missing"
        | "fault_head_forgotten"
        | "fault_head_changed"
        | "fault_pages";
    readonly values: Record<string, string>;
}

/** How far a verification has come. */
export interface Verified {
    readonly head: Point;
    /** Entries whose hash was computed, and held. */
    readonly entries: number;
    readonly from: string | undefined;
    readonly until: string | undefined;
    readonly fault: Fault | undefined;
    /** Position behind which the next page begins; nothing at the end. */
    readonly next: number | undefined;
    /** Whether retention removed what was being verified, so that it has to begin again. */
    readonly overtaken: boolean;
    readonly noted: NotedHead | undefined;
    readonly met: boolean;
}

/** A verification before its first page. */
export function begin(page: ChainPage, noted: NotedHead | undefined): Verified {
    return { head: page.anchor, entries: 0, from: undefined, until: undefined, fault: undefined, next: undefined, overtaken: false, noted, met: false };
}

/** Follows the links of a page. */
export function follow(before: Verified, page: ChainPage): Verified {
    if (page.anchor.position > before.head.position) return { ...before, overtaken: true };
    const forgotten = page.anchor.position - page.forgotten;
    if (forgotten > 0) return failed(before, "fault_missing_before", { count: forgotten });
    let state = meet(before);
    for (const link of page.links) {
        if (state.fault) return state;
        state = meet(step(state, link));
    }
    if (state.fault) return state;
    const putIn = page.putIn[0];
    if (putIn !== undefined) return failed(state, "fault_put_in", { no: putIn });
    if (page.next !== undefined && page.next !== null) {
        return page.next === state.head.position ? { ...state, next: page.next } : failed(state, "fault_pages", {});
    }
    return end(state, page);
}

function step(state: Verified, link: Link): Verified {
    const { position, no, entry } = link;
    const wanted = state.head.position + 1;
    if (position !== wanted) return failed(state, "fault_links_missing", { from: wanted, until: position - 1 });
    if (!entry) return failed(state, "fault_removed", { no, position });
    if (!isLater(link, state.head)) return failed(state, "fault_moved", { no, position });
    const holds = link.transaction === entry.transaction && link.hash === hashOf(link, entry, state.head.hash);
    if (!holds) return failed(state, "fault_changed", { no, position });
    return { ...state, head: link, entries: state.entries + 1, from: state.from ?? entry.at, until: entry.at };
}

function isLater(link: Point, head: Point): boolean {
    if (link.series !== head.series) return link.series > head.series;
    if (link.transaction !== head.transaction) return link.transaction > head.transaction;
    return link.no > head.no;
}

/** Compares the present link with the noted one. */
function meet(state: Verified): Verified {
    const { noted, head } = state;
    if (!noted || state.fault || state.met) return state;
    if (noted.position === undefined) return { ...state, met: noted.hash === head.hash };
    if (noted.position < head.position) return failed(state, "fault_head_forgotten", { position: noted.position });
    if (noted.position > head.position) return state;
    return noted.hash === head.hash ? { ...state, met: true } : failed(state, "fault_head_changed", { position: noted.position });
}

function end(state: Verified, page: ChainPage): Verified {
    const { position } = state.head;
    if (page.head.position > position) return failed(state, "fault_links_missing", { from: position + 1, until: page.head.position });
    if (state.noted && !state.met) return failed(state, "fault_head_missing", {});
    return { ...state, next: undefined };
}

function failed(state: Verified, key: Fault["key"], values: Record<string, number>): Verified {
    const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
    return { ...state, next: undefined, fault: { key, values: texts } };
}

const VERSION = new TextEncoder().encode("pagurus audit 1\n");

/** The hash of a link of an entry, behind the link with the hash `before`. */
export function hashOf(link: Point, entry: Entry, before: string): string {
    const parts: Uint8Array[] = [VERSION, bytesOf(before)];
    for (const number of [link.position, link.series, entry.transaction, link.no, microseconds(entry.at)]) parts.push(wide(number));
    const { action, kind, subject, door, name, origin, reason, detail } = entry;
    for (const text of [action, kind, subject, door, name, origin, reason, detail]) {
        const present = text !== null && text !== undefined;
        parts.push(Uint8Array.of(present ? 1 : 0));
        if (!present) continue;
        const bytes = new TextEncoder().encode(text);
        parts.push(wide(bytes.length), bytes);
    }
    return hex(sha256(joined(parts)));
}

/** A time in microseconds since 1970; it may stand as that number already. */
export function microseconds(at: string): bigint {
    if (/^-?\d+$/.test(at)) return BigInt(at);
    const fraction = /\.(\d+)/.exec(at)?.[1] ?? "";
    const seconds = Date.parse(at.replace(/\.\d+/, "")) / 1_000;
    return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}

/** A head as people note it: `HASH` or `POSITION:HASH`; nothing where it is neither. */
export function notedHead(text: string): NotedHead | undefined {
    const found = /^(?:(\d+):)?([0-9a-f]{64})$/i.exec(text.trim());
    if (!found?.[2]) return undefined;
    return { position: found[1] === undefined ? undefined : Number(found[1]), hash: found[2].toLowerCase() };
}

function wide(number: number | bigint): Uint8Array {
    const bytes = new DataView(new ArrayBuffer(8));
    bytes.setBigInt64(0, BigInt(number));
    return new Uint8Array(bytes.buffer);
}

function bytesOf(hash: string): Uint8Array {
    return Uint8Array.from(hash.match(/../g) ?? [], (two) => Number.parseInt(two, 16));
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
    const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
        whole.set(part, at);
        at += part.length;
    }
    return whole;
}
