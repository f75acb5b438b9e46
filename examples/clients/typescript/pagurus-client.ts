/**
 * Sends orders to Pagurus over HTTP, follows them, and acts on them. Needs what Node 18, Deno, Bun and browsers have: fetch and Web Crypto.
 *
 *     const client = new Client("http://127.0.0.1:8080");
 *     await client.register({id: "shop-000123", scenario: "change-tariff", params: {msisdn: "79110000001"}});
 *     const end = await client.wait("shop-000123", 600);
 *
 * An order has an id of the client's choice, so that sending it again is harmless: `register` repeats by itself what got no answer, and
 * a program that was interrupted calls it again with the same order.
 */

/** Longest single question, in seconds, and longest wait that one question asks for. */
const QUESTION = 60;
const LONG_POLL = 30;
/** Seconds for which a webhook is good: one that was caught on its way cannot be played again later. */
const TOLERANCE = 300;

/** An order that must have ended before, with the acceptable final states. */
export interface After {
  order: string;
  states: string[];
  otherwise?: string;
}

/** Conditions of the start. */
export interface Lifecycle {
  startAt?: string;
  periodToStart?: number;
  after?: After[];
}

/** Request for notifications of an order. */
export interface Notify {
  url: string;
  correlationId?: string;
  timezone?: string;
  on?: ("final" | "transitions" | "parked")[];
  format?: "pagurus" | "cloudevents" | "cloudevents-binary";
}

/** An order to be registered. */
export interface Order {
  id: string;
  scenario: string;
  scenarioVersion?: number;
  params?: Record<string, unknown>;
  mode?: "parallel" | "sequential";
  queue?: string;
  priority?: "high" | "normal" | "low";
  flow?: Record<string, unknown>;
  transactionId?: string;
  notify?: Notify;
  lifecycle?: Lifecycle;
}

/** Result of a registration: `accepted`, or `duplicate` with the present status of the order. */
export interface Registered {
  id: string;
  status: "accepted" | "duplicate";
  orderStatus?: string;
  note?: string;
}

/** Status of an order; `final` is true if this life is over. */
export interface Status {
  id: string;
  status: string;
  final: boolean;
  life: number;
  note?: string;
}

/** What a live order said to a call; without `answeredAt` it has not answered yet. */
export interface Call {
  key: string;
  name: string;
  status: string;
  receivedAt: string;
  answer?: unknown;
  answeredAt?: string;
  error?: { message: string; class?: string };
}

/** One thing that is wrong with a request. */
export interface Detail {
  pointer: string;
  message: string;
  hint?: string;
  line?: number;
  column?: number;
}

/** The types of problems that clients meet. */
export type ProblemKind =
  | "malformed"
  | "invalid"
  | "unknown-scenario"
  | "conflict"
  | "refused"
  | "not-found"
  | "too-large"
  | "busy"
  | "unavailable"
  | "internal";

interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  pointer?: string;
  errors?: Detail[];
  orderStatus?: string;
}

/** The engine says no, as RFC 9457 describes it. */
export class Problem extends Error {
  readonly kind: ProblemKind;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The first field at fault. */
  readonly pointer?: string;
  /** All that is wrong. */
  readonly errors: Detail[];
  /** The status of the order, where that is the reason. */
  readonly orderStatus?: string;
  /** Seconds after which the same request may succeed. */
  readonly retryAfter?: number;

  constructor(body: ProblemBody, retryAfter?: number) {
    const errors = body.errors ?? [];
    const faults = errors.map((one) => `${one.pointer}: ${one.message}`).join("; ");
    super(faults ? `${body.detail} (${faults})` : body.detail);
    this.name = "Problem";
    this.kind = body.type.slice(body.type.lastIndexOf(":") + 1) as ProblemKind;
    this.title = body.title;
    this.status = body.status;
    this.detail = body.detail;
    this.pointer = body.pointer;
    this.errors = errors;
    this.orderStatus = body.orderStatus;
    this.retryAfter = retryAfter;
  }

  /** True if the same request may succeed later. */
  get isPassing(): boolean {
    return this.kind === "busy" || this.kind === "unavailable";
  }
}

/** The engine did not answer: nobody knows whether the request was done. Repeating it is harmless. */
export class Unreachable extends Error {}

/** A webhook that was not signed with the secret, or not just now. */
export class NotGenuine extends Error {}

/** One installation. */
export class Client {
  readonly server: string;

  /**
   * `patience` are the seconds for which a registration is repeated, and an order followed, while the engine is away or busy.
   * `token` is that of this program, where the API asks for one; it goes to this server alone.
   */
  constructor(server: string, readonly patience = 60, private readonly token?: string) {
    this.server = server.replace(/\/+$/, "");
  }

  /** Registers an order. Repeats by itself while the engine is away or busy: the id makes that harmless. */
  register(order: Order): Promise<Registered> {
    return this.patiently(() => this.ask<Registered>("POST", "/v1/orders", order));
  }

  /** The order with all that is known of it. */
  get(id: string): Promise<Record<string, unknown>> {
    return this.ask("GET", path(id));
  }

  /** Where the order is. */
  status(id: string): Promise<Status> {
    return this.ask("GET", path(id, "status"));
  }

  /** Why the order does not run. */
  async explain(id: string): Promise<string> {
    return (await this.ask<{ explanation: string }>("GET", path(id, "explain"))).explanation;
  }

  /** Follows the order until it has ended, or the time, in seconds, is over; `final` says which. */
  async wait(id: string, timeout = Infinity): Promise<Status> {
    const until = Date.now() + timeout * 1000;
    for (;;) {
      const left = Math.max(0, Math.min(LONG_POLL * 1000, until - Date.now()));
      const begun = Date.now();
      const poll = `${path(id, "wait")}?timeout=${Math.floor(left)}ms`;
      const answer = await this.patiently(() => this.ask<Status>("GET", poll), until);
      if (answer.final || Date.now() >= until) return answer;
      // An engine that stops answers at once.
      await rest(Math.min(200, left) - (Date.now() - begun));
    }
  }

  /** Orders that fulfil all conditions, such as `{scenario: "change-tariff", status: "fail"}`. */
  async *find(conditions: Record<string, string>): AsyncGenerator<Record<string, unknown>, void, undefined> {
    const query = new URLSearchParams(conditions);
    for (;;) {
      const page = await this.ask<{ items: Record<string, unknown>[]; next?: string | null }>("GET", `/v1/orders?${query}`);
      for (const order of page.items) yield order;
      if (!page.next) return;
      query.set("cursor", page.next);
    }
  }

  cancel(id: string, reason: string): Promise<Status> {
    return this.act(id, "cancel", { reason });
  }

  interrupt(id: string, reason: string): Promise<Status> {
    return this.act(id, "interrupt", { reason });
  }

  kill(id: string, reason: string): Promise<Status> {
    return this.act(id, "kill", { reason });
  }

  /** Runs the order again, from its last entry point, from `initial`, or from a state. */
  restart(id: string, reason: string, from?: string): Promise<Status> {
    return this.act(id, "restart", { reason, from });
  }

  /** Does something to an order, with a reason for its history. What the status does not allow is a problem of kind `refused`. */
  act(id: string, action: string, body: { reason: string; [more: string]: unknown }): Promise<Status> {
    // The same key over all repeats: the action is done once.
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    return this.patiently(() => this.ask<Status>("POST", path(id, action), body, headers));
  }

  /** Calls a live order, and waits up to `timeout` seconds for its answer. */
  call(id: string, name: string, body: unknown = null, timeout = 30, key: string = crypto.randomUUID()): Promise<Call> {
    const place = `${path(id, "calls")}?timeout=${Math.floor(timeout * 1000)}ms`;
    return this.patiently(() => this.ask<Call>("POST", place, { name, body, key }, {}, timeout));
  }

  /**
   * Answers a request of an order, by its `${request.url}` or `${request.id}`; the verdict is `accepted`, `duplicate`, `late` or `orphan`.
   */
  async answer(callback: string, body: unknown, stepStatus?: string): Promise<string> {
    const place = /^https?:\/\//.test(callback) ? callback : `/v1/callbacks/${encodeURIComponent(callback)}`;
    const headers: Record<string, string> = stepStatus === undefined ? {} : { "step-status": stepStatus };
    return (await this.patiently(() => this.ask<{ status: string }>("POST", place, body, headers))).status;
  }

  private async patiently<T>(request: () => Promise<T>, until = Infinity): Promise<T> {
    const end = Math.min(until, Date.now() + this.patience * 1000);
    for (let pause = 200; ; pause = Math.min(pause * 2, 5000)) {
      try {
        return await request();
      } catch (failure) {
        const passing = failure instanceof Unreachable || (failure instanceof Problem && failure.isPassing);
        const after = failure instanceof Problem ? failure.retryAfter : undefined;
        // At random, so that those who were turned away together do not come back together.
        const left = after === undefined ? pause * (0.5 + Math.random() / 2) : after * 1000;
        if (!passing || Date.now() + left >= end) throw failure;
        await rest(left);
      }
    }
  }

  private knownBy(url: string): Record<string, string> {
    const isOurs = this.token !== undefined && url.startsWith(`${this.server}/`);
    return isOurs ? { Authorization: `Bearer ${this.token}` } : {};
  }

  private async ask<T>(method: string, place: string, body?: unknown, headers: Record<string, string> = {}, wait = 0): Promise<T> {
    const url = place.startsWith("/") ? this.server + place : place;
    let answer: Response;
    let text: string;
    const patience = new AbortController();
    const end = setTimeout(() => patience.abort(), (QUESTION + wait) * 1000);
    try {
      answer = await fetch(url, {
        method,
        headers: { "Content-Type": "application/json", ...this.knownBy(url), ...headers },
        body: method === "GET" ? undefined : JSON.stringify(body),
        signal: patience.signal,
      });
      text = await answer.text();
    } catch (failure) {
      throw new Unreachable(`${url}: ${failure}`);
    } finally {
      clearTimeout(end);
    }
    const read = parsed(text);
    if (answer.ok && read !== undefined) return read as T;
    const problem = read as ProblemBody | undefined;
    // Without a type something in between has answered, and not the engine.
    if (typeof problem?.type !== "string") throw new Unreachable(`${url}: status ${answer.status}`);
    const after = Number(answer.headers.get("Retry-After") ?? NaN);
    throw new Problem(problem, Number.isFinite(after) ? after : undefined);
  }
}

/**
 * Returns the content of a webhook, if it is genuine; otherwise throws `NotGenuine`.
 *
 * `header` gives a header field by its name in lower case; `body` is as it came, byte for byte. A notification may come twice, under the same
 * `webhook-id`: the receiver must be able to handle that.
 */
export async function notification(
  secret: string,
  header: (name: string) => string | null | undefined,
  body: Uint8Array,
  now: number = Date.now() / 1000,
): Promise<Record<string, unknown>> {
  const id = header("webhook-id") ?? "";
  const seconds = header("webhook-timestamp") ?? "";
  if (!/^\d+$/.test(seconds) || Math.abs(now - Number(seconds)) > TOLERANCE) {
    throw new NotGenuine("the webhook was not sent just now");
  }
  const prefix = "whsec_";
  const raw = secret.startsWith(prefix) ? bytes(secret.slice(prefix.length)) : new TextEncoder().encode(secret);
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const head = new TextEncoder().encode(`${id}.${seconds}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  // There are several while the secret changes.
  for (const one of (header("webhook-signature") ?? "").split(" ")) {
    const given = one.startsWith("v1,") ? bytes(one.slice(3)) : undefined;
    if (given && (await crypto.subtle.verify("HMAC", key, given, signed))) {
      return JSON.parse(new TextDecoder().decode(body));
    }
  }
  throw new NotGenuine("the webhook is not signed with the secret");
}

function path(id: string, part = ""): string {
  return `/v1/orders/${encodeURIComponent(id)}${part && `/${part}`}`;
}

/** The bytes of a text in Base64; none where it is not. */
function bytes(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function rest(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, Math.max(0, milliseconds)));
}
