/**
 * Actors: programs that work for orders. An actor takes tasks, runs a function for each, and sends the result to the engine. Needs
 * `amqplib`.
 *
 * A task may come twice, after a lost connection or a work time-out: `task.task` stays the same, so that a function can drop doubles by it.
 */

import { Broker, type Channel } from "./broker.js";
import { Desk } from "./desk.js";
import { type BrokerOptions, DEFAULT_LOG, type Log, checkPrefetch } from "./options.js";
import { type Server, serve } from "./serving.js";
import type { Handler } from "./task.js";

export type { BrokerOptions, Log } from "./options.js";
export { Fail, type FailOptions, type Handler, type Task } from "./task.js";

export interface ActorOptions extends BrokerOptions {
  /** Tasks of each name that are at work at once; 1 if left out. */
  prefetch?: number;
  /** Receives what happens; if left out, warnings and errors go to the console. */
  log?: Log;
}

/** A program that takes the tasks of one name or several. */
export class Actor {
  private readonly broker: Broker;
  private readonly prefetch: number;
  private readonly log: Log;
  private readonly handlers = new Map<string, Handler>();
  private readonly stopping = new AbortController();

  constructor(options: ActorOptions = {}) {
    const { prefetch = 1, log = DEFAULT_LOG } = options;
    checkPrefetch(prefetch);
    this.broker = new Broker(options);
    this.prefetch = prefetch;
    this.log = log;
  }

  /** Names the function that works on the tasks of this name. It returns the result, any JSON value, or throws `Fail`. */
  task<Body = any>(name: string, handler: Handler<Body>): this {
    if (this.handlers.has(name)) throw new Error(`the tasks \`${name}\` have a function already`);
    this.handlers.set(name, handler);
    return this;
  }

  /** Serves until SIGTERM or SIGINT; then takes nothing new, finishes what runs, and returns. */
  async run(): Promise<void> {
    const stop = () => this.stop();
    const signals = ["SIGTERM", "SIGINT"] as const;
    signals.forEach((signal) => process.on(signal, stop));
    try {
      await this.serve();
    } finally {
      signals.forEach((signal) => process.off(signal, stop));
    }
  }

  /** Serves until `stop` is called; then takes nothing new, finishes what runs, and returns. */
  async serve(): Promise<void> {
    if (this.handlers.size === 0) throw new Error("no function is named for any tasks");
    const { broker, prefetch, log } = this;
    const servers = [...this.handlers].map(([name, handler]) => new Tasks(name, broker.prefix, prefetch, new Desk(handler, prefetch, log), log));
    try {
      await Promise.all(servers.map((server) => serve(server, broker, log, this.stopping.signal)));
    } finally {
      await broker.close();
    }
  }

  /** Lets `serve` return when what runs has ended. */
  stop(): void {
    this.stopping.abort();
  }
}

/** The queue of the tasks of one name, and the channels over which they come, are given up and are decided. */
class Tasks implements Server {
  readonly queue: string;
  private cancels: Channel | undefined;

  constructor(
    private readonly name: string,
    private readonly prefix: string,
    private readonly prefetch: number,
    private readonly desk: Desk,
    private readonly log: Log,
  ) {
    this.queue = `${prefix}.actors.${name}`;
  }

  get isBusy(): boolean {
    return this.desk.isBusy;
  }

  async open(broker: Broker, channel: Channel, isStopping: boolean): Promise<(() => Promise<void>) | undefined> {
    await channel.check(this.queue);
    await this.listen(broker, channel);
    const callbacks = `${this.prefix}.callbacks`;
    this.desk.open({
      say: (kind, pass, json, retryAfter) => {
        const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
        return channel.publish(callbacks, `actor.${kind}`, json, { type: kind, correlationId: pass, headers });
      },
      lose: (reason) => channel.lose(reason),
    });
    if (isStopping) return undefined;
    const cease = await channel.consume(this.queue, this.prefetch, (message) => this.desk.take(message));
    return () => {
      this.desk.stop();
      return cease();
    };
  }

  async leave(): Promise<void> {
    this.desk.leave();
    const { cancels } = this;
    this.cancels = undefined;
    await cancels?.close();
  }

  idle(): Promise<void> {
    return this.desk.idle();
  }

  /** Hears of tasks that the engine gives up, over a channel of its own. */
  private async listen(broker: Broker, channel: Channel): Promise<void> {
    const cancels = await broker.channel();
    try {
      await cancels.eavesdrop(`${this.prefix}.actors`, `cancel:${this.name}`, (message) => this.desk.giveUp(message.content));
      this.cancels = cancels;
      void cancels.lost.then((reason) => channel.lose(reason));
    } catch (failure) {
      // A user of the broker who may not do that works as before: what is given up comes as a double.
      this.log.warn(`hears of no task that is given up: ${failure instanceof Error ? failure.message : failure}`);
      await cancels.close();
    }
  }
}
