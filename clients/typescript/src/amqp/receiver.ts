/** Notifications over AMQP: takes each from a queue, and acknowledges it when the program has it. */

import type { ConsumeMessage } from "amqplib";

import type { EndNotice, MoveNotice } from "../model.js";
import { Broker, type BrokerOptions, type Channel, type Delivery } from "./broker.js";
import { DEFAULT_LOG, type Log, type Server, checkPrefetch, remember, restUnless, serve } from "./serving.js";

/** Milliseconds before a function that failed gets its notification again: the first pause, and the longest after doubling. */
const PAUSES = { first: 500, longest: 60_000 };

/** A notification as it comes: perhaps more than once, always under the same `id`. */
export interface Notification<Content = EndNotice | MoveNotice> {
  /** The same for every copy, so that a receiver can drop doubles. */
  readonly id: string | undefined;
  /** `order.final`, `order.transition`, `order.parked` or `order.jeopardy`. */
  readonly type: string | undefined;
  readonly correlationId: string | undefined;
  /** Grows with each message of the order that reports a transition. */
  readonly sequence: number | undefined;
  /** The trace context of the order. */
  readonly traceparent: string | undefined;
  /** The body: with `format: cloudevents`, the event. */
  readonly content: Content;
}

export interface ReceiverOptions extends BrokerOptions {
  /** The queue. If it is not there and a `key` is given, a durable one is made. */
  queue: string;
  /** The key of `amqp://?key=KEY` in `notify`: the queue gets what is sent to it. If left out, the queue is used as it is. */
  key?: string;
  /** Notifications that are handled at once; 1 if left out. */
  prefetch?: number;
  /** Receives what happens; if left out, warnings and errors go to the console. */
  log?: Log;
}

/** A receiver of notifications, from one queue. */
export class AmqpReceiver {
  private readonly broker: Broker;
  private readonly stopping = new AbortController();
  private readonly log: Log;

  constructor(private readonly options: ReceiverOptions) {
    checkPrefetch(options.prefetch);
    this.broker = new Broker(options);
    this.log = options.log ?? DEFAULT_LOG;
  }

  /**
   * Calls the function for each notification until `stop` is called; then takes nothing new, finishes what runs, and returns. Acknowledges a
   * notification when the function has returned. One that throws gets its notification again, after a pause that grows.
   */
  async serve(handler: (notification: Notification) => unknown): Promise<void> {
    const inbox = new Inbox(this.options, handler, this.log, this.stopping.signal);
    try {
      await serve(inbox, this.broker, this.log, this.stopping.signal);
    } finally {
      await this.broker.close();
    }
  }

  /** Lets `serve` return when what runs has ended. */
  stop(): void {
    this.stopping.abort();
  }
}

/** The notifications of a queue, as they come, come again and are handled. Each is at work once, however often it comes meanwhile. */
export class Inbox implements Server {
  readonly queue: string;
  private readonly works = new Map<string, Work>();
  private readonly waiting: Work[] = [];
  /** Handled after their message had gone back to the queue: the next that comes is a double. */
  private readonly handled = new Set<string>();
  private whenIdle: (() => void)[] = [];

  constructor(
    private readonly options: ReceiverOptions,
    private readonly handler: (notification: Notification) => unknown,
    private readonly log: Log,
    private readonly stop: AbortSignal,
  ) {
    this.queue = options.queue;
  }

  get isBusy(): boolean {
    return this.works.size > 0;
  }

  async open(broker: Broker, channel: Channel, isStopping: boolean): Promise<(() => Promise<void>) | undefined> {
    const { queue, key } = this.options;
    if (key !== undefined) {
      await this.declare(broker);
      await channel.bind(queue, `${broker.prefix}.notifications`, key);
    }
    if (isStopping) return undefined;
    return channel.consume(queue, this.prefetch, (delivery, message) => this.take(delivery, message.properties));
  }

  async leave(): Promise<void> {
    this.waiting.length = 0;
    for (const work of this.works.values()) work.messages = [];
  }

  async idle(): Promise<void> {
    while (this.isBusy) await new Promise<void>((resolve) => this.whenIdle.push(resolve));
  }

  /** Takes a message from the queue. */
  take(delivery: Delivery, properties: ConsumeMessage["properties"]): void {
    let notification: Notification;
    try {
      notification = read(delivery.content, properties);
    } catch (failure) {
      this.log.error("dropped what is no notification", failure);
      delivery.drop();
      return;
    }
    const key = notification.id ?? crypto.randomUUID();
    const known = this.works.get(key) ?? this.waiting.find((one) => one.key === key);
    if (this.handled.delete(key)) delivery.ack();
    else if (known !== undefined) known.messages.push(delivery);
    else if (this.stop.aborted) delivery.requeue();
    else {
      this.waiting.push({ key, notification, messages: [delivery] });
      this.startWaiting();
    }
  }

  private get prefetch(): number {
    return this.options.prefetch ?? 1;
  }

  /** Makes the queue if it is not there, over a channel of its own: a question for a queue that is missing closes the channel. */
  private async declare(broker: Broker): Promise<void> {
    const question = await broker.channel();
    const isThere = await question.check(this.queue).then(() => true, () => false);
    await question.close();
    if (isThere) return;
    const channel = await broker.channel();
    await channel.declare(this.queue).finally(() => channel.close());
  }

  private startWaiting(): void {
    while (this.works.size < this.prefetch) {
      const work = this.waiting.shift();
      if (work === undefined) return;
      if (this.stop.aborted) {
        work.messages.forEach((message) => message.requeue());
      } else {
        this.works.set(work.key, work);
        void this.perform(work);
      }
    }
  }

  private async perform(work: Work): Promise<void> {
    if (await this.handle(work)) {
      const isAcknowledged = work.messages.length > 0 && !work.messages.map((message) => message.ack()).includes(false);
      if (!isAcknowledged) remember(this.handled, work.key);
    }
    this.works.delete(work.key);
    if (!this.isBusy) this.whenIdle.splice(0).forEach((go) => go());
    this.startWaiting();
  }

  /** Calls the function until it returns. Returns false if the notification is left to come again. */
  private async handle(work: Work): Promise<boolean> {
    for (let pause = PAUSES.first; ; pause = Math.min(pause * 2, PAUSES.longest)) {
      try {
        await this.handler(work.notification);
        return true;
      } catch (failure) {
        this.log.error(`notification ${work.key}: the function failed; it gets it again`, failure);
      }
      await restUnless(this.stop, pause * (0.5 + Math.random() / 2));
      if (this.stop.aborted || work.messages.length === 0) return false;
    }
  }
}

/** A notification at work, with its messages: none after the channel that brought them was lost. */
interface Work {
  readonly key: string;
  readonly notification: Notification;
  messages: Delivery[];
}

function read(content: Uint8Array, properties: ConsumeMessage["properties"]): Notification {
  const { messageId, type, correlationId, headers = {} } = properties;
  const body: unknown = JSON.parse(new TextDecoder().decode(content));
  if (typeof body !== "object" || body === null) throw new TypeError("it is no object");
  const sequence: unknown = headers["sequence"];
  return {
    id: messageId,
    type,
    correlationId,
    sequence: typeof sequence === "number" ? sequence : undefined,
    traceparent: headers["traceparent"],
    content: body as EndNotice | MoveNotice,
  };
}
