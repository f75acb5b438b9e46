// A request as text that people copy: for curl, and for the command line of the engine.

import type { ApiRequest } from "./client";

/** Text as one word of a shell. */
export function shellWord(text: string): string {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The request as a curl command. */
export function asCurl(request: ApiRequest, origin: string): string {
    const words = ["curl"];
    if (request.method !== "GET") words.push("-X", request.method);
    if (request.body !== undefined) {
        const text = request.mediaType ? String(request.body) : JSON.stringify(request.body);
        words.push("-H", `content-type: ${request.mediaType ?? "application/json"}`, "--data-binary", text);
    }
    for (const [name, value] of Object.entries(request.headers ?? {})) words.push("-H", `${name}: ${value}`);
    words.push(origin + request.url);
    return words.map(shellWord).join(" ");
}

/** Words of the command line as text: `pagurus order get A-1`. Words that are empty are left out. */
export function asCommand(words: readonly (string | undefined)[]): string {
    return ["pagurus", ...words.filter((word): word is string => Boolean(word))].map(shellWord).join(" ");
}
