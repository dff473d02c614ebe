Feature: servers of the Model Context Protocol that are programs

  Scenario: a tool of a server that is started for the call
    Given running mcp is allowed
    And a server of the Model Context Protocol is installed as pets-server
    And a workflow with tasks:
      """
      - add:
          call: mcp
          with:
            method: tools/call
            parameters: {name: add, arguments: {numbers: [1, "${ .n }"]}}
            transport: {stdio: {command: pets-server, arguments: [--plain, 3], environment: {UNIT: "${ .unit }"}}}
            client: {name: me, version: "2"}
      """
    And the workflow input is:
      """
      {n: 41, unit: pets}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {content: [{type: text, text: 42 pets}]}
      """

  Scenario: the pages of its lists are put together
    Given running mcp is allowed
    And a server of the Model Context Protocol is installed as pets-server
    And a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/list, transport: {stdio: {command: pets-server}}}, output: {as: "[.tools[].name]"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [add, rest]
      """

  Scenario: a secret in its environment is in no output
    Given running mcp is allowed
    And a server of the Model Context Protocol is installed as pets-server
    And the secret "pets" is:
      """
      {unit: s3cret-unit}
      """
    And a workflow with body:
      """
      use: {secrets: [pets]}
      do:
        - add: {call: mcp, with: {method: tools/call, parameters: {name: add, arguments: {numbers: [1]}}, transport: {stdio: {command: pets-server, environment: {UNIT: "${ $secrets.pets.unit }"}}}}}
      """
    When the workflow is executed
    Then the workflow should complete
    And "s3cret-unit" should be written nowhere

  Scenario: an error that it tells of
    Given running mcp is allowed
    And a server of the Model Context Protocol is installed as pets-server
    And a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: prompts/list, transport: {stdio: {command: pets-server}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/runtime, status: 500, instance: /do/0/ask}
      """
    And the detail of the error should say: pets-server: no such method (-32601)

  Scenario: a server that ends at once says why
    Given running mcp is allowed
    And a server of the Model Context Protocol is installed as pets-server
    And a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/list, transport: {stdio: {command: pets-server, arguments: [--broken]}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/runtime, status: 500}
      """
    And the detail of the error should say: ended with code 1: the server has no configuration

  Scenario: a server that is not installed
    Given running mcp is allowed
    And a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/list, transport: {stdio: {command: no-such-server}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400}
      """
    And the detail of the error should say: there is no no-such-server here

  Scenario: what nobody allowed is not started
    Given a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/list, transport: {stdio: {command: pets-server}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration, status: 400}
      """
    And the detail of the error should say: --allow mcp

  Scenario: the call has a time limit of its own
    Given running mcp is allowed
    And a server of the Model Context Protocol is installed as pets-server
    And a workflow with tasks:
      """
      - ask: {call: mcp, with: {method: tools/list, timeout: {milliseconds: 300}, transport: {stdio: {command: pets-server, arguments: [--silent]}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout, status: 408, instance: /do/0/ask}
      """

  Scenario Outline: what is wrong with such a server is told before it runs
    Given a workflow with tasks:
      """
      - ask: {<more>call: mcp, with: {method: tools/list, <with>}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/ask/with<at> because: <why>

    Examples:
      | more              | with                                                               | at                         | why            |
      |                   | transport: {stdio: {}}                                             | /transport/stdio           | name the program |
      |                   | transport: {stdio: {command: x, arguments: {a: 1}}}                | /transport/stdio/arguments | list           |
      |                   | transport: {stdio: {command: x, shell: true}}                      | /transport/stdio/shell     | shell          |
      |                   | transport: {stdio: {command: x}, http: {endpoint: "http://a"}}     |                            | both           |
      |                   | transport: {stdio: {command: x}, options: {a: 1}}                  | /transport/options         | not supported  |
      |                   | timeout: soon, transport: {stdio: {command: x}}                    | /timeout                   | not a duration |
      | timeout: {after: PT1S}, | timeout: PT2S, transport: {stdio: {command: x}}              | /timeout                   | one of them    |
