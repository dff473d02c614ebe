Feature: messages that are taken

  Background:
    Given GET http://docs/pets.json answers:
      """
      asyncapi: 3.0.0
      servers: {main: {host: hub, protocol: http}}
      channels: {pets: {address: pets}}
      operations: {pets: {action: receive, channel: {$ref: "#/channels/pets"}}}
      """

  Scenario: so many of them
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, operation: pets, subscription: {consume: {amount: 3}}}}
      """
    And GET http://hub/pets answers in turn:
      """
      - [{n: 1}, {n: 2}]
      - {status: 204, body: ""}
      - {n: 3}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{payload: {n: 1}, headers: {}}, {payload: {n: 2}, headers: {}}, {payload: {n: 3}, headers: {}}]
      """

  Scenario: between calls that find nothing are pauses that grow
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, operation: pets, subscription: {consume: {amount: 1}}}}
      """
    And GET http://hub/pets answers in turn:
      """
      - {status: 204, body: ""}
      - []
      - {status: 204, body: ""}
      - [{n: 1}]
      """
    When the workflow is executed
    Then the workflow should complete
    And the run should take 1.75 seconds

  Scenario: those that come in time
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {for: PT10S}}}}
      """
    And GET http://hub/pets answers in turn:
      """
      - [{n: 1}]
      - {status: 204, body: ""}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{payload: {n: 1}, headers: {}}]
      """
    And the run should take 10 seconds

  Scenario: a length of time and an amount may be expressions
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {for: "${ .seconds }", amount: "${ .n }"}}}}
      """
    And the workflow input is:
      """
      {seconds: {seconds: 5}, n: 7}
      """
    And GET http://hub/pets answers in turn:
      """
      - [1, 2]
      - {status: 204, body: ""}
      """
    When the workflow is executed
    Then the workflow should complete
    And the run should take 5 seconds

  Scenario: an amount that is no number
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {amount: "${ .n }"}}}}
      """
    And the workflow input is:
      """
      {n: many}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/expression, status: 400, instance: /do/0/take}
      """

  Scenario: until a condition holds
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {until: "(map(.payload) | add) >= 6"}}}, output: {as: "map(.payload)"}}
      """
    And GET http://hub/pets answers in turn:
      """
      - 1
      - 2
      - 3
      - 4
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [1, 2, 3]
      """

  Scenario: while a condition holds
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {while: "${ length < 2 }"}}}, output: {as: "map(.payload)"}}
      """
    And GET http://hub/pets answers in turn:
      """
      - 1
      - 2
      - 3
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [1, 2]
      """

  Scenario: a condition that does not hold at first takes nothing
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {while: "$input.more"}}}}
      """
    And the workflow input is:
      """
      {more: false}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      []
      """
    And 0 requests should arrive

  Scenario: only those that pass a filter
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {filter: "${ .payload.kind == $input.kind }", consume: {amount: 2}}}, output: {as: "map(.payload.n)"}}
      """
    And the workflow input is:
      """
      {kind: cat}
      """
    And GET http://hub/pets answers in turn:
      """
      - [{kind: dog, n: 1}, {kind: cat, n: 2}, "no object"]
      - [{kind: cat, n: 3}]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [2, 3]
      """

  Scenario: each is handled before the next one is taken
    Given a workflow with tasks:
      """
      - take:
          call: asyncapi
          with:
            document: {endpoint: "http://docs/pets.json"}
            channel: pets
            subscription:
              consume: {amount: 2}
              foreach:
                item: pet
                at: number
                do:
                  - greet: {call: http, with: {method: post, endpoint: "http://hello/{name}", body: "${ $number }"}, input: {from: .payload}}
                  - keep: {set: {who: "${ $pet.payload.name }", answer: "${ . }"}}
                output: {as: '"\(.who): \(.answer)"'}
                export: {as: "($context // []) + [$output]"}
      - say: {set: {all: "${ . }", context: "${ $context }"}}
      """
    And GET http://hub/pets answers:
      """
      [{name: Rex}, {name: Tom}]
      """
    And POST http://hello/Rex answers:
      """
      woof
      """
    And POST http://hello/Tom answers:
      """
      miaow
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {all: ["Rex: woof", "Tom: miaow"], context: ["Rex: woof", "Tom: miaow"]}
      """
    And the last request should be:
      """
      {uri: http://hello/Tom, body: "1"}
      """

  Scenario: an error in what is done with one has its place
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {amount: 1}, foreach: {do: [{bad: {raise: {error: {type: "http://x", status: 500}}}}]}}}}
      """
    And GET http://hub/pets answers:
      """
      [1]
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: http://x, instance: /do/0/take/with/subscription/foreach/do/0/bad}
      """

  Scenario: a stream of events is read on from the last one that was taken
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {until: "length == 2"}}}}
      """
    And GET http://hub/pets answers in turn:
      """
      - {headers: {content-type: text/event-stream}, body: "id: 7\nevent: born\ndata: {\"n\":1}\n\nid: 8\ndata: two\n\n"}
      - {headers: {content-type: text/event-stream}, body: ": hello\n\nid: 8\ndata: two\n\nid: 9\ndata: not yet wh"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{payload: {n: 1}, headers: {id: "7", event: born}}, {payload: two, headers: {id: "8"}}]
      """
    And the last request should be:
      """
      {uri: http://hub/pets, headers: {last-event-id: "7"}}
      """

  Scenario: lines of JSON
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {amount: 2}}}, output: {as: "map(.payload)"}}
      """
    And GET http://hub/pets answers:
      """
      {headers: {content-type: application/x-ndjson}, body: "{\"n\":1}\n\n{\"n\":2}\n{\"n\":"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{n: 1}, {n: 2}]
      """

  Scenario: messages under authentication, with a secret
    Given the secret "pets" is:
      """
      {token: s3cret-token}
      """
    And a workflow with body:
      """
      use: {secrets: [pets]}
      do:
        - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, authentication: {bearer: {token: "${ $secrets.pets.token }"}}, subscription: {consume: {amount: 1}}}}
      """
    And GET http://hub/pets answers:
      """
      [1]
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {headers: {authorization: Bearer s3cret-token}}
      """
    And "s3cret-token" should be written nowhere

  Scenario: an endpoint that refuses is a communication error
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {amount: 1}}}}
      """
    And GET http://hub/pets answers:
      """
      {status: 403, body: no}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: 403, instance: /do/0/take}
      """

  Scenario: a subscription that takes too long
    Given a workflow with tasks:
      """
      - take: {timeout: {after: PT30S}, call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {while: "${ true }"}}}}
      """
    And GET http://hub/pets answers:
      """
      {status: 204, body: ""}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout, status: 408, instance: /do/0/take}
      """
    And the run should take 30 seconds

  Scenario: a subscription goes on when its worker dies again and again
    Given a workflow with tasks:
      """
      - take:
          call: asyncapi
          with:
            document: {endpoint: "http://docs/pets.json"}
            channel: pets
            subscription: {consume: {until: "length == 3"}, foreach: {do: [{nap: {wait: PT1S}}, {keep: {set: "${ .payload }"}}]}}
      """
    And GET http://hub/pets answers:
      """
      [pet]
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      [pet, pet, pet]
      """

  Scenario Outline: what is wrong with a subscription is told before it runs
    Given a workflow with tasks:
      """
      - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: <given>}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/take/with/subscription<at> because: <why>

    Examples:
      | given                                              | at              | why             |
      | {}                                                 |                 | no end          |
      | {consume: {amount: 0}}                             | /consume/amount | 1               |
      | {consume: {amount: many}}                          | /consume/amount | a text          |
      | {consume: {for: soon}}                             | /consume/for    | not a duration  |
      | {consume: {amount: 1, until: "true"}}              | /consume        | only one        |
      | {consume: {amount: 1}, filter: ".a ("}             | /filter         | not jq          |
      | {consume: {amount: 1}, each: 1}                    | /each           | each            |
      | {consume: {amount: 1}, foreach: {do: []}}          | /foreach/do     | list of tasks   |
      | {consume: {amount: 1}, foreach: {item: "a b"}}     | /foreach/item   | cannot name     |
