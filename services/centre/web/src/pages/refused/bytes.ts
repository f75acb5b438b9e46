// Bodies of messages as bytes, and what may be changed of them.

import type { Schemas } from "../../api/client";

type Body = Pick<Schemas["RefusedView"], "body" | "encoding" | "bytes">;

/** Bytes of a line of the dump. */
const WIDTH = 16;

/** The bytes that the API has sent of a body. */
export function bytesOf({ body, encoding }: Pick<Body, "body" | "encoding">): Uint8Array {
    if (encoding !== "hex") return new TextEncoder().encode(body);
    return Uint8Array.from(body.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Lines of offset, bytes, and the letters among them, as `hexdump -C` writes them. */
export function dump(bytes: Uint8Array): string {
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += WIDTH) lines.push(line(at, bytes.subarray(at, at + WIDTH)));
    return lines.join("\n");
}

function line(at: number, bytes: Uint8Array): string {
    const pairs = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
    const halves = [pairs.slice(0, WIDTH / 2), pairs.slice(WIDTH / 2)].map((half) => half.join(" ").padEnd(WIDTH * 1.5 - 1));
    const letters = [...bytes].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    return `${at.toString(16).padStart(8, "0")}  ${halves.join("  ")}  |${letters}|`;
}

/** Whether the API has sent the whole body: of one that is longer than a MiB it sends the first part. */
export function isWhole(message: Body): boolean {
    return bytesOf(message).length >= message.bytes;
}

/** Whether another body may be written from this one. What is no text, or not seen whole, would be damaged. */
export function isEditable(message: Body): boolean {
    return message.encoding === "text" && isWhole(message);
}

/** Why a text is no JSON; nothing where it is. */
export function faultOf(text: string): string | undefined {
    try {
        JSON.parse(text);
        return undefined;
    } catch (error) {
        return error instanceof Error ? error.message : String(error);
    }
}

/** What a person has changed of a message before it is sent again. */
export interface Edited {
    readonly body: string;
    readonly key: string;
    readonly withoutReceipt: boolean;
}

/** The body of the request. What was not changed is not sent, so that the server takes it as it was, byte for byte. */
export function replayOf(message: Body & { key: string }, edited: Edited, reason: string): Schemas["ReplayBody"] {
    return {
        reason,
        ...(isEditable(message) && edited.body !== message.body ? { body: edited.body } : {}),
        ...(edited.key !== message.key ? { key: edited.key } : {}),
        ...(edited.withoutReceipt ? { withoutReceipt: true } : {}),
    };
}
