/** Notifications as their messages bring them: one, or a group. */

import type { ConsumeMessage } from "amqplib";

import type { EndNotice, MoveNotice } from "../model.js";
import type { Delivery } from "./broker.js";
import type { Notification } from "./receiver.js";

type MessageProperties = ConsumeMessage["properties"];

/** A notification with its message, which it may have in common with others. */
export interface Arrival {
  readonly notification: Notification;
  readonly delivery: Delivery;
}

/** The notifications of a message. Throws where it holds none. */
export function arrivals(delivery: Delivery, properties: MessageProperties): Arrival[] {
  const body: unknown = JSON.parse(new TextDecoder().decode(delivery.content));
  if (!Array.isArray(body)) return [{ notification: single(body, properties), delivery }];
  if (body.length === 0) throw new TypeError("the group is empty");
  const share = shared(delivery, body.length);
  return body.map((member) => ({ notification: memberOf(member), delivery: share() }));
}

function single(body: unknown, { messageId, type, correlationId, headers = {} }: MessageProperties): Notification {
  const sequence: unknown = headers["sequence"];
  return {
    id: messageId,
    type,
    correlationId,
    sequence: typeof sequence === "number" ? sequence : undefined,
    traceparent: headers["traceparent"],
    content: contentOf(body),
  };
}

/** A member of a group: with what its own message would have had beside it, or an event of CloudEvents. */
function memberOf(member: unknown): Notification {
  const fields = contentOf(member) as unknown as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const traceparent = text(fields["traceparent"]);
  if ("specversion" in fields) {
    const word = text(fields["type"])?.split(".").at(-2);
    const type = word && `order.${word === "ended" ? "final" : word}`;
    const sequence = fields["sequence"] === undefined ? undefined : Number(fields["sequence"]);
    const correlationId = text(fields["correlationid"]);
    return { id: text(fields["id"]), type, correlationId, sequence, traceparent, content: contentOf(member) };
  }
  const content = contentOf(fields["body"]);
  const sequence = typeof fields["sequence"] === "number" ? fields["sequence"] : undefined;
  const correlationId = content.correlationId ?? undefined;
  return { id: text(fields["messageId"]), type: text(fields["type"]), correlationId, sequence, traceparent, content };
}

function contentOf(body: unknown): EndNotice | MoveNotice {
  if (typeof body !== "object" || body === null) throw new TypeError("it is no object");
  return body as EndNotice | MoveNotice;
}

/**
 * Divides a message among its members. It is acknowledged with the last of them: until then `ack` returns false, because it may come again. It
 * goes back to its queue as a whole.
 */
function shared(delivery: Delivery, members: number): () => Delivery {
  let left = members;
  let isBack = false;
  const back = (how: () => void) => () => {
    if (!isBack) how();
    isBack = true;
  };
  return () => ({
    content: delivery.content,
    ack: () => {
      left -= 1;
      return left === 0 && !isBack && delivery.ack();
    },
    requeue: back(() => delivery.requeue()),
    drop: back(() => delivery.drop()),
  });
}
