// Sends an order over AMQP, and prints its receipt and its notification.

import amqp from "amqplib";

const set = (name, otherwise) => process.env[name] ?? otherwise;
const PREFIX = set("PAGURUS_PREFIX", "pagurus");
const URL = set("AMQP_URL", "amqp://guest:guest@localhost:5672/%2f");
// The mark by which our notifications are routed: each system takes one of its own.
const KEY = set("NOTIFY_KEY", "shop.orders");
const DIRECT_REPLY = "amq.rabbitmq.reply-to";
const PATIENCE = 30_000;
const ENDED = ["success", "fail", "canceled", "interrupted"];

const [id, scenario] = process.argv.slice(2);
const connection = await amqp.connect(URL);
const channel = await connection.createConfirmChannel();
const arrived = {};
// An order that was sent before and has ended had its notification then.
const hasEnded = () => ENDED.includes(arrived.receipt?.orderStatus);
let done;
const end = new Promise((resolve) => {
  done = resolve;
});

// A queue that outlives this program, so that no notification is missed.
await channel.assertQueue(KEY, { durable: true });
await channel.bindQueue(KEY, `${PREFIX}.notifications`, KEY);
await channel.consume(KEY, (message) => {
  const notice = JSON.parse(message.content);
  channel.ack(message);
  // A notification may come twice, under the same messageId: the receiver must be able to handle that.
  if (notice.id !== id) return;
  arrived.notification = notice;
  if (arrived.receipt) done();
});
const receipt = (message) => {
  if (message.properties.correlationId !== id) return;
  arrived.receipt = JSON.parse(message.content);
  const refused = ["rejected", "conflict"].includes(arrived.receipt.status);
  if (refused || hasEnded() || arrived.notification) done();
};
await channel.consume(DIRECT_REPLY, receipt, { noAck: true });

const order = {
  id,
  scenario,
  params: { msisdn: "79110000001" },
  notify: { url: `amqp://?key=${KEY}`, correlationId: id },
};
channel.on("return", () => {
  console.error("nobody takes orders there");
  done();
});
channel.publish(`${PREFIX}.orders`, "order.create", Buffer.from(JSON.stringify(order)), {
  mandatory: true,
  persistent: true, // survives a restart of the broker
  contentType: "application/json",
  messageId: id,
  correlationId: id,
  replyTo: DIRECT_REPLY,
  timestamp: Math.floor(Date.now() / 1000),
});
// Returns when the broker has stored it.
await channel.waitForConfirms();
const patience = setTimeout(done, PATIENCE);
await end;
clearTimeout(patience);
await connection.close();
console.log(JSON.stringify(arrived, null, 2));
process.exitCode = arrived.notification || hasEnded() ? 0 : 1;
