/**
 * Orders and actions over AMQP, each with the receipt of the engine. Never returns before the engine has answered: a confirm of the
 * broker alone says that a message is kept, not that it is an order.
 */

import { type Failure, Unreachable, problem } from "../failure.js";
import type { Order, Receipt } from "../model.js";
import { Patience, withId } from "../transport.js";
import { Broker, type Channel, type Properties, within } from "./broker.js";
import type { BrokerOptions } from "./options.js";

/** Queue from which the broker hands out receipts, without there being one. */
const DIRECT_REPLY = "amq.rabbitmq.reply-to";
/** Longest time for the first receipt, in milliseconds; it doubles with each try. A receipt is lost if broker or engine die at that moment. */
const RECEIPT_TIMEOUT = 5_000;

export interface SenderOptions extends BrokerOptions {
  /** Seconds for which a message is repeated, and its receipt awaited; 60 if left out. */
  patience?: number;
}

/** What is sent, the same over all repeats. */
interface Message {
  key: string;
  id: string;
  body: unknown;
  headers: Record<string, string>;
}

/** A sender of orders. It connects when it is first needed, and again after the connection was lost. */
export class AmqpSender {
  private readonly broker: Broker;
  private readonly patience: number;
  private opening: Promise<Session> | undefined;

  constructor(options: SenderOptions = {}) {
    this.broker = new Broker(options);
    this.patience = (options.patience ?? 60) * 1000;
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.opening = undefined;
    await this.broker.close();
  }

  /** Registers an order, and returns its receipt. Repeats by itself while broker or engine are away: the ID makes that harmless. */
  register(order: Order, { traceparent }: { traceparent?: string } = {}): Promise<Receipt> {
    const body = withId(order);
    const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
    return this.ask({ key: "order.create", id: body.id, body, headers });
  }

  /** Acts on an order: `cancel`, `interrupt`, `kill` or `restart`. What the status does not allow throws `Refused`. */
  act(id: string, action: string, reason: string, more: Record<string, unknown> = {}): Promise<Receipt> {
    // The ID of the message is the key under which the action is done once.
    return this.ask({ key: `order.${action}`, id: crypto.randomUUID(), body: { id, reason, ...more }, headers: {} });
  }

  private async ask({ key, id, body, headers }: Message): Promise<Receipt> {
    const patience = new Patience(this.patience);
    const until = Date.now() + this.patience;
    const timestamp = Math.floor(Date.now() / 1000);
    const json = JSON.stringify(body);
    const properties = { messageId: id, correlationId: crypto.randomUUID(), timestamp, headers };
    let timeout = RECEIPT_TIMEOUT;
    for (;;) {
      let failure: Failure | undefined;
      try {
        const receipt = await this.askOnce(key, json, properties, Math.min(timeout, until - Date.now()));
        if (receipt === undefined) timeout *= 2;
        failure = failureOf(receipt);
        if (receipt !== undefined && failure === undefined) return receipt;
      } catch (lost) {
        failure = new Unreachable(`${key}: ${lost instanceof Error ? lost.message : lost}`);
      }
      await patience.rest(failure);
    }
  }

  /** Returns nothing if there is no receipt in time, in milliseconds. */
  private async askOnce(key: string, json: string, properties: Properties, timeout: number): Promise<Receipt | undefined> {
    const asked = this.session().then((session) => session.ask(key, json, properties));
    // It may fail after the time.
    asked.catch(() => {});
    return within(timeout, asked);
  }

  private async session(): Promise<Session> {
    for (;;) {
      const opening = (this.opening ??= Session.open(this.broker));
      try {
        const session = await opening;
        if (session.isOpen) return session;
        void session.close();
        if (this.opening === opening) this.opening = undefined;
      } catch (failure) {
        if (this.opening === opening) this.opening = undefined;
        throw failure;
      }
    }
  }
}

/** Who waits for a receipt. */
interface Waits {
  resolve(receipt: Receipt): void;
  reject(reason: Error): void;
}

/** A channel, with the receipts that are awaited, by the correlation ID of their message. */
class Session {
  private readonly waiting = new Map<string, Waits>();

  private constructor(
    private readonly channel: Channel,
    private readonly exchange: string,
  ) {
    void channel.lost.then((reason) => {
      for (const { reject } of this.waiting.values()) reject(reason);
    });
  }

  static async open(broker: Broker): Promise<Session> {
    const channel = await broker.channel();
    const session = new Session(channel, `${broker.prefix}.orders`);
    try {
      await channel.listen(DIRECT_REPLY, (message) => session.handOut(message.properties.correlationId, message.content));
    } catch (failure) {
      void channel.close();
      throw failure;
    }
    return session;
  }

  get isOpen(): boolean {
    return this.channel.isOpen;
  }

  close(): Promise<void> {
    return this.channel.close();
  }

  async ask(key: string, json: string, properties: Properties): Promise<Receipt> {
    const { correlationId } = properties;
    let waits: Waits;
    const receipt = new Promise<Receipt>((resolve, reject) => {
      waits = { resolve, reject };
      // An earlier try waits no more: its receipt is that of this one, too.
      this.waiting.set(correlationId, waits);
    });
    // It may fail before it is awaited.
    receipt.catch(() => {});
    try {
      await this.channel.publish(this.exchange, key, json, { ...properties, replyTo: DIRECT_REPLY });
      return await receipt;
    } finally {
      if (this.waiting.get(correlationId) === waits!) this.waiting.delete(correlationId);
    }
  }

  private handOut(correlationId: string, content: Uint8Array): void {
    const waits = this.waiting.get(correlationId);
    try {
      waits?.resolve(JSON.parse(new TextDecoder().decode(content)));
    } catch {
      waits?.reject(new Error("the receipt is no JSON"));
    }
  }
}

/** What a receipt says in place of the answer. */
function failureOf(receipt: Receipt | undefined): Failure | undefined {
  if (receipt === undefined) return new Unreachable("there was no receipt in time");
  if (receipt.status === "unavailable") return new Unreachable("whether it was done is not known");
  return receipt.error ? problem(receipt.error) : undefined;
}
