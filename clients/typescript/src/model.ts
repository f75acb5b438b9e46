/** Orders as they are sent, and the answers about them, from the OpenAPI document of the engine, and its messages, from the AsyncAPI document. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** An order to be registered. One without an id gets one from the client, the same over all repeats of the call. */
export type Order = Omit<Schemas["OrderBody"], "id"> & { id?: string };

/** A change of an order that has not gone on yet. */
export type Changes = Omit<Schemas["UpdateBody"], "reason">;

/** Outcome of a registration, with the present status of the order, where it exists. */
export type Registered = Schemas["RegisteredView"];

/** Status of an order; `final` is true if this life is over. */
export type Status = Schemas["StatusView"];

/** An order with everything that is known about it. */
export type OrderView = Schemas["OrderView"];

/** An order in the result of a search. */
export type Found = Schemas["OrderLine"];

/** Answer of a live order to a call; without `answeredAt` it has not answered yet. */
export type Answered = Schemas["CallView"];

/** A fault in a request, with its place. */
export type Detail = Schemas["Detail"];

/** A problem, as RFC 9457 describes it. */
export type ProblemBody = Schemas["Problem"];

/** Conditions of a search: names and values as the API has them. */
export type Conditions = Record<string, string | number | boolean | readonly string[] | undefined>;

/** Receipt of an order or an action that was sent over AMQP, with the present status of the order. */
export type Receipt = Schemas["Receipt"];

/** Notification of the end of a life, or of an order that needs a person or will probably be late. */
export type EndNotice = Schemas["EndNotice"];

/** Notification of a move from state to state. */
export type MoveNotice = Schemas["MoveNotice"];

/** A task as its message has it. */
export type TaskBody = Schemas["ActorTask"];
