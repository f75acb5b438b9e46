/**
 * Requests to the API, and their repeats: while the engine is away or busy, at random pauses that grow, and no sooner than it asks. Never
 * repeats what would be done twice: every request has a key, or an id that is one.
 */

import { Failure, Foreign, Unreachable, problem } from "./failure.js";
import type { Order, ProblemBody } from "./model.js";

/** Longest time for an answer in milliseconds, besides the wait that a request asks for. */
const ANSWER_TIMEOUT = 60_000;
/** Bound of the first pause between two tries in milliseconds, which doubles with each, and of the longest. */
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 5_000;

/** A request to the API; `place` is a path, or the whole address of a callback. */
export interface Request {
  method: "GET" | "POST" | "PATCH";
  place: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Milliseconds that the answer may take longer. */
  wait?: number;
}

/** What is left of the time for repeats. */
export class Patience {
  private bound = FIRST_PAUSE;
  private readonly until: number;

  /** `longest` are milliseconds, `until` is a moment. */
  constructor(longest: number, until = Infinity) {
    this.until = Math.min(until, Date.now() + longest);
  }

  /** Rests before the next try. Throws the failure if it does not pass, or the time would be over then. */
  async rest(failure: unknown): Promise<void> {
    if (!(failure instanceof Failure) || !failure.isPassing) throw failure;
    // At random, so that those who were turned away together do not come back together.
    const pause = (failure.retryAfter ?? 0) * 1000 + Math.random() * this.bound;
    this.bound = Math.min(this.bound * 2, LONGEST_PAUSE);
    if (Date.now() + pause >= this.until) throw failure;
    await rest(pause);
  }
}

/** The way to one installation. */
export class Transport {
  constructor(
    readonly server: string,
    readonly patience: number,
    private readonly token: string | undefined,
  ) {}

  /** Asks until the engine answers, for as long as it is away or busy and the time is not over. */
  async ask<T>(request: Request, until = Infinity): Promise<T> {
    const patience = new Patience(this.patience, until);
    for (;;) {
      try {
        return await this.askOnce<T>(request);
      } catch (failure) {
        await patience.rest(failure);
      }
    }
  }

  private async askOnce<T>(request: Request): Promise<T> {
    const url = request.place.startsWith("/") ? this.server + request.place : request.place;
    const headers: Record<string, string> = { ...request.headers };
    if (request.method !== "GET") headers["Content-Type"] = "application/json";
    if (this.token !== undefined && url.startsWith(`${this.server}/`)) headers["Authorization"] = `Bearer ${this.token}`;
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(url, {
        method: request.method,
        headers,
        redirect: "manual",
        signal: AbortSignal.timeout(ANSWER_TIMEOUT + (request.wait ?? 0)),
        ...(request.method === "GET" ? {} : { body: JSON.stringify(request.body ?? null) }),
      });
      text = await answer.text();
    } catch (failure) {
      throw new Unreachable(`${request.method} ${url}: ${failure}`);
    }
    const body = parsed(text);
    if (answer.ok && body !== undefined) return body as T;
    const after = seconds(answer.headers.get("Retry-After") ?? "");
    const isProblem = typeof body === "object" && body !== null && "type" in body;
    throw isProblem ? problem(body as ProblemBody, after) : new Foreign(answer.status, after);
  }
}

/** The seconds of `Retry-After`, which may be a date. */
function seconds(retryAfter: string): number | undefined {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function rest(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, Math.max(0, milliseconds)));
}

/** Returns a copy of an order with an ID, which is its own over all repeats. */
export function withId(order: Order): Order & { id: string } {
  return { ...order, id: order.id ?? crypto.randomUUID() };
}
