Feature: call openapi

  Background:
    Given GET http://docs/pets.json answers:
      """
      openapi: 3.0.3
      servers: [{url: "http://{stage}.pets/v1", variables: {stage: {default: live, enum: [live, test]}}}]
      paths:
        /pets/{id}:
          parameters: [{name: id, in: path, required: true}]
          get:
            operationId: getPet
            parameters:
              - {$ref: "#/components/parameters/Fields"}
              - {name: tags, in: query, explode: false}
              - {name: x-trace, in: header}
              - {name: session, in: cookie}
            responses: {"200": {content: {application/json: {}}}}
          put:
            operationId: putPet
            requestBody: {required: true, content: {application/json: {}}}
        /search:
          get:
            operationId: search
            parameters: [{name: where, in: query, style: deepObject}, {name: near, in: query, style: pipeDelimited}]
        /upload:
          post: {operationId: upload, requestBody: {content: {multipart/form-data: {}}}}
        /login:
          post: {operationId: login, requestBody: {content: {application/x-www-form-urlencoded: {}}}}
      components: {parameters: {Fields: {name: fields, in: query}}}
      """

  Scenario: an operation with parameters in every place
    Given a workflow with tasks:
      """
      - get:
          call: openapi
          with:
            document: {endpoint: "http://docs/pets.json"}
            operationId: getPet
            parameters: {id: "${ .id }", fields: [a, b], tags: [x, y], x-trace: t, session: abc}
      """
    And the workflow input is:
      """
      {id: a/7}
      """
    And GET http://live.pets/v1/pets/a%2F7 answers:
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
      uri: http://live.pets/v1/pets/a%2F7
      query: [[fields, a], [fields, b], [tags, "x,y"]]
      headers: {x-trace: t, cookie: session=abc, accept: application/json}
      """

  Scenario: a body given as `body`
    Given a workflow with tasks:
      """
      - put: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: putPet, parameters: {id: 7, body: {name: Rex}}}}
      """
    And PUT http://live.pets/v1/pets/7 answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {body: '{"name":"Rex"}', headers: {content-type: application/json}}
      """

  Scenario: a body of what is no parameter
    Given a workflow with tasks:
      """
      - put: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: putPet, parameters: {id: 7, name: Rex, age: 3}}}
      """
    And PUT http://live.pets/v1/pets/7 answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {body: '{"name":"Rex","age":3}'}
      """

  Scenario: a form
    Given a workflow with tasks:
      """
      - in: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: login, parameters: {user: ada, pass: a b}}}
      """
    And POST http://live.pets/v1/login answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {body: user=ada&pass=a+b}
      """

  Scenario: a form in several parts
    Given a workflow with tasks:
      """
      - up: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: upload, parameters: {note: hello}}}
      """
    And POST http://live.pets/v1/upload answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the body of 2nd request should hold: form-data; name="note"

  Scenario: objects and lists in a query
    Given a workflow with tasks:
      """
      - find: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: search, parameters: {where: {kind: dog, old: true}, near: [1, 2]}}}
      """
    And GET http://live.pets/v1/search answers:
      """
      []
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {query: [["where[kind]", dog], ["where[old]", "true"], [near, "1|2"]]}
      """

  Scenario: a variable of the server
    Given a workflow with tasks:
      """
      - find: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: search, parameters: {stage: test}}}
      """
    And GET http://test.pets/v1/search answers:
      """
      []
      """
    When the workflow is executed
    Then the workflow should complete

  Scenario Outline: what the operation cannot take is a configuration error
    Given a workflow with tasks:
      """
      - go: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: <operation>, parameters: <given>}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400, instance: /do/0/go}
      """
    And the detail of the error should say: <why>

    Examples:
      | operation | given            | why                                   |
      | getPet    | {}               | the path parameter 'id' is missing    |
      | getPet    | {id: 1, more: 2} | no parameter 'more'                   |
      | putPet    | {id: 1}          | needs a body                          |
      | nothing   | {}               | no operation 'nothing': it has getPet |
      | search    | {stage: moon}    | use one of live, test                 |

  Scenario: Swagger 2.0
    Given a workflow with tasks:
      """
      - find: {call: openapi, with: {document: {endpoint: "http://docs/old.yaml"}, operationId: findPetsByStatus, parameters: {status: [available, sold]}}}
      - add: {call: openapi, with: {document: {endpoint: "http://docs/old.yaml"}, operationId: addPet, parameters: {pet: {name: Rex}}}}
      """
    And GET http://docs/old.yaml answers:
      """
      body: |
        swagger: "2.0"
        host: old.pets
        basePath: /v2
        schemes: [http]
        paths:
          /pet:
            post: {operationId: addPet, parameters: [{in: body, name: pet, required: true}]}
          /pet/findByStatus:
            get: {operationId: findPetsByStatus, parameters: [{in: query, name: status, collectionFormat: multi}]}
      """
    And GET http://old.pets/v2/pet/findByStatus answers:
      """
      [{name: A}]
      """
    And POST http://old.pets/v2/pet answers:
      """
      {id: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {id: 1}
      """
    And 3 requests should arrive
    And 2nd request should be:
      """
      {query: [[status, available], [status, sold]]}
      """
    And the last request should be:
      """
      {body: '{"name":"Rex"}', headers: {content-type: application/json}}
      """

  Scenario: the whole response, as of call http
    Given a workflow with tasks:
      """
      - get: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: search, output: response}, output: {as: .statusCode}}
      """
    And GET http://live.pets/v1/search answers:
      """
      {status: 202, body: []}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      202
      """

  Scenario: an answer that is no success is a communication error
    Given a workflow with tasks:
      """
      - get: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}, operationId: search}}
      """
    And GET http://live.pets/v1/search answers:
      """
      {status: 418, body: tea}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: 418}
      """

  Scenario: the operation and its document under authentication
    Given a workflow with tasks:
      """
      - get:
          call: openapi
          with:
            document: {endpoint: {uri: "http://docs/closed.json", authentication: {basic: {username: a, password: b}}}}
            operationId: ask
            authentication: {bearer: {token: xyz}}
      """
    And GET http://docs/closed.json answers:
      """
      {openapi: 3.1.0, paths: {/ask: {get: {operationId: ask}}}}
      """
    And GET http://docs/ask answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And 1st request should be:
      """
      {headers: {authorization: Basic YTpi}}
      """
    And the last request should be:
      """
      {uri: http://docs/ask, headers: {authorization: Bearer xyz}}
      """

  Scenario: a document within the document
    Given a workflow with tasks:
      """
      - get: {call: openapi, with: {document: {endpoint: 'data:application/json,{"openapi":"3.0.0","servers":[{"url":"http://inline"}],"paths":{"/x":{"get":{"operationId":"x"}}}}'}, operationId: x}}
      """
    And GET http://inline/x answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {ok: true}
      """

  Scenario: a document that is not there
    Given a workflow with tasks:
      """
      - get: {call: openapi, with: {document: {endpoint: "http://docs/nothing.json"}, operationId: x}}
      """
    And GET http://docs/nothing.json answers:
      """
      {status: 404, body: no}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication}
      """

  Scenario: a document that is no OpenAPI
    Given a workflow with tasks:
      """
      - get: {call: openapi, with: {document: {endpoint: "http://docs/other.json"}, operationId: x}}
      """
    And GET http://docs/other.json answers:
      """
      {asyncapi: 3.0.0}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400}
      """

  Scenario: an operation must be named
    Given a workflow with tasks:
      """
      - get: {call: openapi, with: {document: {endpoint: "http://docs/pets.json"}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with because: operationId

  Scenario: a document must have an endpoint
    Given a workflow with tasks:
      """
      - get: {call: openapi, with: {document: "http://docs/pets.json", operationId: x}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/document because: endpoint
