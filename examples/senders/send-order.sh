#!/bin/sh
# Sends an order over HTTP, waits for its end, and prints it.
set -eu
server=${PAGURUS_SERVER:-http://127.0.0.1:8080}
id=$1
scenario=$2

curl -sS --fail-with-body "$server/v1/orders" \
    -H 'Content-Type: application/json' \
    -d '{"id": "'"$id"'", "scenario": "'"$scenario"'", "params": {"msisdn": "79110000001"}}'
echo
# Answers when the order has ended, or after 30 s; `final` says which.
curl -sS --fail-with-body "$server/v1/orders/$id/wait?timeout=30"
echo
