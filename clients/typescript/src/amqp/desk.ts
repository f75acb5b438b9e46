/**
 * The tasks of one name, as they come, come again, are decided and are given up. Each is at work once, however often it comes meanwhile.
 * Never acknowledges a task before the broker has its decision, unless the engine gave it up.
 */

import type { Delivery } from "./broker.js";
import type { Log } from "./options.js";
import { remember } from "./serving.js";
import { type Decision, type Handler, type Task, type Unstarted, decide, failed, readPass, readTask } from "./task.js";

/** Longest time between two heartbeats, in milliseconds; timers cannot wait for much longer ones. */
const LONGEST_BEAT = 3_600_000;

/** The way to the engine, until it is lost. */
export interface Voice {
  /** Says something under a pass; returns when the broker has it. */
  say(kind: "decision" | "heartbeat", pass: string, json: string, retryAfter?: number): Promise<void>;
  /** Gives this way up, so that another one is opened. */
  lose(reason: Error): void;
}

/** A task at work. */
interface Work {
  readonly task: Task;
  readonly cancel: AbortController;
  /** Its messages; none after the channel that brought them was lost. */
  messages: Delivery[];
  isDecided: boolean;
  isSaying: boolean;
  beats: ReturnType<typeof setInterval> | undefined;
}

/** A task that waits for one that runs on after the channel that brought it was lost. */
interface Waiting {
  readonly task: Unstarted;
  readonly messages: Delivery[];
  /** When it came, in milliseconds since 1970. */
  readonly since: number;
}

export class Desk {
  private readonly works = new Map<string, Work>();
  private readonly waiting = new Map<string, Waiting>();
  /** Decided after their message had gone back to the queue: the next that comes is a double. */
  private readonly decided = new Set<string>();
  /** Functions that run, those of given-up tasks included. */
  private running = 0;
  private isStopping = false;
  private voice: Voice | undefined;
  private whenOpen: (() => void)[] = [];
  private whenIdle: (() => void)[] = [];

  constructor(
    private readonly handler: Handler,
    private readonly prefetch: number,
    private readonly log: Log,
  ) {}

  get isBusy(): boolean {
    return this.works.size > 0;
  }

  /** Resolves when nothing is at work. */
  async idle(): Promise<void> {
    while (this.isBusy) await new Promise<void>((resolve) => this.whenIdle.push(resolve));
  }

  /** Has a way to the engine, over which it says what is due. */
  open(voice: Voice): void {
    this.voice = voice;
    this.whenOpen.splice(0).forEach((go) => go());
    for (const work of this.works.values()) this.beat(work);
  }

  /** Has no way to the engine: the messages come again. */
  leave(): void {
    this.voice = undefined;
    this.waiting.clear();
    for (const work of this.works.values()) work.messages = [];
  }

  /** Takes a message from the queue of tasks. */
  take(message: Delivery): void {
    let task: Unstarted;
    try {
      task = readTask(message.content);
    } catch (failure) {
      this.log.error("dropped what is no task", failure);
      message.drop();
      return;
    }
    const known = this.works.get(task.pass) ?? this.waiting.get(task.pass);
    if (this.decided.delete(task.pass)) {
      message.ack();
    } else if (known !== undefined) {
      // It runs, and comes again: after a lost connection, or handed out again.
      known.messages.push(message);
    } else if (this.isStopping) {
      message.requeue();
    } else if (this.running < this.prefetch) {
      this.start(task, [message]);
    } else {
      this.waiting.set(task.pass, { task, messages: [message], since: Date.now() });
    }
  }

  /** The engine gives a task up: its result is not sent. If the task has come again already, it starts again. */
  giveUp(content: Uint8Array): void {
    let pass: string;
    try {
      pass = readPass(content);
    } catch (failure) {
      this.log.error("dropped what gives no task up", failure);
      return;
    }
    const work = this.works.get(pass);
    if (work === undefined) return;
    this.log.info(`task ${work.task.task} of order ${work.task.order} is given up`);
    const again = work.messages.length > 1 ? work.messages.pop() : undefined;
    this.forget(work);
    work.cancel.abort(new Error("the engine gave the task up"));
    // Else its messages stay unacknowledged until its function returns, so that no more than `prefetch` run.
    if (work.isDecided) acknowledge(work);
    if (again !== undefined) this.start(readTask(again.content), [again]);
  }

  /** Starts nothing more, and gives what has not started back to the queue. */
  stop(): void {
    this.isStopping = true;
    for (const { messages } of this.waiting.values()) messages.forEach((message) => message.requeue());
    this.waiting.clear();
  }

  private start(unstarted: Unstarted, messages: Delivery[]): void {
    const cancel = new AbortController();
    const task = { ...unstarted, canceled: cancel.signal };
    const work: Work = { task, cancel, messages, isDecided: false, isSaying: false, beats: undefined };
    this.works.set(task.pass, work);
    const third = Math.min(Math.max((task.workTimeout * 1000) / 3, 1), LONGEST_BEAT);
    work.beats = setInterval(() => this.beat(work), third);
    void this.perform(work);
  }

  private async perform(work: Work): Promise<void> {
    this.running += 1;
    const decision = await decide(this.handler, work.task, this.log);
    this.running -= 1;
    work.isDecided = true;
    if (this.isAtWork(work)) await this.report(work, decision);
    // The messages of a task that was given up.
    acknowledge(work);
    this.startWaiting();
  }

  /** Returns when the broker has the decision, or the task was given up. */
  private async report(work: Work, decision: Decision): Promise<void> {
    let said = decision;
    while (this.isAtWork(work)) {
      const { voice } = this;
      if (voice === undefined) {
        await new Promise<void>((resolve) => this.whenOpen.push(resolve));
        continue;
      }
      try {
        await voice.say("decision", work.task.pass, said.json, said.retryAfter);
        break;
      } catch (failure) {
        if (this.voice === voice) this.voice = undefined;
        voice.lose(failure instanceof Error ? failure : new Error(String(failure)));
        // It would be refused for ever.
        if (isTooLarge(said, failure)) said = failed("actor.too_large", `the broker refused the decision: ${failure}`, null);
      }
    }
    if (!this.isAtWork(work)) return;
    if (!acknowledge(work)) remember(this.decided, work.task.pass);
    this.forget(work);
  }

  private beat(work: Work): void {
    const { voice } = this;
    if (voice === undefined || work.isDecided || work.isSaying) return;
    work.isSaying = true;
    voice
      .say("heartbeat", work.task.pass, "{}")
      .catch((failure) => {
        if (this.voice === voice) this.voice = undefined;
        voice.lose(failure);
      })
      .finally(() => (work.isSaying = false));
  }

  private startWaiting(): void {
    for (const [pass, { task, messages, since }] of this.waiting) {
      if (this.running >= this.prefetch) return;
      this.waiting.delete(pass);
      // Without a heartbeat for so long, it was handed out again.
      const isOver = Date.now() - since >= task.workTimeout * 1000;
      if (isOver) messages.forEach((message) => message.ack());
      else this.start(task, messages);
    }
  }

  private isAtWork(work: Work): boolean {
    return this.works.get(work.task.pass) === work;
  }

  private forget(work: Work): void {
    clearInterval(work.beats);
    this.works.delete(work.task.pass);
    if (!this.isBusy) this.whenIdle.splice(0).forEach((go) => go());
  }
}

/** Acknowledges a task. Returns false if it comes again all the same. */
function acknowledge(work: Work): boolean {
  const sent = work.messages.splice(0).map((message) => message.ack());
  return sent.length > 0 && !sent.includes(false);
}

/** True if the broker closed the channel because of the size of this decision. */
function isTooLarge(decision: Decision, failure: unknown): boolean {
  const refused = failure instanceof Error ? /message size (\d+)/.exec(failure.message) : null;
  return refused !== null && Number(refused[1]) === new TextEncoder().encode(decision.json).length;
}
