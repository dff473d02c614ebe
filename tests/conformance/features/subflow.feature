Feature: run another workflow

  Background:
    Given another workflow with definition:
      """
      document: {dsl: '1.0.3', namespace: shop, name: double, version: '1.0.0'}
      input: {schema: {document: {type: object, required: [n]}}}
      do: [{twice: {set: {n: "${ .n * 2 }", by: one}}}]
      """
    And another workflow with definition:
      """
      document: {dsl: '1.0.3', namespace: shop, name: double, version: '1.10.0'}
      do: [{twice: {set: {n: "${ .n * 2 }", by: ten}}}]
      """
    And another workflow with definition:
      """
      document: {dsl: '1.0.3', namespace: shop, name: double, version: '1.9.0'}
      do: [{boom: {raise: {error: {type: https://shop.example/e, status: 418, title: tea}}}}]
      """

  Scenario: its output is the output
    Given a workflow with tasks:
      """
      - sub: {run: {workflow: {namespace: shop, name: double, version: 1.0.0, input: {n: "${ .a }"}}}}
      - after: {set: "${ . }"}
      """
    And the workflow input is:
      """
      {a: 4}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 8, by: one}
      """
  Scenario: the latest version is the highest
    Given a workflow with tasks:
      """
      - sub: {run: {workflow: {namespace: shop, name: double, input: {n: 1}}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2, by: ten}
      """

  Scenario: nobody waits for it
    Given a workflow with tasks:
      """
      - sub: {run: {await: false, workflow: {namespace: shop, name: double, input: {n: 1}}}}
      """
    And the workflow input is:
      """
      {kept: true}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {kept: true}
      """

  Scenario: its error is an error of the task
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - sub: {run: {workflow: {namespace: shop, name: double, version: 1.9.0, input: {n: 1}}}}
          catch: {errors: {with: {type: https://shop.example/e}}, do: [{handle: {set: {status: "${ $error.status }", at: "${ $error.instance }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {status: 418, at: /do/0/attempt/try/0/sub}
      """

  Scenario: its input is held to its schema
    Given a workflow with tasks:
      """
      - sub: {run: {workflow: {namespace: shop, name: double, version: 1.0.0, input: {m: 1}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "https://serverlessworkflow.io/spec/1.0.0/errors/validation", status: 400, instance: /do/0/sub}
      """

  Scenario Outline: a workflow that is not there
    Given a workflow with tasks:
      """
      - sub: {run: {workflow: {namespace: shop, name: <name>, version: <version>}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "https://serverlessworkflow.io/spec/1.0.0/errors/configuration", status: 400, instance: /do/0/sub}
      """
    And the detail of the error should say: <reason>

    Examples:
      | name   | version | reason             |
      | nobody | 1.0.0   | no workflow called |
      | double | 7.0.0   | no version 7.0.0   |

  Scenario: side by side, and in a loop
    Given a workflow with tasks:
      """
      - both:
          fork:
            branches:
              - x: {run: {workflow: {namespace: shop, name: double, version: 1.0.0, input: {n: 1}}}}
              - y:
                  for: {in: "[1, 2]"}
                  do: [{z: {run: {workflow: {namespace: shop, name: double, version: 1.0.0, input: {n: "${ .n }"}}}}}]
      """
    And the workflow input is:
      """
      {n: 3}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{n: 2, by: one}, {n: 12, by: one}]
      """

  Scenario: it takes its time
    Given another workflow with definition:
      """
      document: {dsl: '1.0.3', namespace: shop, name: slow, version: '1.0.0'}
      do: [{rest: {wait: PT5S}}, {twice: {set: {n: "${ .n * 2 }"}}}]
      """
    And a workflow with tasks:
      """
      - sub: {run: {workflow: {namespace: shop, name: slow, input: {n: 4}}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 8}
      """
    And the run should take 5 seconds

  Scenario: the end of a time limit does not wait for it
    Given another workflow with definition:
      """
      document: {dsl: '1.0.3', namespace: shop, name: slow, version: '1.0.0'}
      do: [{rest: {wait: PT5S}}, {twice: {set: {n: "${ .n * 2 }"}}}]
      """
    And a workflow with tasks:
      """
      - attempt:
          try:
            - slow:
                timeout: {after: PT2S}
                do: [{sub: {run: {workflow: {namespace: shop, name: slow, version: 1.0.0, input: {n: 1}}}}}]
          catch: {errors: {with: {type: timeout}}, do: [{handle: {set: {late: true}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {late: true}
      """
    And the run should take 2 seconds
