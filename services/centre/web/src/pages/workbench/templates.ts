// Small scenarios to begin with. Each is sound, and runs against the answers of an empty trial.

export type TemplateName = "call" | "callback" | "polling" | "branch" | "operation";

export const TEMPLATES: Readonly<Record<TemplateName, string>> = {
    call: `scenario: block-card
kind: workflow
description: Block a card
params:
  type: object
  required: [card]
  properties: {card: {type: string, pattern: "^[0-9]{16}$"}}
initialState: block
targetStates: [done]
states:
  block:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "\${config.processing}/cards/\${params.card}/block"
          timeout: 5s
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`,
    callback: `scenario: activate-line
kind: workflow
description: Activate a line; the network answers later
params:
  type: object
  required: [msisdn]
  properties: {msisdn: {type: string, pattern: "^[0-9]{11}$"}}
initialState: activate
targetStates: [done]
states:
  activate:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "\${config.network}/lines"
          body: {msisdn: "\${params.msisdn}", answerTo: "\${request.url}"}
          timeout: 5s
          request: activation
      - wait: {timeout: 10m}
    on: {wait: activating, fail: failed}
  activating:
    kind: waiting
    on: {callback: settle, timeout: undo}
  settle:
    actions:
      - http: {method: POST, url: "\${config.billing}/lines/\${params.msisdn}", timeout: 5s}
    on: {success: done, fail: undo}
  undo:
    actions:
      - http: {method: DELETE, url: "\${config.network}/lines/\${params.msisdn}", expect: 404, timeout: 5s}
    on: {success: failed, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`,
    polling: `scenario: deliver-parcel
kind: workflow
description: Send a parcel, and ask until it has come
params:
  type: object
  required: [address]
  properties: {address: {type: string}}
initialState: send
targetStates: [delivered]
states:
  send:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "\${config.post}/parcels"
          body: {to: "\${params.address}"}
          timeout: 10s
    on: {success: travelling, fail: failed}
  travelling:
    kind: polling
    poll: {delay: 6h, interval: 6h, timeout: 10d}
    actions:
      - http: {url: "\${config.post}/parcels/\${order.id}", timeout: 10s}
      - script: |
          let state = get(response, "body.state", "delivered");
          if state == "delivered" { success() }
          if state == "lost" { fail("the post lost the parcel", "parcel.lost") }
          poll()
    on: {success: delivered, fail: failed, timeout: failed}
  delivered: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`,
    branch: `scenario: decide-loan
kind: workflow
description: Score a loan, and go three ways
params:
  type: object
  required: [amount]
  properties: {amount: {type: integer, minimum: 100}}
initialState: score
targetStates: [granted]
states:
  score:
    entryPoint: true
    actions:
      - http: {method: POST, url: "\${config.scoring}/scores", body: {amount: "\${params.amount}"}, timeout: 5s}
      - script: |
          vars.score = get(response, "body.score", 700);
          if vars.score < 300 { event("refuse") }
          if vars.score < 600 { event("ask") }
    on: {success: grant, fail: failed, refuse: refused, ask: manual}
  grant:
    actions:
      - http: {method: POST, url: "\${config.bank}/loans", body: {amount: "\${params.amount}", score: "\${vars.score}"}, timeout: 10s}
    on: {success: granted, fail: failed}
  granted: {kind: terminal}
  refused: {kind: terminal}
  manual: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`,
    operation: `scenario: send-sms
kind: operation
description: Send a text message
params:
  type: object
  required: [msisdn, text]
  properties: {msisdn: {type: string}, text: {type: string}}
actions:
  - http:
      method: POST
      url: "\${config.sms}/messages"
      body: {to: "\${params.msisdn}", text: "\${params.text}"}
      timeout: 3s
  - savepoint: sent
  - amqp: {exchange: audit, key: sms.sent, body: {id: "\${order.id}"}}
`,
};

export const TEMPLATE_NAMES = Object.keys(TEMPLATES) as TemplateName[];
