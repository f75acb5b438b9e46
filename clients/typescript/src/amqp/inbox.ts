/** The notifications of one queue, from their message to their end. */

import type { ConsumeMessage } from "amqplib";

import type { Broker, Channel, Delivery } from "./broker.js";
import { type Arrival, arrivals } from "./notices.js";
import type { Log } from "./options.js";
import type { Notification, ReceiverOptions } from "./receiver.js";
import { type Server, remember, restUnless } from "./serving.js";

/** Milliseconds before a function that failed gets its notification again: the first pause, and the longest after doubling. */
const PAUSES = { first: 500, longest: 60_000 };

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
    let all: Arrival[];
    try {
      all = arrivals(delivery, properties);
    } catch (failure) {
      this.log.error("dropped what is no notification", failure);
      delivery.drop();
      return;
    }
    all.forEach((one) => this.takeOne(one));
  }

  private takeOne({ notification, delivery }: Arrival): void {
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
