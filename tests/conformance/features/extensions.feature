Feature: extensions

  Scenario: tasks before and after every task
    Given a workflow with body:
      """
      use:
        extensions:
          - note:
              extend: all
              before: [{in: {set: {at: "${ $task.reference }"}}}]
              after: [{out: {set: {at: "${ $task.name }", of: "${ . }"}}}]
      do:
        - one: {set: {n: 1}}
        - two: {set: {n: "${ .n + 1 }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2}
      """
    And in should run before one
    And out should run before two
    And in should run first
    And two should run last

  Scenario: what an extension yields does not change the data
    Given a workflow with body:
      """
      use:
        extensions:
          - noise: {extend: set, before: [{a: {set: {x: 1}}}], after: [{b: {set: {y: 2}}}]}
      do:
        - one: {set: {given: "${ . }"}}
      """
    And the workflow input is:
      """
      {k: v}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {given: {k: v}}
      """

  Scenario Outline: an extension is for tasks of a kind
    Given a workflow with body:
      """
      use: {extensions: [{mark: {extend: <kind>, before: [{mark: {set: {x: 1}}}]}}]}
      do:
        - one: <task>
      """
    When the workflow is executed
    Then mark should run <times>

    Examples:
      | kind      | task                                                                    | times   |
      | all       | {set: {n: 1}}                                                           | once    |
      | set       | {set: {n: 1}}                                                           | once    |
      | wait      | {set: {n: 1}}                                                           | 0 times |
      | wait      | {wait: PT1S}                                                            | once    |
      | composite | {do: [{a: {set: {n: 1}}}]}                                              | once    |
      | composite | {fork: {branches: [{a: {set: {n: 1}}}]}}                                | once    |
      | composite | {for: {in: "[1]"}, do: [{a: {set: {n: 1}}}]}                            | 0 times |
      | for       | {for: {in: "[1, 2]"}, do: [{a: {set: {n: 1}}}]}                         | once    |
      | all       | {for: {in: "[1, 2]"}, do: [{a: {set: {n: 1}}}]}                         | 3 times |
      | try       | {try: [{a: {set: {n: 1}}}], catch: {}}                                  | once    |
      | switch    | {switch: [{a: {then: end}}]}                                            | once    |
      | raise     | {raise: {error: {type: "https://example.com/e", status: 500}}}          | once    |
      | call      | {call: http, with: {method: get, endpoint: "http://nobody/"}}           | once    |

  Scenario: a condition about the task
    Given a workflow with body:
      """
      use:
        extensions:
          - loud: {extend: set, when: '$task.name == "two" and $task.set.n == 2', before: [{mark: {set: {x: 1}}}]}
      do:
        - one: {set: {n: 1}}
        - two: {set: {n: 2}}
      """
    When the workflow is executed
    Then mark should run once
    And mark should run after one

  Scenario: an extension stands in for a service
    Given a workflow with body:
      """
      use:
        extensions:
          - mock:
              extend: call
              when: '$task.with.endpoint | startswith("http://mocked")'
              before:
                - answer: {set: {statusCode: 200, content: {name: Rex}}, then: exit}
                - never: {set: {x: 1}}
      do:
        - get: {call: http, with: {method: get, endpoint: "http://mocked/pet"}, output: {as: .content.name}}
        - after: {set: {name: "${ . }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: Rex}
      """
    And 0 requests should arrive
    And never should not run

  Scenario: an extension that calls a service, before and after a call
    Given a workflow with body:
      """
      use:
        extensions:
          - log:
              extend: call
              before: [{tell: {call: http, with: {method: post, endpoint: "http://log/before", body: {task: "${ $task.reference }"}}}}]
              after: [{told: {call: http, with: {method: post, endpoint: "http://log/after", body: {output: "${ $task.output }"}}}}]
      do:
        - get: {call: http, with: {method: get, endpoint: "http://pets/1"}}
        - done: {set: {pet: "${ .name }"}}
      """
    And POST http://log/before answers:
      """
      {}
      """
    And POST http://log/after answers:
      """
      {}
      """
    And GET http://pets/1 answers:
      """
      {name: Rex}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {pet: Rex}
      """
    And 3 requests should arrive
    And the body of 1st request should hold: "/do/0/get"
    And the body of 3rd request should hold: {"output":{"name":"Rex"}}
    And get should run once

  Scenario: two extensions, one after the other
    Given a workflow with body:
      """
      use:
        extensions:
          - a: {extend: all, before: [{a1: {set: {x: 1}}}], after: [{a2: {set: {x: 1}}}]}
          - b: {extend: all, before: [{b1: {set: {x: 1}}}], after: [{b2: {set: {x: 1}}}]}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is executed
    Then a1 should run before b1
    And b1 should run before one
    And a2 should run before b2
    And a2 should run after b1

  Scenario: an error in an extension is the task's, at its own place
    Given a workflow with body:
      """
      use:
        extensions:
          - bad: {extend: set, before: [{oops: {raise: {error: {type: "https://example.com/e", status: 500}}}}]}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 500, instance: /do/0/one/extensions/bad/before/0/oops}
      """

  Scenario: an error before a try is not caught by it
    Given a workflow with body:
      """
      use:
        extensions:
          - bad: {extend: try, before: [{oops: {raise: {error: {type: "https://example.com/e", status: 500}}}}]}
      do:
        - one: {try: [{a: {set: {n: 1}}}], catch: {}}
      """
    When the workflow is executed
    Then the workflow should fault

  Scenario: an extended switch leads where it decided
    Given a workflow with body:
      """
      use: {extensions: [{a: {extend: switch, after: [{mark: {set: {x: 1}}}]}}]}
      do:
        - choose: {switch: [{yes: {when: .ok, then: there}}, {no: {then: end}}]}
        - between: {set: {n: 1}}
        - there: {set: {n: 2}}
      """
    And the workflow input is:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2}
      """
    And between should not run
    And mark should run before there

  Scenario: a fork inside an extension still knows the task
    Given a workflow with body:
      """
      use:
        extensions:
          - both:
              extend: set
              before: [{split: {fork: {branches: [{x: {call: http, with: {method: post, endpoint: "http://log/1", body: {n: "${ $task.name }"}}}}]}}}]
      do:
        - one: {set: {n: 1}}
      """
    And POST http://log/1 answers:
      """
      {}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """
    And the body of 1st request should hold: {"n":"one"}

  Scenario: an extended task in a branch of a fork
    Given a workflow with body:
      """
      use: {extensions: [{a: {extend: set, before: [{mark: {set: {x: 1}}}], after: [{mark2: {set: {x: 1}}}]}}]}
      do:
        - both: {fork: {branches: [{x: {set: {n: 1}}}, {y: {set: {n: 2}}}]}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{n: 1}, {n: 2}]
      """
    And mark should run 2 times

  Scenario: extensions while the worker dies again and again
    Given a workflow with body:
      """
      use:
        extensions:
          - slow: {extend: set, before: [{w: {wait: PT1S}}], after: [{v: {wait: PT1S}}]}
      do:
        - one: {set: {n: 1}}
        - two: {set: {n: "${ .n + 1 }"}}
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      {n: 2}
      """

  Scenario Outline: what is wrong with an extension is refused
    Given a workflow with body:
      """
      use: {extensions: [<extension>]}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /use/extensions/0<at> because: <why>

    Examples:
      | extension                                                       | at                       | why         |
      | {x: {extend: do, before: [{a: {set: {n: 1}}}]}}                 | /x/extend                | composite   |
      | {x: {before: [{a: {set: {n: 1}}}]}}                             | /x                       | extend      |
      | {x: {extend: all}}                                              | /x                       | neither     |
      | {x: {extend: all, before: [{a: {sett: {n: 1}}}]}}               | /x/before/0/a            | set         |
      | {x: {extend: all, when: "$nobody", before: [{a: {set: {n: 1}}}]}} | /x/when                | no variable |
      | {x: {extend: all, around: []}}                                  | /x/around                | before      |
      | {x: 1, y: 2}                                                    |                          | one key     |
