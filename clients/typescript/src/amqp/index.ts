/** Orders and notifications over AMQP. Needs `amqplib`. */

export type { BrokerOptions } from "./broker.js";
export { AmqpReceiver, type Notification, type ReceiverOptions } from "./receiver.js";
export { AmqpSender, type SenderOptions } from "./sender.js";
export type { Log } from "./serving.js";
