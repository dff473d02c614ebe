Feature: functions and schemas from outside

  Scenario: a function of a catalog
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: "https://catalog.example/main"}}}
      do:
        - hello: {call: "greet:1.0.0@team", with: {name: "${ .who }"}}
      """
    And GET https://catalog.example/main/functions/greet/1.0.0/function.yaml answers:
      """
      input: {schema: {document: {type: object, required: [name]}}}
      set: {text: '${ "Hello \(.name)" }'}
      """
    And the workflow input is:
      """
      {who: Ada}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {text: Hello Ada}
      """

  Scenario: two versions of a function side by side
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: {uri: "https://catalog.example/main/"}}}}
      do:
        - one: {call: "v:1.0.0@team"}
        - two: {call: "v:2.0.0@team"}
      """
    And GET https://catalog.example/main/functions/v/1.0.0/function.yaml answers:
      """
      {set: {seen: [1]}}
      """
    And GET https://catalog.example/main/functions/v/2.0.0/function.yaml answers:
      """
      {set: {seen: "${ .seen + [2] }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {seen: [1, 2]}
      """

  Scenario: a function checks its input with its own schema
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: "https://catalog.example/main"}}}
      do:
        - hello: {call: "greet:1.0.0@team", with: {nme: Ada}}
      """
    And GET https://catalog.example/main/functions/greet/1.0.0/function.yaml answers:
      """
      input: {schema: {document: {type: object, required: [name]}}}
      set: {text: hi}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/validation, status: 400, "instance": "/do/0/hello/call/greet:1.0.0@team"}
      """

  Scenario Outline: pages of a hub are read as files
    Given a workflow with body:
      """
      use: {catalogs: {hub: {endpoint: "<page>"}}}
      do:
        - a: {call: "f:1.0.0@hub"}
      """
    And GET <file>/functions/f/1.0.0/function.yaml answers:
      """
      {set: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should complete

    Examples:
      | page                                            | file                                                 |
      | https://github.com/team/repo/tree/main/sub      | https://raw.githubusercontent.com/team/repo/main/sub |
      | https://gitlab.com/team/repo/-/tree/main        | https://gitlab.com/team/repo/-/raw/main              |

  Scenario: a function by its URL
    Given a workflow with tasks:
      """
      - a: {call: "https://example.com/functions/f.yaml", with: {n: 1}}
      """
    And GET https://example.com/functions/f.yaml answers:
      """
      {set: {n: "${ .n + 1 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2}
      """

  Scenario: a function from outside calls another one
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: "https://catalog.example/main"}}}
      do:
        - a: {call: "outer:1.0.0@team", with: {n: 1}}
      """
    And GET https://catalog.example/main/functions/outer/1.0.0/function.yaml answers:
      """
      {do: [{x: {call: "inner:1.0.0@team", with: {n: "${ .n + 1 }"}}}]}
      """
    And GET https://catalog.example/main/functions/inner/1.0.0/function.yaml answers:
      """
      {set: {n: "${ .n * 10 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 20}
      """

  Scenario: a function that is a call, from outside
    Given a workflow with tasks:
      """
      - a: {call: "https://example.com/pet.yaml", with: {id: 7}}
      """
    And GET https://example.com/pet.yaml answers:
      """
      {call: http, with: {method: get, endpoint: "http://pets/{id}"}}
      """
    And GET http://pets/7 answers:
      """
      {name: Rex}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: Rex}
      """

  Scenario: a function of a catalog for each message that is taken
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: "http://catalog"}}}
      do:
        - take: {call: asyncapi, with: {document: {endpoint: "http://docs/pets.json"}, channel: pets, subscription: {consume: {amount: 2}, foreach: {do: [{greet: {call: "greet:1.0.0@team", with: {name: "${ .payload }"}}}]}}}}
      """
    And GET http://catalog/functions/greet/1.0.0/function.yaml answers:
      """
      {set: "${ \"Hello \" + .name }"}
      """
    And GET http://docs/pets.json answers:
      """
      {asyncapi: 2.6.0, servers: {main: {url: "http://hub", protocol: http}}, channels: {pets: {}}}
      """
    And GET http://hub/pets answers:
      """
      [Rex, Tom]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [Hello Rex, Hello Tom]
      """

  Scenario: a function of the document comes before one of a catalog
    Given a workflow with body:
      """
      use: {functions: {"f:1.0.0@team": {set: {mine: true}}}}
      do:
        - a: {call: "f:1.0.0@team"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {mine: true}
      """

  Scenario: text in data that looks like a call is data
    Given a workflow with tasks:
      """
      - a: {set: {call: "https://example.com/nothing.yaml"}}
      """
    When the workflow is executed
    Then the workflow should complete

  Scenario: a catalog that is not there is refused
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: "https://catalog.example/main"}}}
      do:
        - a: {call: "f:1.0.0@teams"}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a/call because: did you mean "team"

  Scenario: a function that is not there is refused
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: "https://catalog.example/main"}}}
      do:
        - a: {call: "f:1.0.0@team"}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a/call because: nobody is there

  Scenario: what is wrong with a function from outside is refused
    Given a workflow with tasks:
      """
      - a: {call: "https://example.com/bad.yaml"}
      """
    And GET https://example.com/bad.yaml answers:
      """
      {sett: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should be refused at /use/functions/https:~1~1example.com~1bad.yaml because: did you mean "set"

  Scenario: a catalog needs an endpoint
    Given a workflow with body:
      """
      use: {catalogs: {team: {url: "https://catalog.example"}}}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /use/catalogs/team because: endpoint

  Scenario: the catalog of the runtime has a name of its own, and there is none here
    Given a workflow with body:
      """
      use: {catalogs: {default: {endpoint: "http://catalog"}}}
      do:
        - say: {call: "greet:1.0.0@default"}
      """
    When the workflow is executed
    Then the workflow should be refused at /use/catalogs/default because: is the runtime's own

  Scenario: the authentication of a catalog is refused by name
    Given a workflow with body:
      """
      use: {catalogs: {team: {endpoint: {uri: "https://c.example", authentication: {basic: {username: a, password: b}}}}}}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /use/catalogs/team/endpoint/authentication because: not supported yet

  Scenario Outline: a schema in another file
    Given a workflow with body:
      """
      input: {schema: {resource: {endpoint: "https://schemas.example/order.json"}}}
      do:
        - a: {set: {ok: true}}
      """
    And GET https://schemas.example/order.json answers:
      """
      {type: object, required: [items], properties: {items: {type: array, items: {$ref: "item.json#/$defs/item"}}}}
      """
    And GET https://schemas.example/item.json answers:
      """
      {$defs: {item: {type: object, required: [sku], properties: {next: {$ref: "#/$defs/item"}}}}}
      """
    And the workflow input is:
      """
      <given>
      """
    When the workflow is executed
    Then the workflow should <end>

    Examples:
      | given                                      | end      |
      | {items: [{sku: a}]}                        | complete |
      | {items: [{sku: a, next: {sku: b}}]}        | complete |
      | {items: [{}]}                              | fault    |
      | {items: [{sku: a, next: {}}]}              | fault    |
      | {}                                         | fault    |

  Scenario: a schema of the document refers to one outside
    Given a workflow with tasks:
      """
      - a: {set: {n: text}, output: {schema: {document: {properties: {n: {$ref: "https://schemas.example/number.json"}}}}}}
      """
    And GET https://schemas.example/number.json answers:
      """
      {type: number}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/validation, status: 400, instance: /do/0/a}
      """

  Scenario: a schema that is not there is refused
    Given a workflow with tasks:
      """
      - a: {set: {n: 1}, output: {schema: {resource: {endpoint: "https://schemas.example/none.json"}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a/output/schema/resource because: nobody is there

  Scenario: a resource needs an endpoint
    Given a workflow with tasks:
      """
      - a: {set: {n: 1}, output: {schema: {resource: {name: x}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a/output/schema/resource because: endpoint
