/** The connection to the broker, and its channels with publisher confirms. Knows when one of them is lost, and opens the next on demand. */

import { type ChannelModel, type ConfirmChannel, type ConsumeMessage, type Options, connect } from "amqplib";

import type { BrokerOptions } from "./options.js";

const DEFAULT_URL = "amqp://guest:guest@localhost:5672/%2f";
/** Longest time for a new connection, in milliseconds. */
const CONNECT_TIMEOUT = 15_000;
/** Seconds between heartbeats of a connection, unless its URL says otherwise: a dead one is noticed after two. */
const HEARTBEAT = 20;
/** Longest time for the answer of the broker to the end of a connection or channel, in milliseconds. */
const CLOSE_TIMEOUT = 5_000;

/** One connection, which is opened when it is first needed, and again after it was lost. */
export class Broker {
  readonly prefix: string;
  private readonly url: string;
  private readonly socketOptions: object;
  private opening: Promise<ChannelModel> | undefined;

  constructor(options: BrokerOptions) {
    this.url = options.url ?? process.env["AMQP_URL"] ?? DEFAULT_URL;
    this.prefix = options.prefix ?? process.env["PAGURUS_PREFIX"] ?? "pagurus";
    this.socketOptions = options.socketOptions ?? {};
    if (!URL.canParse(this.url)) throw new TypeError("the address of the broker is no URL");
  }

  /** Opens a channel, and the connection if there is none. */
  async channel(): Promise<Channel> {
    this.opening ??= this.connect();
    const connection = await this.opening;
    return new Channel(await connection.createConfirmChannel());
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    const { opening } = this;
    this.opening = undefined;
    try {
      await within(CLOSE_TIMEOUT, (await opening)?.close());
    } catch {
      // It is closed already, or was never open.
    }
  }

  private connect(): Promise<ChannelModel> {
    const forget = () => {
      if (this.opening === opening) this.opening = undefined;
    };
    const opening = this.open(forget);
    opening.catch(forget);
    return opening;
  }

  private async open(whenLost: () => void): Promise<ChannelModel> {
    const url = new URL(this.url);
    if (!url.searchParams.has("heartbeat")) url.searchParams.set("heartbeat", String(HEARTBEAT));
    const connection = await connect(url.href, { timeout: CONNECT_TIMEOUT, noDelay: true, ...this.socketOptions });
    // Without a listener, an error would end the program. What follows it is always `close`.
    connection.on("error", () => {});
    connection.on("close", whenLost);
    return connection;
  }
}

/** A message as it comes from a queue. */
export interface Delivery {
  readonly content: Uint8Array;
  /** Acknowledges it. Returns false if its channel is lost: then it comes again. */
  ack(): boolean;
  /** Gives it back to its queue, for others. */
  requeue(): void;
  /** Removes it unhandled: to the dead-letter exchange of its queue, if there is one. */
  drop(): void;
}

/** Properties of a message that is published. */
export type Properties = Options.Publish & { correlationId: string };

/** A channel with publisher confirms. */
export class Channel {
  /** Resolves with the reason when the channel can no longer be used: closed, or its queue was removed. */
  readonly lost: Promise<Error>;
  private resolveLost!: (reason: Error) => void;
  private reason: Error | undefined;
  /** How to end each message that is not confirmed yet. */
  private readonly unconfirmed = new Set<(reason: Error) => void>();
  private readonly returned = new Set<string>();

  constructor(private readonly inner: ConfirmChannel) {
    this.lost = new Promise((resolve) => {
      this.resolveLost = resolve;
    });
    inner.on("error", (error) => this.lose(error));
    inner.on("close", () => this.lose(new Error("the connection was lost")));
    inner.on("return", ({ fields, properties }) => {
      this.returned.add(mark(properties.correlationId, fields.routingKey));
    });
  }

  get isOpen(): boolean {
    return this.reason === undefined;
  }

  /** Gives the channel up for this reason, if that has not happened already. */
  lose(reason: Error): void {
    if (!this.isOpen) return;
    this.reason = reason;
    this.resolveLost(reason);
    for (const end of this.unconfirmed) end(reason);
  }

  /** Returns when the broker has the message in a queue. No other message with this `correlationId` and key may be on its way. */
  async publish(exchange: string, key: string, json: string, properties: Properties): Promise<void> {
    if (this.reason !== undefined) throw this.reason;
    const options = { mandatory: true, persistent: true, contentType: "application/json", ...properties };
    let end: ((reason: Error) => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.unconfirmed.add((end = reject));
        this.inner.publish(exchange, key, Buffer.from(json), options, (error: unknown) => {
          if (error) reject(error);
          else resolve();
        });
      });
    } finally {
      this.unconfirmed.delete(end!);
    }
    // The broker returns a message before it confirms it.
    if (this.returned.delete(mark(properties.correlationId, key))) throw new Error(`no queue takes \`${key}\` of the exchange ${exchange}`);
  }

  /** Receives the messages of a queue, `prefetch` of them before one is acknowledged. Returns how to stop that. */
  async consume(queue: string, prefetch: number, take: (delivery: Delivery, message: ConsumeMessage) => void): Promise<() => Promise<void>> {
    await this.inner.prefetch(prefetch);
    const { consumerTag } = await this.inner.consume(queue, this.each(queue, (message) => take(this.delivery(message), message)));
    return async () => {
      await this.inner.cancel(consumerTag);
    };
  }

  /** Receives the messages of a queue that needs no acknowledgements. */
  async listen(queue: string, hear: (message: ConsumeMessage) => void): Promise<void> {
    await this.inner.consume(queue, this.each(queue, hear), { noAck: true });
  }

  /** Receives what comes to an exchange with this key, while the channel is open. */
  async eavesdrop(exchange: string, key: string, hear: (message: ConsumeMessage) => void): Promise<void> {
    const { queue } = await this.inner.assertQueue("", { exclusive: true, autoDelete: true, durable: false });
    await this.inner.bindQueue(queue, exchange, key);
    await this.listen(queue, hear);
  }

  /** Makes sure that a queue exists. */
  async check(queue: string): Promise<void> {
    await this.inner.checkQueue(queue);
  }

  /** Makes a durable queue. */
  async declare(queue: string): Promise<void> {
    // With a limit of its own: the default one of new brokers removes a message that came back too often.
    await this.inner.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum", "x-delivery-limit": 100_000 } });
  }

  /** Sends what comes to an exchange with this key to a queue. */
  async bind(queue: string, exchange: string, key: string): Promise<void> {
    await this.inner.bindQueue(queue, exchange, key);
  }

  /** Closes the channel; what is not acknowledged goes back to its queue. */
  async close(): Promise<void> {
    this.lose(new Error("the channel was closed"));
    try {
      await within(CLOSE_TIMEOUT, this.inner.close());
    } catch {
      // It is closed already.
    }
  }

  private each(queue: string, take: (message: ConsumeMessage) => void): (message: ConsumeMessage | null) => void {
    return (message) => {
      if (message === null) this.lose(new Error(`the queue ${queue} was removed`));
      else take(message);
    };
  }

  private delivery(message: ConsumeMessage): Delivery {
    const settle = (how: () => void) => {
      if (!this.isOpen) return false;
      try {
        how();
        return true;
      } catch {
        return false;
      }
    };
    return {
      content: message.content,
      ack: () => settle(() => this.inner.ack(message)),
      requeue: () => settle(() => this.inner.nack(message, false, true)),
      drop: () => settle(() => this.inner.nack(message, false, false)),
    };
  }
}

function mark(correlationId: string, key: string): string {
  return `${key} ${correlationId}`;
}

/** Resolves with the work, or without it when the time, in milliseconds, is over. */
export async function within<T>(milliseconds: number, work: Promise<T> | undefined): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
