/** Tasks, and the decisions on them, as the engine hands them out and reads them. */

import type { TaskBody } from "../model.js";
import type { Log } from "./options.js";

/** A task as the engine hands it out. */
export interface Task<Body = any> {
  /** The same over all hand-outs. */
  readonly task: string;
  /** The token of this hand-out. */
  readonly pass: string;
  readonly actor: string;
  readonly order: string;
  readonly transactionId: string | null;
  /** Number of the hand-out, from 1. */
  readonly handOut: number;
  /** Seconds that a hand-out lasts without a decision or a heartbeat. */
  readonly workTimeout: number;
  readonly body: Body;
  /** Aborted when the engine gives the task up: nothing that the function returns is sent. Pass it on to `fetch`, or listen to it. */
  readonly canceled: AbortSignal;
}

/** Works on a task: returns the result, any JSON value, or throws `Fail`. */
export type Handler<Body = any> = (task: Task<Body>) => unknown;

export interface FailOptions {
  result?: unknown;
  /** Seconds for which the actor wants no tasks. */
  retryAfter?: number;
}

/** Thrown by a function to decide `fail` with a class that retry policies and the scenario see. */
export class Fail extends Error {
  override readonly name = "Fail";
  readonly result: unknown;
  readonly retryAfter: number | undefined;

  constructor(
    readonly errorClass: string,
    message: string,
    { result, retryAfter }: FailOptions = {},
  ) {
    super(message);
    this.result = result;
    this.retryAfter = retryAfter;
  }
}

/** A decision as it is sent. */
export interface Decision {
  readonly json: string;
  readonly retryAfter: number | undefined;
}

/** A task that has not started. */
export type Unstarted = Omit<Task, "canceled">;

/** The task of a message. Throws if it is none. */
export function readTask(content: Uint8Array): Unstarted {
  const { task, pass, actor, order, transactionId = null, handOut, workTimeoutMs, body } = read(content) as TaskBody;
  const isTask = [task, pass, actor, order].every((one) => typeof one === "string");
  if (!isTask || typeof handOut !== "number" || typeof workTimeoutMs !== "number") throw new TypeError("fields of a task are missing");
  return { task, pass, actor, order, transactionId, handOut, workTimeout: workTimeoutMs / 1000, body };
}

/** The pass of the task that a message gives up. Throws if there is none. */
export function readPass(content: Uint8Array): string {
  const { pass } = read(content);
  if (typeof pass !== "string") throw new TypeError("the pass is missing");
  return pass;
}

function read(content: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(new TextDecoder().decode(content));
  if (typeof value !== "object" || value === null) throw new TypeError("it is no object");
  return value as Record<string, unknown>;
}

/** Runs the function, and decides by what it returns or throws. */
export async function decide(handler: Handler, task: Task, log: Log): Promise<Decision> {
  try {
    const result = JSON.stringify(await handler(task)) ?? "null";
    return { json: `{"decision":"success","result":${result}}`, retryAfter: undefined };
  } catch (failure) {
    if (!(failure instanceof Fail) && !task.canceled.aborted) log.error(`task ${task.task} of order ${task.order}: the function failed`, failure);
    return decisionOn(failure);
  }
}

function decisionOn(failure: unknown): Decision {
  const message = failure instanceof Error ? failure.message : String(failure);
  if (!(failure instanceof Fail)) return failed(`actor.${failure instanceof Error ? failure.name : "Error"}`, message, null);
  try {
    return failed(failure.errorClass, message, failure.result, failure.retryAfter);
  } catch {
    // The result is none that JSON knows.
    return failed(failure.errorClass, message, String(failure.result), failure.retryAfter);
  }
}

/** The decision `fail` with this class. */
export function failed(errorClass: string, message: string, result: unknown, retryAfter?: number): Decision {
  const decision = { decision: "fail", result: result ?? null, error: { class: errorClass, message } };
  return { json: JSON.stringify(decision), retryAfter: retryAfter === undefined ? undefined : Math.ceil(retryAfter) };
}
