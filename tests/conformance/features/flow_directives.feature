Feature: where a task leads

  Scenario: continue is what happens when nothing is said
    Given a workflow with tasks:
      """
      - one: {set: {n: 1}, then: continue}
      - two: {set: {n: "${ .n + 1 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2}
      """

  Scenario: a jump forward leaves tasks out
    Given a workflow with tasks:
      """
      - one: {set: {n: 1}, then: three}
      - two: {set: {n: 2}}
      - three: {set: {n: "${ .n + 10 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 11}
      """
    And two should not run

  Scenario: a jump back makes a loop
    Given a workflow with tasks:
      """
      - count: {set: {n: "${ (.n // 0) + 1 }"}}
      - enough: {switch: [{no: {when: .n < 5, then: count}}]}
      """
    And the workflow input is:
      """
      {}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 5}
      """
    And count should run 5 times

  Scenario: end ends the workflow from any depth
    Given a workflow with tasks:
      """
      - outer:
          do:
            - inner: {do: [{stop: {set: {done: true}, then: end}}]}
            - never: {set: {done: false}}
      - neither: {set: {done: false}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {done: true}
      """
    And never should not run
    And neither should not run

  Scenario: exit leaves the list it is in and no other
    Given a workflow with tasks:
      """
      - outer:
          do:
            - stop: {set: {n: 1}, then: exit}
            - never: {set: {n: 2}}
      - after: {set: {n: "${ .n + 10 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 11}
      """
    And never should not run

  Scenario: exit in the outermost list ends the workflow
    Given a workflow with tasks:
      """
      - stop: {set: {n: 1}, then: exit}
      - never: {set: {n: 2}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """

  Scenario: exit inside a loop goes on with the next item
    Given a workflow with tasks:
      """
      - loop:
          for: {in: "[1, 2, 3]"}
          do:
            - add: {set: {n: "${ (.n // 0) + $item }"}, then: exit}
            - never: {set: {n: 0}}
      """
    And the workflow input is:
      """
      {}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 6}
      """

  Scenario: end inside a loop ends the workflow
    Given a workflow with tasks:
      """
      - loop:
          for: {in: "[1, 2, 3]"}
          do:
            - look: {switch: [{two: {when: $item == 2, then: end}}]}
            - note: {set: {seen: "${ $item }"}}
      - after: {set: {seen: all}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {seen: 1}
      """

  Scenario: the output of the workflow is shaped when it is ended from inside
    Given a workflow with body:
      """
      output: {as: "{result: .n}"}
      do:
        - outer: {do: [{stop: {set: {n: 7}, then: end}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {result: 7}
      """

  Scenario: a jump to a task that does not exist is refused
    Given a workflow with tasks:
      """
      - one: {set: {n: 1}, then: tow}
      - two: {set: {n: 2}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/one/then because: did you mean "two"

  Scenario: a jump into another list is refused
    Given a workflow with tasks:
      """
      - one: {set: {n: 1}, then: inner}
      - two: {do: [{inner: {set: {n: 2}}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/one/then because: no such task

  Scenario: a jump out of a list to a task outside is refused
    Given a workflow with tasks:
      """
      - two: {do: [{inner: {set: {n: 2}, then: three}}]}
      - three: {set: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/two/do/0/inner/then because: no such task

  Scenario: a case of a switch that leads nowhere is refused
    Given a workflow with tasks:
      """
      - choose: {switch: [{a: {when: "true", then: nowhere}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/choose/switch/0/a/then because: no such task

  Scenario: a task whose condition does not hold is left out, and gives on what it got
    Given a workflow with tasks:
      """
      - maybe: {if: .run, set: {ran: true}, output: {as: "{shaped: true}"}, export: {as: "{e: 1}"}}
      """
    And the workflow input is:
      """
      {run: false}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {run: false}
      """
    And the exported context should be:
      """
      null
      """
    And maybe should not run

  Scenario: a task that is left out does not lead where it would have led
    Given a workflow with tasks:
      """
      - maybe: {if: "false", set: {n: 1}, then: end}
      - next: {set: {n: 2}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2}
      """

  Scenario: a condition sees the raw input
    Given a workflow with tasks:
      """
      - maybe: {if: .n == 1, input: {from: "{n: 2}"}, set: {got: "${ .n }"}}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {got: 2}
      """

  Scenario: a condition that fails is an error
    Given a workflow with tasks:
      """
      - maybe: {if: .a.b.c, set: {n: 1}}
      """
    And the workflow input is:
      """
      {a: 1}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/expression, status: 400, instance: /do/0/maybe}
      """
