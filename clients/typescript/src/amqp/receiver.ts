/** Notifications over AMQP: takes each from a queue, and acknowledges it when the program has it. */

import type { EndNotice, MoveNotice } from "../model.js";
import { Broker } from "./broker.js";
import { Inbox } from "./inbox.js";
import { type BrokerOptions, DEFAULT_LOG, type Log, checkPrefetch } from "./options.js";
import { serve } from "./serving.js";

/** A notification as it comes, alone or in a group: perhaps more than once, always under the same `id`. */
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
