/**
 * Sends orders to Pagurus, follows them, acts on them, and receives their webhooks. Needs what Node 20, Deno, Bun and browsers have: fetch and
 * Web Crypto.
 *
 * An order has an id of the client's choice, so that sending it again is harmless: `register` repeats by itself what got no answer, and
 * a program that was interrupted calls it again with the same order.
 */

export { Client, type ClientOptions, type RegisterOptions } from "./client.js";
export {
  Busy,
  Conflict,
  Failure,
  Forbidden,
  Foreign,
  Internal,
  Invalid,
  Malformed,
  NotFound,
  Problem,
  type ProblemKind,
  Refused,
  TooLarge,
  Unauthenticated,
  Unavailable,
  UnknownScenario,
  Unreachable,
} from "./failure.js";
export type { Answered, Changes, Conditions, Detail, Found, Order, OrderView, Registered, Status } from "./model.js";
export { type HeaderFields, MAX_AGE, NotGenuine, verifyWebhook } from "./webhook.js";
