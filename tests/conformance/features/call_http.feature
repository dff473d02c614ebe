Feature: call http

  Scenario: the content of the answer is the output
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://pets/1}}
      """
    And GET http://pets/1 answers:
      """
      {name: Rex}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: Rex}
      """
    And the last request should be:
      """
      {method: GET, uri: http://pets/1, body: null}
      """

  Scenario: arguments may be expressions
    Given a workflow with tasks:
      """
      - add:
          call: http
          with:
            method: post
            endpoint: '${ "http://pets/\(.kind)" }'
            headers: {x-kind: "${ .kind }"}
            query: {limit: 5, tag: ["a", "${ .kind }"]}
            body: {pet: {name: "${ .name }"}}
      """
    And the workflow input is:
      """
      {kind: dogs, name: Rex}
      """
    And POST http://pets/dogs answers:
      """
      {id: 7}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {id: 7}
      """
    And the last request should be:
      """
      {method: POST, headers: {x-kind: dogs, content-type: application/json}, query: [[limit, "5"], [tag, a], [tag, dogs]], body: '{"pet":{"name":"Rex"}}'}
      """

  Scenario: an endpoint is a URI template over the input
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: "http://pets/{kind}/{pet.id}{missing}"}}
      """
    And the workflow input is:
      """
      {kind: big dogs, pet.id: 7}
      """
    And GET http://pets/big%20dogs/7 answers:
      """
      {name: Rex}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: Rex}
      """

  Scenario: a variable of a URI template that is no scalar is an error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: "http://pets/{kind}"}}
      """
    And the workflow input is:
      """
      {kind: [1]}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/expression, status: 400, instance: /do/0/get}
      """

  Scenario: the raw output is base64
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://pets/1, output: raw}}
      """
    And GET http://pets/1 answers:
      """
      {body: hello, headers: {content-type: text/plain}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      aGVsbG8=
      """

  Scenario: text is text
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://pets/1}}
      """
    And GET http://pets/1 answers:
      """
      {body: hello, headers: {content-type: text/plain}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      hello
      """

  Scenario: the whole response
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://pets/1, headers: {accept: application/json}, output: response}}
      """
    And GET http://pets/1 answers:
      """
      {status: 201, body: '{"n":1}', headers: {x-trace: abc}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      request: {method: GET, uri: http://pets/1, headers: {accept: application/json}}
      statusCode: 201
      headers: {content-type: application/json, x-trace: abc}
      content: {n: 1}
      """

  Scenario Outline: an answer that is no success is a communication error with its status
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://pets/1}}
      """
    And GET http://pets/1 answers:
      """
      {status: <status>, body: no}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: <status>, instance: /do/0/get}
      """

    Examples:
      | status |
      | 302    |
      | 400    |
      | 404    |
      | 500    |
      | 503    |

  Scenario: with redirect a redirection is no error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://pets/1, redirect: true, output: response}}
      """
    And GET http://pets/1 answers:
      """
      {status: 304}
      """
    When the workflow is executed
    Then the workflow should complete with output containing:
      """
      {statusCode: 304}
      """

  Scenario: nobody there is a communication error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://nobody/}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: 503, instance: /do/0/get}
      """

  Scenario: a URL that cannot be called is a configuration error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: "${ .url }"}}
      """
    And the workflow input is:
      """
      {url: "file:///etc/passwd"}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400, instance: /do/0/get}
      """

  Scenario: an argument of the wrong type is a configuration error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: "${ .method }", endpoint: http://pets/1}}
      """
    And the workflow input is:
      """
      {method: 5}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400}
      """

  Scenario: basic authentication
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: http://pets/1, authentication: {basic: {username: ada, password: "${ .p }"}}}}}
      """
    And the workflow input is:
      """
      {p: secret}
      """
    And GET http://pets/1 answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {headers: {authorization: Basic YWRhOnNlY3JldA==}}
      """

  Scenario: bearer authentication from use.authentications, with a secret by reference
    Given a workflow with body:
      """
      use:
        secrets: [pets]
        authentications: {mine: {bearer: {use: pets}}}
      do:
        - get: {call: http, with: {method: get, endpoint: {uri: http://pets/1, authentication: {use: mine}}}}
      """
    And the secret "pets" is:
      """
      {token: sesame-open-now}
      """
    And GET http://pets/1 answers:
      """
      {echo: Bearer sesame-open-now}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {echo: "Bearer [redacted]"}
      """
    And the last request should be:
      """
      {headers: {authorization: Bearer sesame-open-now}}
      """
    And "sesame-open-now" should be written nowhere

  Scenario: a secret in an expression
    Given a workflow with body:
      """
      use: {secrets: [pets]}
      do:
        - get: {call: http, with: {method: get, endpoint: http://pets/1, headers: {x-key: "${ $secrets.pets.key }", x-name: "${ .name }"}}}
      """
    And the workflow input is:
      """
      {name: Ada}
      """
    And the secret "pets" is:
      """
      {key: sesame-open-now}
      """
    And GET http://pets/1 answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {headers: {x-key: sesame-open-now, x-name: Ada}}
      """
    And "sesame-open-now" should be written nowhere

  Scenario: a secret that is not there is an authorization error
    Given a workflow with body:
      """
      use: {secrets: [pets]}
      do:
        - get: {call: http, with: {method: get, endpoint: {uri: http://pets/1, authentication: {basic: {use: pets}}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/authorization, status: 403, instance: /do/0/get}
      """

  Scenario: a secret that use.secrets does not name is refused
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: http://pets/1, authentication: {basic: {use: pets}}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/endpoint/authentication/basic/use because: use.secrets

  Scenario: a call shapes its output and exports like any task
    Given a workflow with tasks:
      """
      - get:
          call: http
          with: {method: get, endpoint: http://pets/1}
          output: {as: .name}
          export: {as: "{pet: .}"}
      - after: {set: {pet: "${ $context.pet }", data: "${ . }"}}
      """
    And GET http://pets/1 answers:
      """
      {name: Rex}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {pet: Rex, data: Rex}
      """

  Scenario: one call after another, with control between them
    Given a workflow with tasks:
      """
      - loop:
          for: {in: "[1, 2, 3]"}
          do:
            - get: {call: http, with: {method: get, endpoint: '${ "http://pets/\($item)" }'}}
            - keep: {set: {names: "${ ($context // []) + [.name] }"}, output: {as: .names}, export: {as: .}}
      """
    And GET http://pets/1 answers:
      """
      {name: A}
      """
    And GET http://pets/2 answers:
      """
      {name: B}
      """
    And GET http://pets/3 answers:
      """
      {name: C}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [A, B, C]
      """
    And get should run 3 times

  Scenario: a call needs an endpoint
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/endpoint because: no URI

  Scenario: an unknown argument is refused
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: http://pets/1, header: {}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/header because: did you mean "headers"
