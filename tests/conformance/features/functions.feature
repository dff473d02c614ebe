Feature: functions of the document

  Scenario: a function is called with its arguments as input
    Given a workflow with body:
      """
      use:
        functions:
          greet: {set: {text: '${ "Hello \(.name)" }'}}
      do:
        - hello: {call: greet, with: {name: "${ .who }"}}
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
    And greet should run before hello

  Scenario: without arguments it gets the input of the call
    Given a workflow with body:
      """
      use: {functions: {count: {set: {n: "${ .n + 1 }"}}}}
      do:
        - one: {call: count}
        - two: {call: count, output: {as: "{total: .n}"}}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {total: 3}
      """
    And count should run 2 times

  Scenario: a function may be a call itself
    Given a workflow with body:
      """
      use:
        functions:
          pet: {call: http, with: {method: get, endpoint: "http://pets/{id}"}}
      do:
        - get: {call: pet, with: {id: 7}}
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

  Scenario: functions call functions
    Given a workflow with body:
      """
      use:
        functions:
          twice: {do: [{a: {call: once}}, {b: {call: once}}]}
          once: {set: {n: "${ .n + 1 }"}}
      do:
        - four: {do: [{x: {call: twice}}, {y: {call: twice}}]}
      """
    And the workflow input is:
      """
      {n: 0}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 4}
      """

  Scenario: an error inside a function names the place of the call
    Given a workflow with body:
      """
      use: {functions: {bad: {raise: {error: {type: https://example.com/e, status: 500}}}}}
      do:
        - try: {call: bad}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 500, instance: /do/0/try/call/bad}
      """

  Scenario: a function sees nothing of its caller
    Given a workflow with body:
      """
      use: {functions: {peek: {set: {n: "${ $item }"}}}}
      do:
        - loop: {for: {in: "[1]"}, do: [{a: {call: peek}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /use/functions/peek/set/n because: no variable $item

  Scenario: a function may take no longer than the call allows
    Given a workflow with body:
      """
      use: {functions: {slow: {wait: PT1H}}}
      do:
        - a: {call: slow, timeout: {after: PT1M}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 408, instance: /do/0/a}
      """
    And the run should take 60 seconds

  Scenario: a function that calls itself is refused
    Given a workflow with body:
      """
      use: {functions: {a: {do: [{x: {call: b}}]}, b: {do: [{y: {call: a}}]}}}
      do:
        - go: {call: a}
      """
    When the workflow is executed
    Then the workflow should be refused at /use/functions/a/do/0/x/call/b/do/0/y/call because: part of itself

  Scenario: a function that does not exist is refused
    Given a workflow with tasks:
      """
      - go: {call: nothing}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/go/call because: there is no function "nothing"
