Feature: errors

  Scenario: raise ends the run with the error
    Given a workflow with tasks:
      """
      - boom: {raise: {error: {type: https://example.com/errors/full, status: 507, title: Full, detail: "${ .why }"}}}
      """
    And the workflow input is:
      """
      {why: no room}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://example.com/errors/full, status: 507, title: Full, detail: no room, instance: /do/0/boom}
      """
    And boom should fault

  Scenario: raise takes an error from use.errors
    Given a workflow with body:
      """
      use: {errors: {full: {type: https://example.com/errors/full, status: 507}}}
      do:
        - boom: {raise: {error: full}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://example.com/errors/full, status: 507, instance: /do/0/boom}
      """

  Scenario: an error that is not in use.errors is refused
    Given a workflow with body:
      """
      use: {errors: {full: {type: https://example.com/errors/full, status: 507}}}
      do:
        - boom: {raise: {error: ful}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/boom/raise/error because: did you mean "full"

  Scenario: an error needs a type and a status
    Given a workflow with tasks:
      """
      - boom: {raise: {error: {title: x}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/boom/raise/error because: has no "type"

  Scenario: a caught error is handled by the tasks of the catch
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - boom: {raise: {error: {type: https://example.com/e, status: 500}}}
            - never: {set: {n: 1}}
          catch:
            do:
              - handle: {set: {status: "${ $error.status }", at: "${ $error.instance }", data: "${ .x }"}}
      """
    And the workflow input is:
      """
      {x: 5}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {status: 500, at: /do/0/attempt/try/0/boom, data: 5}
      """
    And never should not run
    And boom should fault
    And attempt should complete

  Scenario: as names the error
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]
          catch: {as: problem, do: [{handle: {set: {status: "${ $problem.status }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {status: 500}
      """

  Scenario: a catch with nothing swallows the error and gives on the input of the try
    Given a workflow with tasks:
      """
      - attempt:
          try: [{a: {set: {changed: true}}}, {boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]
          catch: {}
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

  Scenario: a try without errors gives on the output of its last task
    Given a workflow with tasks:
      """
      - attempt:
          try: [{fine: {set: {n: 1}}}]
          catch: {do: [{handle: {set: {n: 2}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """
    And handle should not run

  Scenario Outline: errors are filtered by their fields
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - boom: {raise: {error: {type: https://example.com/e, status: 503, title: Busy, detail: later}}}
          catch:
            errors: {with: {<filter>}}
            do: [{handle: {set: {caught: true}}}]
          then: end
      """
    When the workflow is executed
    Then the workflow should <outcome>

    Examples:
      | filter                                    | outcome  |
      | type: https://example.com/e               | complete |
      | type: https://example.com/other           | fault    |
      | status: 503                               | complete |
      | status: 500                               | fault    |
      | type: https://example.com/e, status: 503  | complete |
      | type: https://example.com/e, status: 500  | fault    |
      | title: Busy                               | complete |
      | title: Idle                               | fault    |
      | detail: later                             | complete |
      | details: later                            | complete |
      | details: now                              | fault    |
      | instance: /do/0/attempt/try/0/boom        | complete |
      | instance: /do/0/attempt                   | fault    |

  Scenario Outline: standard types are the same however they are written
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {set: {a: "${ .x.y.z }"}}}]
          catch:
            errors: {with: {type: <type>}}
            do: [{handle: {set: {caught: true}}}]
      """
    And the workflow input is:
      """
      {x: 1}
      """
    When the workflow is executed
    Then the workflow should <outcome>

    Examples:
      | type                                                               | outcome  |
      | https://serverlessworkflow.io/spec/1.0.0/errors/expression         | complete |
      | https://serverlessworkflow.io/spec/1.0.3/errors/expression         | complete |
      | https://open-workflow-specification.org/spec/1.0.0/errors/expression | complete |
      | https://serverlessworkflow.io/dsl/errors/types/expression          | complete |
      | expression                                                         | complete |
      | https://serverlessworkflow.io/spec/1.0.0/errors/runtime            | fault    |
      | https://example.com/spec/1.0.0/errors/expression                   | fault    |

  Scenario Outline: when and exceptWhen see the error
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {<condition>, do: [{handle: {set: {caught: true}}}]}
      """
    When the workflow is executed
    Then the workflow should <outcome>

    Examples:
      | condition                          | outcome  |
      | when: .status == 503               | complete |
      | when: "${ .status == 500 }"        | fault    |
      | when: $error.status == 503         | complete |
      | exceptWhen: .status == 503         | fault    |
      | exceptWhen: $error.status == 500   | complete |

  Scenario: a condition of a catch that fails is an error of its own
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {when: .status.x.y, do: [{handle: {set: {caught: true}}}]}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/expression, instance: /do/0/attempt}
      """

  Scenario: an error that an inner try lets pass is caught by an outer one
    Given a workflow with tasks:
      """
      - outer:
          try:
            - inner:
                try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
                catch: {errors: {with: {status: 500}}, do: [{wrong: {set: {by: inner}}}]}
          catch: {do: [{right: {set: {by: outer, at: "${ $error.instance }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {by: outer, at: /do/0/outer/try/0/inner/try/0/boom}
      """
    And inner should fault

  Scenario: an error in a handler goes up, not back
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]
          catch: {do: [{again: {raise: {error: {type: https://example.com/f, status: 501}}}}]}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://example.com/f, status: 501, instance: /do/0/attempt/catch/do/0/again}
      """
    And again should run once

  Scenario: a handler may lead elsewhere than the try
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]
          catch: {do: [{handle: {set: {n: 1}}}], then: last}
      - skipped: {set: {n: 100}}
      - last: {set: {n: "${ .n + 1 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2}
      """

  Scenario: an error in a loop is caught outside it
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - loop:
                for: {in: "[1, 0, 2]"}
                do:
                  - divide: {set: {n: "${ 10 / $item }"}}
          catch: {do: [{handle: {set: {at: "${ $error.instance }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {at: /do/0/attempt/try/0/loop/do/0/divide}
      """

  Scenario: what was exported before an error stays
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - keep: {set: {a: 1}, export: {as: .}}
            - boom: {raise: {error: {type: https://example.com/e, status: 500}}}
          catch: {do: [{handle: {set: {context: "${ $context }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {context: {a: 1}}
      """

  Scenario: a try without catch is refused
    Given a workflow with tasks:
      """
      - attempt: {try: [{a: {set: {n: 1}}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/attempt because: no "catch"
