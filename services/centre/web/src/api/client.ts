// The one way to the data: the public API, as every program has it. Types come from its OpenAPI document.

import type { components, paths } from "./schema";

/** Schemas of the API by name. */
export type Schemas = components["schemas"];

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A request of the API as data: what is sent, shown as curl, and compared with an earlier one. */
export interface ApiRequest {
    readonly method: Method;
    /** Path with its values filled in, and the query. */
    readonly url: string;
    readonly body?: unknown;
    /** Media type of a body that is not JSON; such a body is a string. */
    readonly mediaType?: string;
    /** Conditions of a change, such as `If-Match`. */
    readonly headers?: Readonly<Record<string, string>>;
}

type Json<R> = R extends { content: { "application/json": infer T } } ? T : never;
type Responses<O> = O extends { responses: infer R } ? R : never;
/** Body of a good answer of an operation. */
type Answer<O> = {
    [S in keyof Responses<O>]: S extends 200 | 201 | 202 ? Json<Responses<O>[S]> : never;
}[keyof Responses<O>];

/** Paths that can be read, and the type of what they answer. */
export type Readable = { [P in keyof paths]: paths[P] extends { get: object } ? P : never }[keyof paths];
export type ReadAnswer<P extends Readable> = Answer<paths[P]["get"]>;

/** A request whose answer has a known type. */
export interface Read<T> extends ApiRequest {
    readonly method: "GET";
    /** Never set: it carries the type. */
    readonly answer?: T;
}

export type QueryValue = string | number | boolean | undefined | null | readonly string[];
export type Query = Record<string, QueryValue>;

/** Query as text, `?` included; values that are empty are left out, a list is repeated. */
export function queryText(query: Query): string {
    const pairs = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        const values = Array.isArray(value) ? (value as readonly string[]) : [value];
        for (const one of values) {
            if (one !== undefined && one !== null && one !== "") pairs.append(name, String(one));
        }
    }
    const text = pairs.toString();
    return text === "" ? "" : `?${text}`;
}

/** Path of a template of the OpenAPI document: `{name}` becomes the value, escaped. */
export function pathOf(template: string, values: Record<string, string | number> = {}): string {
    return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name] ?? "")));
}

/** A reading request: `read("/v1/flows/{flow}", { flow })`. */
export function read<P extends Readable>(
    template: P,
    values: Record<string, string | number> = {},
    query: Query = {},
): Read<ReadAnswer<P>> {
    return { method: "GET", url: pathOf(template, values) + queryText(query) };
}

/** A changing request. */
export function change(
    method: Exclude<Method, "GET">,
    template: keyof paths,
    values: Record<string, string | number> = {},
    body?: unknown,
    query: Query = {},
): ApiRequest {
    return { method, url: pathOf(template, values) + queryText(query), ...(body === undefined ? {} : { body }) };
}

/** Why a request has no answer: a problem of the server (RFC 9457), or a network that failed (status 0). */
export class Failure extends Error {
    readonly status: number;
    readonly pointer: string | undefined;
    readonly problem: Record<string, unknown>;

    constructor(status: number, problem: Record<string, unknown>) {
        super(String(problem["detail"] ?? problem["title"] ?? `HTTP ${status}`));
        this.status = status;
        this.problem = problem;
        this.pointer = typeof problem["pointer"] === "string" ? problem["pointer"] : undefined;
    }
}

/** What every request carries besides; the session sets it. */
export const credentials: { csrfToken: string | undefined; refused: (again: () => void) => void } = {
    csrfToken: undefined,
    refused: () => undefined,
};

async function problemOf(response: Response): Promise<Record<string, unknown>> {
    try {
        return (await response.json()) as Record<string, unknown>;
    } catch {
        return { title: response.statusText };
    }
}

function headersOf(request: ApiRequest): Headers {
    const headers = new Headers({ accept: "application/json", ...request.headers });
    if (request.body !== undefined) headers.set("content-type", request.mediaType ?? "application/json");
    if (request.method !== "GET" && credentials.csrfToken) headers.set("x-csrf-token", credentials.csrfToken);
    return headers;
}

/** Sends a request once. Throws a `Failure`, or the abort of the signal. */
export async function sendOnce(request: ApiRequest, signal?: AbortSignal): Promise<Response> {
    const { body, mediaType } = request;
    const text = body === undefined ? undefined : mediaType ? String(body) : JSON.stringify(body);
    let response: Response;
    try {
        response = await fetch(request.url, {
            method: request.method,
            headers: headersOf(request),
            credentials: "same-origin",
            cache: "no-store",
            ...(text === undefined ? {} : { body: text }),
            ...(signal ? { signal } : {}),
        });
    } catch (error) {
        if (signal?.aborted) throw error;
        throw new Failure(0, { detail: error instanceof Error ? error.message : String(error) });
    }
    if (!response.ok) throw new Failure(response.status, await problemOf(response));
    return response;
}

/** Sends a request. One that is refused for want of a session waits for the login, and is sent again: nothing typed is lost. */
export async function send(request: ApiRequest, signal?: AbortSignal): Promise<Response> {
    try {
        return await sendOnce(request, signal);
    } catch (error) {
        if (!(error instanceof Failure) || error.status !== 401) throw error;
        await new Promise<void>((resolve) => credentials.refused(resolve));
        return sendOnce(request, signal);
    }
}

/** Sends a request, and returns the JSON of its answer, or the text of one that is not JSON; nothing where there is none. */
export async function json<T>(request: Read<T> | ApiRequest, signal?: AbortSignal): Promise<T> {
    const response = await send(request, signal);
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "application/json").includes("json");
    return (text === "" ? undefined : isJson ? JSON.parse(text) : text) as T;
}
