"""Sends an order over AMQP, and prints its receipt and its notification."""

import json
import os
import sys
import time

import pika

PREFIX = os.environ.get("PAGURUS_PREFIX", "pagurus")
URL = os.environ.get("AMQP_URL", "amqp://guest:guest@localhost:5672/%2f")
# The mark by which our notifications are routed: each system takes one of its own.
KEY = os.environ.get("NOTIFY_KEY", "shop.orders")
DIRECT_REPLY = "amq.rabbitmq.reply-to"
ENDED = ("success", "fail", "canceled", "interrupted")


def main(order_id, scenario):
    connection = pika.BlockingConnection(pika.URLParameters(URL))
    channel = connection.channel()
    channel.confirm_delivery()
    arrived = {}

    def receipt(channel, method, properties, body):
        if properties.correlation_id == order_id:
            arrived["receipt"] = json.loads(body)

    def notification(channel, method, properties, body):
        notice = json.loads(body)
        # A notification may come twice, under the same message_id: the receiver must be able to handle that.
        if notice["id"] == order_id:
            arrived["notification"] = notice
        channel.basic_ack(method.delivery_tag)

    # A queue that outlives this program, so that no notification is missed.
    channel.queue_declare(KEY, durable=True)
    channel.queue_bind(KEY, f"{PREFIX}.notifications", routing_key=KEY)
    channel.basic_consume(KEY, notification)
    channel.basic_consume(DIRECT_REPLY, receipt, auto_ack=True)

    order = {
        "id": order_id,
        "scenario": scenario,
        "params": {"msisdn": "79110000001"},
        "notify": {"url": f"amqp://?key={KEY}", "correlationId": order_id},
    }
    # Returns when the broker has stored it; raises where nobody takes it.
    channel.basic_publish(
        exchange=f"{PREFIX}.orders",
        routing_key="order.create",
        body=json.dumps(order),
        mandatory=True,
        properties=pika.BasicProperties(
            content_type="application/json",
            delivery_mode=2,  # survives a restart of the broker
            message_id=order_id,
            correlation_id=order_id,
            reply_to=DIRECT_REPLY,
            timestamp=int(time.time()),
        ),
    )
    until = time.monotonic() + 30
    has_ended = False
    while len(arrived) < 2 and time.monotonic() < until:
        connection.process_data_events(time_limit=1)
        answer = arrived.get("receipt", {})
        # An order that was sent before and has ended had its notification then.
        has_ended = answer.get("orderStatus") in ENDED
        if has_ended or answer.get("status") in ("rejected", "conflict"):
            break
    connection.close()
    print(json.dumps(arrived, indent=2))
    return 0 if "notification" in arrived or has_ended else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
