Feature: expressions

  Scenario: in strict mode only a whole ${ } is an expression
    Given a workflow with tasks:
      """
      - one: {set: {a: .x, b: "${ .x }", c: "x is ${ .x }", d: "$.x"}}
      """
    And the workflow input is:
      """
      {x: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {a: .x, b: 1, c: "x is ${ .x }", d: "$.x"}
      """

  Scenario: jq puts values into text itself
    Given a workflow with tasks:
      """
      - one: {set: {text: '${ "Hello \(.name)!" }'}}
      """
    And the workflow input is:
      """
      {name: Ada}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {text: Hello Ada!}
      """

  Scenario: in loose mode any text that is jq is evaluated
    Given a workflow with body:
      """
      evaluate: {mode: loose}
      do:
        - one: {set: {a: .x, b: "${ .x }", c: hello, d: "not jq at all", e: .x.y.z}}
      """
    And the workflow input is:
      """
      {x: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {a: 1, b: 1, c: hello, d: not jq at all, e: .x.y.z}
      """

  Scenario: another mode is refused
    Given a workflow with body:
      """
      evaluate: {mode: lose}
      do: [{one: {set: {a: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /evaluate/mode because: did you mean "loose"

  Scenario: another language is refused
    Given a workflow with body:
      """
      evaluate: {language: js}
      do: [{one: {set: {a: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /evaluate/language because: use jq

  Scenario Outline: properties that are expressions may be bare or not
    Given a workflow with tasks:
      """
      - one: {if: "<if>", input: {from: "<from>"}, set: {n: "${ . }"}, output: {as: "<as>"}}
      """
    And the workflow input is:
      """
      {x: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      1
      """

    Examples:
      | if              | from     | as       |
      | .x == 1         | .x       | .n       |
      | ${ .x == 1 }    | ${ .x }  | ${ .n }  |
      | ${.x==1}        | ${.x}    | ${.n}    |

  Scenario: an expression that yields nothing is null
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ empty }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {a: null}
      """

  Scenario: an expression that yields several values is an array
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ 1, 2, 3 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {a: [1, 2, 3]}
      """

  Scenario: text in data is never an expression
    Given a workflow with tasks:
      """
      - one: {set: {copy: "${ .given }"}}
      - two: {set: {again: "${ .copy }"}}
      """
    And the workflow input is:
      """
      {given: "${ $workflow.id }"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {again: "${ $workflow.id }"}
      """

  Scenario: an expression that fails is an expression error at its task
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ .x + {} }"}}
      """
    And the workflow input is:
      """
      {x: 1}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/expression, status: 400, title: Expression Error, instance: /do/0/one}
      """

  Scenario: an endless expression is stopped
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ [repeat(1)] }"}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 400, instance: /do/0/one}
      """

  Scenario: the environment is not to be seen
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ env }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {a: {}}
      """

  Scenario: what is not jq is refused
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ .x + }"}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/one/set/a because: is not jq

  Scenario: two expressions in one text are refused with the remedy
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ .x } and ${ .y }"}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/one/set/a because: with jq itself

  Scenario: $task describes the task
    Given a workflow with tasks:
      """
      - one: {set: {name: "${ $task.name }", ref: "${ $task.reference }", keys: "${ $task.definition | keys }", at: "${ $task.startedAt }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: one, ref: /do/0/one, keys: [set], at: {iso8601: "2025-06-15T15:06:40.000Z", epoch: {seconds: 1750000000, milliseconds: 1750000000000}}}
      """

  Scenario: $workflow describes the run
    Given a workflow with tasks:
      """
      - one: {set: {id: "${ $workflow.id }", name: "${ $workflow.definition.document.name }", input: "${ $workflow.input }", at: "${ $workflow.startedAt.epoch.seconds }"}}
      """
    And the workflow input is:
      """
      {x: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {id: RUN_ID, name: case, input: {x: 1}, at: 1750000000}
      """

  Scenario: $runtime says what runs it
    Given a workflow with tasks:
      """
      - one: {set: {name: "${ $runtime.name }", fields: "${ $runtime | keys }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: onward, fields: [metadata, name, version]}
      """

  Scenario Outline: variables are there where the language says, and nowhere else
    Given a workflow with body:
      """
      <workflow>
      do:
        - one: {set: {a: 1}, <task>}
      """
    When the workflow is executed
    Then the workflow should be refused at <at> because: not available here

    Examples:
      | workflow                       | task                          | at                  |
      | input: {from: $context}        | then: end                     | /input/from         |
      | input: {from: $input}          | then: end                     | /input/from         |
      | input: {from: $task}           | then: end                     | /input/from         |
      | output: {as: $output}          | then: end                     | /output/as          |
      | output: {as: $input}           | then: end                     | /output/as          |
      | output: {as: $task}            | then: end                     | /output/as          |
      | timeout: {after: PT1H}         | if: $input.x                  | /do/0/one/if        |
      | timeout: {after: PT1H}         | input: {from: $input}         | /do/0/one/input/from |
      | timeout: {after: PT1H}         | input: {from: $output}        | /do/0/one/input/from |
      | timeout: {after: PT1H}         | output: {as: $output}         | /do/0/one/output/as |
      | timeout: {after: PT1H}         | if: $authorization            | /do/0/one/if |
      | timeout: {after: PT1H}         | input: {from: $authorization} | /do/0/one/input/from |
      | output: {as: $authorization}   | then: end                     | /output/as |
      | input: {from: $authorization}  | then: end                     | /input/from |

  Scenario Outline: and there where it says
    Given a workflow with body:
      """
      <workflow>
      do:
        - one: {set: {a: 1}, <task>}
      """
    When the workflow is executed
    Then the workflow should complete

    Examples:
      | workflow                                    | task                                                      |
      | input: {from: "[$workflow, $runtime]"}      | then: end                                                 |
      | output: {as: "[$context, $workflow, $runtime]"} | then: end                                             |
      | timeout: {after: PT1H}                      | if: "[$context, $task, $workflow, $runtime]"              |
      | timeout: {after: PT1H}                      | input: {from: "[$context, $task, $workflow, $runtime]"}   |
      | timeout: {after: PT1H}                      | output: {as: "[$context, $input, $task, $workflow]"}      |
      | timeout: {after: PT1H}                      | export: {as: "[$context, $input, $output, $task]"}        |
      | timeout: {after: PT1H}                      | output: {as: "[$authorization]"}                          |
      | timeout: {after: PT1H}                      | export: {as: "[$authorization]"}                          |

  Scenario: $authorization is nothing where nobody calls
    Given a workflow with tasks:
      """
      - one: {set: {a: "${ $authorization }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {a: null}
      """

  Scenario: a secret may not become data
    Given a workflow with body:
      """
      use: {secrets: [key]}
      do:
        - one: {set: {a: "${ $secrets.key }"}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/one/set/a because: must not become data
