/** Orders and notifications over AMQP. Needs `amqplib`. */

export type { BrokerOptions, Log } from "./options.js";
export { AmqpReceiver, type Notification, type ReceiverOptions } from "./receiver.js";
export { AmqpSender, type SenderOptions } from "./sender.js";
