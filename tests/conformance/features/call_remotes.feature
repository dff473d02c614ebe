Feature: call a2a, mcp, asyncapi and grpc

  Scenario: a message, and the answer
    Given a workflow with tasks:
      """
      - ask: {call: a2a, with: {method: message/send, server: "http://agent/rpc", parameters: {message: {parts: [{kind: text, text: "${ .question }"}]}}}}
      """
    And the workflow input is:
      """
      {question: why}
      """
    And POST http://agent/rpc answers:
      """
      {jsonrpc: "2.0", id: 1, result: {kind: message, parts: [{kind: text, text: because}]}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {kind: message, parts: [{kind: text, text: because}]}
      """
    And the body of 1st request should hold: "method":"message/send"
    And the body of 1st request should hold: "role":"user"
    And the body of 1st request should hold: "messageId":"

  Scenario: a card says where to ask
    Given a workflow with tasks:
      """
      - ask: {call: a2a, with: {method: tasks/get, agentCard: {endpoint: "http://agent/.well-known/agent-card.json"}, parameters: {id: t1}}}
      """
    And GET http://agent/.well-known/agent-card.json answers:
      """
      {name: Helper, url: http://agent/a2a}
      """
    And POST http://agent/a2a answers:
      """
      {jsonrpc: "2.0", id: 1, result: {id: t1, status: {state: completed}}}
      """
    When the workflow is executed
    Then the workflow should complete with output containing:
      """
      {status: {state: completed}}
      """

  Scenario: a stream of answers is a list, in order
    Given a workflow with tasks:
      """
      - ask: {call: a2a, with: {method: message/stream, server: "http://agent/stream", parameters: {message: {messageId: m1, parts: []}}}}
      """
    And POST http://agent/stream answers:
      """
      headers: {content-type: text/event-stream}
      body: "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":2}}\n\n"
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{n: 1}, {n: 2}]
      """
    And the body of 1st request should hold: "messageId":"m1"

  Scenario: an error of A2A is a runtime error
    Given a workflow with tasks:
      """
      - ask: {call: a2a, with: {method: tasks/cancel, server: "http://agent/rpc", parameters: {id: t1}}}
      """
    And POST http://agent/rpc answers:
      """
      {jsonrpc: "2.0", id: 1, error: {code: -32001, message: Task not found}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/runtime, status: 500, instance: /do/0/ask}
      """
    And the detail of the error should say: Task not found (-32001)

  Scenario: A2A under authentication
    Given a workflow with tasks:
      """
      - ask: {call: a2a, with: {method: tasks/get, server: {uri: "http://agent/rpc", authentication: {bearer: {token: abc}}}, parameters: {id: t1}}}
      """
    And POST http://agent/rpc answers:
      """
      {jsonrpc: "2.0", id: 1, result: {}}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {headers: {authorization: Bearer abc}}
      """

  Scenario Outline: what is wrong with a call of A2A is refused
    Given a workflow with tasks:
      """
      - ask: {call: a2a, with: <with>}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/ask/with<at> because: <why>

    Examples:
      | with                                                                | at      | why             |
      | {method: message/sent, server: "http://a"}                          | /method | message/send    |
      | {method: tasks/get}                                                 |         | neither         |
      | {method: tasks/get, server: "http://a", agentCard: {endpoint: x}}   |         | both            |
      | {method: tasks/get, agentCard: {uri: x}}                            | /agentCard/endpoint | no URI |

  Scenario: a tool of a server of the Model Context Protocol
    Given a workflow with tasks:
      """
      - ask:
          call: mcp
          with:
            method: tools/call
            parameters: {name: add, arguments: {a: 1, b: "${ .b }"}}
            transport: {http: {endpoint: "http://mcp/one", headers: {x-key: k}}}
            client: {name: me, version: "2"}
      """
    And the workflow input is:
      """
      {b: 2}
      """
    And POST http://mcp/one answers in turn:
      """
      - {headers: {mcp-session-id: s1}, body: {jsonrpc: "2.0", id: 0, result: {protocolVersion: 2025-06-18, capabilities: {}}}}
      - {status: 202, body: ""}
      - headers: {content-type: text/event-stream}
        body: "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"3\"}]}}\n\n"
      """
    And DELETE http://mcp/one answers:
      """
      {}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {content: [{type: text, text: "3"}]}
      """
    And 4 requests should arrive
    And the body of 1st request should hold: "clientInfo":{"name":"me","version":"2"}
    And the body of 2nd request should hold: notifications/initialized
    And 3rd request should be:
      """
      {headers: {mcp-session-id: s1, mcp-protocol-version: 2025-06-18, x-key: k}}
      """

  Scenario: the pages of a list are put together
    Given a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/list, transport: {http: {endpoint: "http://mcp/two"}}}, output: {as: "[.tools[].name]"}}
      """
    And POST http://mcp/two answers in turn:
      """
      - {jsonrpc: "2.0", id: 0, result: {protocolVersion: 2025-06-18}}
      - {status: 202, body: ""}
      - {jsonrpc: "2.0", id: 1, result: {tools: [{name: a}], nextCursor: x}}
      - {jsonrpc: "2.0", id: 2, result: {tools: [{name: b}]}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [a, b]
      """
    And the body of 4th request should hold: "cursor":"x"

  Scenario Outline: every method of the protocol
    Given a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: <method>, parameters: <given>, transport: {http: {endpoint: "http://mcp/three"}}}}
      """
    And POST http://mcp/three answers in turn:
      """
      - {jsonrpc: "2.0", id: 0, result: {protocolVersion: 2025-06-18}}
      - {status: 202, body: ""}
      - {jsonrpc: "2.0", id: 1, result: <result>}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      <result>
      """

    Examples:
      | method                   | given      | result                    |
      | prompts/list             | {}         | {prompts: []}             |
      | prompts/get              | {name: p}  | {messages: []}            |
      | resources/list           | {}         | {resources: [{uri: a}]}   |
      | resources/read           | {uri: a}   | {contents: [{text: x}]}   |
      | resources/templates/list | {}         | {resourceTemplates: []}   |

  Scenario: an error of the protocol is a runtime error
    Given a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/call, parameters: {name: x}, transport: {http: {endpoint: "http://mcp/four"}}}}
      """
    And POST http://mcp/four answers in turn:
      """
      - {jsonrpc: "2.0", id: 0, result: {protocolVersion: 2025-06-18}}
      - {status: 202, body: ""}
      - {jsonrpc: "2.0", id: 1, error: {code: -32602, message: Unknown tool}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/runtime, status: 500}
      """

  Scenario: a server that is none
    Given a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/list, transport: {http: {endpoint: "http://mcp/five"}}}}
      """
    And POST http://mcp/five answers:
      """
      {status: 404, body: what}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/runtime, status: 500}
      """

  Scenario Outline: what is wrong with a call of a server is refused
    Given a workflow with tasks:
      """
      - ask: {call: mcp, with: <with>}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/ask/with<at> because: <why>

    Examples:
      | with                                                                        | at               | why               |
      | {method: tools/list}                                                        |                  | no transport      |
      | {method: tools, transport: {http: {endpoint: "http://a"}}}                  | /method          | tools/list        |
      | {method: tools/list, client: {name: a}, transport: {http: {endpoint: "http://a"}}} | /client   | version           |

  Scenario: a message to a channel, over http
    Given a workflow with tasks:
      """
      - tell:
          call: asyncapi
          with:
            document: {endpoint: "http://docs/async2.json"}
            channel: /greetings
            message: {payload: {hello: "${ .name }"}, headers: {x-a: b}}
      """
    And the workflow input is:
      """
      {name: Ada}
      """
    And GET http://docs/async2.json answers:
      """
      {asyncapi: 2.6.0, servers: {main: {url: "http://hub", protocol: http}}, channels: {/greetings: {publish: {}}}}
      """
    And POST http://hub/greetings answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {payload: {hello: Ada}, headers: {x-a: b}}
      """
    And the last request should be:
      """
      {body: '{"hello":"Ada"}', headers: {x-a: b, content-type: application/json}}
      """

  Scenario: an operation of AsyncAPI 3, on a server with variables
    Given a workflow with tasks:
      """
      - tell:
          call: asyncapi
          with:
            document: {endpoint: "http://docs/async3.json"}
            operation: sendGreeting
            server: {name: main, variables: {stage: test}}
            protocol: http
            message: {payload: hi}
      """
    And GET http://docs/async3.json answers:
      """
      asyncapi: 3.0.0
      servers: {main: {host: "{stage}.hub", pathname: /v1, protocol: http, variables: {stage: {default: live}}}}
      channels: {greetings: {address: greetings/new, bindings: {http: {method: PUT}}}}
      operations: {sendGreeting: {action: send, channel: {$ref: "#/channels/greetings"}}}
      """
    And PUT http://test.hub/v1/greetings/new answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete

  Scenario Outline: what the document does not allow is a configuration error
    Given a workflow with tasks:
      """
      - tell: {call: asyncapi, with: {document: {endpoint: "http://docs/some.json"}, <with>, message: {payload: hi}}}
      """
    And GET http://docs/some.json answers:
      """
      {asyncapi: 2.6.0, servers: {main: {url: "broker:9092", protocol: kafka}, web: {url: "http://hub", protocol: http}}, channels: {a: {}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400}
      """
    And the detail of the error should say: <why>

    Examples:
      | with                         | why                                 |
      | channel: a                   | speaks 'kafka'                      |
      | channel: b, protocol: http   | no 'b': there is a                  |
      | operation: a                 | AsyncAPI 3                          |
      | channel: a, server: {name: x} | no 'x'                             |

  Scenario Outline: protocols and forms that are not spoken are refused by name
    Given a workflow with tasks:
      """
      - tell: {call: asyncapi, with: {document: {endpoint: "http://docs/x.json"}, <with>}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/tell/with<at> because: <why>

    Examples:
      | with                                                              | at                           | why               |
      | channel: a, protocol: kafka, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: amqp1, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: anypointmq, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: googlepubsub, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: ibmmq, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: jms,   message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: mercure, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: mqtt,  message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: mqtt5, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: nats,  message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: pulsar, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: redis, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: sns,   message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: solace, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: sqs,   message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: stomp, message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: ws,    message: {}                          | /protocol                    | not supported yet |
      | channel: a, protocol: smoke, message: {}                          | /protocol                    | unknown protocol  |
      | channel: a, operation: b, message: {}                             |                              | both              |
      | channel: a                                                        |                              | neither           |
      | channel: a, subscription: {consume: {amount: 1}, foreach: {}}, message: {}     | | both |

  Scenario: a method of a gRPC service
    Given a gRPC service that greets
    And a workflow with tasks:
      """
      - greet:
          call: grpc
          with:
            proto: {endpoint: "http://docs/greeter.proto"}
            service: {name: Greeter, host: 127.0.0.1, port: GRPC_PORT}
            method: Greet
            arguments: {name: "${ .who }", times: 2}
      """
    And the workflow input is:
      """
      {who: Ada}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {text: Hello Ada Hello Ada, note: ""}
      """

  Scenario: a gRPC service that answers many times
    Given a gRPC service that greets
    And a workflow with tasks:
      """
      - greet: {call: grpc, with: {proto: {endpoint: "http://docs/greeter.proto"}, service: {name: demo.Greeter, host: 127.0.0.1, port: GRPC_PORT}, method: Stream, arguments: {name: Ada, times: 2}}, output: {as: "[.[].text]"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [Hello Ada, Hello Ada]
      """

  Scenario: a status of gRPC is a communication error with its status
    Given a gRPC service that greets
    And a workflow with tasks:
      """
      - greet: {call: grpc, with: {proto: {endpoint: "http://docs/greeter.proto"}, service: {name: Greeter, host: 127.0.0.1, port: GRPC_PORT}, method: Greet, arguments: {name: ""}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: 404, instance: /do/0/greet}
      """

  Scenario: gRPC under authentication
    Given a gRPC service that greets
    And a workflow with tasks:
      """
      - greet: {call: grpc, with: {proto: {endpoint: "http://docs/greeter.proto"}, service: {name: Greeter, host: 127.0.0.1, port: GRPC_PORT, authentication: {bearer: {token: open}}}, method: Greet, arguments: {name: Ada, times: 1}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {text: Hello Ada, note: Bearer open}
      """

  Scenario Outline: what does not fit the .proto file is a configuration error
    Given a gRPC service that greets
    And a workflow with tasks:
      """
      - greet: {call: grpc, with: {proto: {endpoint: "http://docs/greeter.proto"}, service: {name: <service>, host: 127.0.0.1, port: GRPC_PORT}, method: <method>, arguments: <given>}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400}
      """
    And the detail of the error should say: <why>

    Examples:
      | service | method  | given        | why                    |
      | Greeter | Wave    | {}           | no method 'Wave'       |
      | Waver   | Greet   | {}           | no service 'Waver'     |
      | Greeter | Greet   | {nme: Ada}   | do not fit             |
      | Greeter | Collect | {}           | takes a stream         |

  Scenario: a text that is no .proto file is a configuration error
    Given a workflow with tasks:
      """
      - greet: {call: grpc, with: {proto: {endpoint: "data:,hello"}, service: {name: A, host: 127.0.0.1, port: 1}, method: B}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400}
      """
    And the detail of the error should say: cannot be compiled

  Scenario: a call of gRPC needs a service
    Given a workflow with tasks:
      """
      - greet: {call: grpc, with: {proto: {endpoint: "http://docs/greeter.proto"}, method: B, service: {name: A}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/greet/with/service because: host
