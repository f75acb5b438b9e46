/** The client of the API: each method is one request, or several that belong together. */

import { Unreachable } from "./failure.js";
import type { Answered, Changes, Conditions, Found, Order, OrderView, Registered, Status } from "./model.js";
import { Patience, type Request, Transport, rest, withId } from "./transport.js";

/** Longest wait that one request asks for, in milliseconds. */
const LONG_POLL = 30_000;
/** Shortest time between two requests that wait, in milliseconds: an engine that stops answers at once. */
const LEAST_POLL = 200;
/** Most orders of one request. */
const BATCH = 500;

export interface ClientOptions {
  /** Seconds for which a request is repeated while the engine is away or busy; 60 if left out. */
  patience?: number;
  /** Token of this program, where the API asks for one; it goes to this server alone. */
  token?: string;
}

export interface RegisterOptions {
  /** True to only check the order: one that would be registered is answered with `would_be_accepted`. */
  dryRun?: boolean;
  /** W3C trace context in which the order runs. */
  traceparent?: string;
}

/** Client of one installation. */
export class Client {
  private readonly transport: Transport;

  constructor(server: string, options: ClientOptions = {}) {
    const { patience = 60, token } = options;
    this.transport = new Transport(server.replace(/\/+$/, ""), patience * 1000, token);
  }

  /** Registers an order, or only checks it. Repeats by itself while the engine is away or busy: the id makes that harmless. */
  register(order: Order, { dryRun = false, traceparent }: RegisterOptions = {}): Promise<Registered> {
    const place = dryRun ? "/v1/orders?dryRun=true" : "/v1/orders";
    const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
    return this.transport.ask({ method: "POST", place, body: withId(order), headers });
  }

  /**
   * Registers many orders, and returns the outcome of each in their order. What is wrong with one of them is the `error` of its outcome.
   * Repeats those of which the engine does not know whether they were registered.
   */
  async registerMany(orders: readonly Order[]): Promise<Registered[]> {
    const outcomes: Registered[] = [];
    for (let first = 0; first < orders.length; first += BATCH) {
      outcomes.push(...(await this.registerPart(orders.slice(first, first + BATCH).map(withId))));
    }
    return outcomes;
  }

  private async registerPart(part: readonly Order[]): Promise<Registered[]> {
    const patience = new Patience(this.transport.patience);
    const outcomes = new Map<Order, Registered>();
    let left = part;
    for (;;) {
      const answer = await this.transport.ask<Registered[]>({ method: "POST", place: "/v1/orders/batch", body: left });
      if (answer.length !== left.length) throw new Unreachable(`${answer.length} outcomes for ${left.length} orders`);
      left.forEach((order, index) => outcomes.set(order, answer[index]!));
      left = left.filter((order) => outcomes.get(order)!.status === "unavailable");
      const isOver = left.length === 0 || (await over(patience));
      if (isOver) return part.map((order) => outcomes.get(order)!);
    }
  }

  /** Returns the order with everything that is known about it. */
  get(id: string): Promise<OrderView> {
    return this.transport.ask({ method: "GET", place: path(id) });
  }

  /** Returns the status of the order. */
  status(id: string): Promise<Status> {
    return this.transport.ask({ method: "GET", place: path(id, "status") });
  }

  /** Explains why the order does not run. */
  async explain(id: string): Promise<string> {
    const request: Request = { method: "GET", place: path(id, "explain") };
    return (await this.transport.ask<{ explanation: string }>(request)).explanation;
  }

  /** Follows the order until it has ended, or the time, in seconds, is over; `final` says which. */
  async wait(id: string, timeout = Infinity): Promise<Status> {
    const until = Date.now() + timeout * 1000;
    for (;;) {
      const left = Math.max(0, Math.min(LONG_POLL, until - Date.now()));
      const begun = Date.now();
      const place = `${path(id, "wait")}?timeout=${Math.floor(left)}ms`;
      const status = await this.transport.ask<Status>({ method: "GET", place }, until);
      if (status.final || Date.now() >= until) return status;
      await rest(Math.min(LEAST_POLL, left) - (Date.now() - begun));
    }
  }

  /**
   * Finds the orders that fulfil all conditions, such as `{ scenario: "change-tariff", status: ["fail", "retry"], "labels.region": "north" }`.
   * Fetches each page when it is needed; `limit` is its length.
   */
  async *find(conditions: Conditions): AsyncGenerator<Found, void, undefined> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(conditions)) if (value !== undefined) query.set(name, String(value));
    for (;;) {
      const place = `/v1/orders?${query}`;
      const page = await this.transport.ask<{ items: Found[]; next?: string | null }>({ method: "GET", place });
      yield* page.items;
      if (page.next == null) return;
      query.set("cursor", page.next);
    }
  }

  /** Ends an order that has not begun, rests, or failed. What the status does not allow is a problem of the kind `refused`. */
  cancel(id: string, reason: string): Promise<Status> {
    return this.act(id, "cancel", reason);
  }

  /** Ends an order that has not begun, for somebody to decide later. */
  interrupt(id: string, reason: string): Promise<Status> {
    return this.act(id, "interrupt", reason);
  }

  /** Ends an order where it stands. */
  kill(id: string, reason: string): Promise<Status> {
    return this.act(id, "kill", reason);
  }

  /** Runs an order again, from its last entry point, from `initial`, or from a state. */
  restart(id: string, reason: string, from?: string): Promise<Status> {
    return this.act(id, "restart", reason, from === undefined ? {} : { from });
  }

  /** Lets an order that is stuck go on: `{ failedAction: true }`, or a `state` with perhaps `action` and `vars`. */
  repair(id: string, reason: string, more: Record<string, unknown>): Promise<Status> {
    return this.act(id, "repair", reason, more);
  }

  /** Does something to an order, with a reason for its history, and further fields of the action. */
  act(id: string, action: string, reason: string, more: Record<string, unknown> = {}): Promise<Status> {
    return this.transport.ask(once("POST", path(id, action), { reason, ...more }));
  }

  /** Changes an order that has not gone on yet: `params`, `priority`, `notify`, or `lifecycle`. Returns the order. */
  update(id: string, reason: string, changes: Changes): Promise<OrderView> {
    return this.transport.ask(once("PATCH", path(id), { reason, ...changes }));
  }

  /** Registers a new order like this one, with the given fields laid over it. */
  clone(id: string, fields: Record<string, unknown>): Promise<Registered> {
    return this.transport.ask(once("POST", path(id, "clone"), fields));
  }

  /** Calls a live order, and waits up to `timeout` seconds for its answer. */
  call(id: string, name: string, body: unknown = null, timeout = 30, key: string = crypto.randomUUID()): Promise<Answered> {
    const wait = timeout * 1000;
    const place = `${path(id, "calls")}?timeout=${Math.floor(wait)}ms`;
    return this.transport.ask({ method: "POST", place, body: { name, body, key }, wait });
  }

  /**
   * Answers a request of an order, by its `${request.url}` or `${request.id}`; the verdict is `accepted`, `duplicate`, `late` or `orphan`.
   */
  async answer(callback: string, body: unknown, stepStatus?: string): Promise<string> {
    const place = /^https?:\/\//.test(callback) ? callback : `/v1/callbacks/${encodeURIComponent(callback)}`;
    const headers: Record<string, string> = stepStatus === undefined ? {} : { "step-status": stepStatus };
    return (await this.transport.ask<{ status: string }>({ method: "POST", place, body, headers })).status;
  }
}

/** A request under a key of its own, the same over all repeats: it is done once. */
function once(method: "POST" | "PATCH", place: string, body: unknown): Request {
  return { method, place, body, headers: { "Idempotency-Key": crypto.randomUUID() } };
}

/** Rests before the next try; true if the time for that is over. */
async function over(patience: Patience): Promise<boolean> {
  try {
    await patience.rest(new Unreachable("whether it was registered is not known"));
    return false;
  } catch {
    return true;
  }
}

function path(id: string, part = ""): string {
  return `/v1/orders/${encodeURIComponent(id)}${part && `/${part}`}`;
}
