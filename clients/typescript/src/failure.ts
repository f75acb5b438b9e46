/** Everything that comes in place of the answer that was asked for. */

import type { Detail, ProblemBody } from "./model.js";

/** Anything that is not the answer that was asked for. */
export abstract class Failure extends Error {
  /** True if the same request may succeed later. */
  abstract readonly isPassing: boolean;
  /** Seconds after which it may, where that is known. */
  readonly retryAfter: number | undefined;

  constructor(message: string, retryAfter?: number) {
    super(message);
    this.name = new.target.name;
    this.retryAfter = retryAfter;
  }
}

/** The engine did not answer: nobody knows whether the request was done. Repeating it is harmless. */
export class Unreachable extends Failure {
  readonly isPassing = true;
}

/** Something else has answered than the engine: a proxy, a balancer, or another program at this address. */
export class Foreign extends Failure {
  readonly isPassing: boolean;

  constructor(readonly status: number, retryAfter?: number) {
    super(`the answer has the status ${status}, and is none of the engine`, retryAfter);
    this.isPassing = status === 429 || status >= 500;
  }
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
  | "unauthenticated"
  | "forbidden"
  | "busy"
  | "unavailable"
  | "internal";

/** The engine refused the request. The classes below are its kinds. */
export class Problem extends Failure {
  readonly kind: ProblemKind;
  readonly isPassing: boolean;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The first field at fault. */
  readonly pointer: string | undefined;
  /** All that is wrong. */
  readonly errors: readonly Detail[];
  /** The status of the order, where that is the reason. */
  readonly orderStatus: string | undefined;

  constructor(body: ProblemBody, retryAfter?: number) {
    const errors = body.errors ?? [];
    const faults = errors.map((one) => `${one.pointer}: ${one.message}`).join("; ");
    super(faults ? `${body.detail} (${faults})` : body.detail, retryAfter);
    this.kind = kindOf(body) as ProblemKind;
    this.isPassing = this.kind === "busy" || this.kind === "unavailable";
    this.title = body.title;
    this.status = body.status;
    this.detail = body.detail;
    this.pointer = body.pointer ?? undefined;
    this.errors = errors;
    this.orderStatus = body.orderStatus ?? undefined;
  }
}

export class Malformed extends Problem {}

export class Invalid extends Problem {}

export class UnknownScenario extends Problem {}

/** Another order has the ID: the one that was sent before has another content. */
export class Conflict extends Problem {}

/** The status of the order does not allow the action. */
export class Refused extends Problem {}

export class NotFound extends Problem {}

export class TooLarge extends Problem {}

/** The API requires a token, and this one is missing, wrong or no longer valid. */
export class Unauthenticated extends Problem {}

/** The role of the token does not allow this. */
export class Forbidden extends Problem {}

/** Too much at once: try again later. */
export class Busy extends Problem {}

/** The database is away: try again later. */
export class Unavailable extends Problem {}

/** The engine failed; its log says why. */
export class Internal extends Problem {}

const KINDS: Record<ProblemKind, typeof Problem> = {
  malformed: Malformed,
  invalid: Invalid,
  "unknown-scenario": UnknownScenario,
  conflict: Conflict,
  refused: Refused,
  "not-found": NotFound,
  "too-large": TooLarge,
  unauthenticated: Unauthenticated,
  forbidden: Forbidden,
  busy: Busy,
  unavailable: Unavailable,
  internal: Internal,
};

/** Returns the problem of this body, as the class of its kind. */
export function problem(body: ProblemBody, retryAfter?: number): Problem {
  const kind = kindOf(body);
  const kinds: Record<string, typeof Problem> = KINDS;
  return new (Object.hasOwn(kinds, kind) ? kinds[kind]! : Problem)(body, retryAfter);
}

function kindOf(body: ProblemBody): string {
  return body.type.slice(body.type.lastIndexOf(":") + 1);
}
