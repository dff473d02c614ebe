Feature: fork

  Scenario: the outputs of all branches, in the order they are written
    Given a workflow with tasks:
      """
      - both:
          fork:
            branches:
              - slow: {do: [{w: {wait: PT5S}}, {s: {set: {who: slow}}}]}
              - quick: {set: {who: quick}}
              - middle: {do: [{v: {wait: PT2S}}, {m: {set: {who: middle}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{who: slow}, {who: quick}, {who: middle}]
      """
    And quick should run before middle
    And middle should run before slow
    And the run should take 5 seconds

  Scenario: every branch gets the shaped input of the fork
    Given a workflow with tasks:
      """
      - both:
          input: {from: .n}
          fork: {branches: [{a: {set: "${ . + 1 }"}}, {b: {set: "${ . * 10 }"}}]}
          output: {as: add}
      """
    And the workflow input is:
      """
      {n: 4}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      45
      """

  Scenario: the first branch of a race wins, and the others are cancelled
    Given a workflow with tasks:
      """
      - race:
          fork:
            compete: true
            branches:
              - slow: {do: [{w: {wait: PT5S}}, {s: {set: {who: slow}}}]}
              - quick: {do: [{v: {wait: PT2S}}, {q: {set: {who: quick}}}]}
      - after: {set: {winner: "${ .who }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {winner: quick}
      """
    And w should be cancelled
    And s should not run
    And the run should take 2 seconds

  Scenario: an error in one branch ends the others and is raised at the branch
    Given a workflow with tasks:
      """
      - both:
          fork:
            branches:
              - slow: {wait: PT1H}
              - bad: {do: [{v: {wait: PT2S}}, {boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 500, instance: /do/0/both/fork/branches/1/bad/do/1/boom}
      """
    And slow should be cancelled
    And the run should take 2 seconds

  Scenario: an error in a branch can be caught around the fork
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - both: {fork: {branches: [{slow: {wait: PT1H}}, {boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]}}
          catch: {do: [{handle: {set: {caught: "${ $error.status }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {caught: 500}
      """
    And both should fault

  Scenario: an error in a branch can be caught in the branch
    Given a workflow with tasks:
      """
      - both:
          fork:
            branches:
              - good: {set: {n: 1}}
              - saved:
                  try: [{boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]
                  catch: {do: [{handle: {set: {n: 2}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{n: 1}, {n: 2}]
      """

  Scenario: a fork can be tried again
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - both:
                fork:
                  branches:
                    - fine: {set: {n: 1}}
                    - get: {call: http, with: {method: get, endpoint: http://pets/1}}
          catch: {retry: {delay: PT1S, limit: {attempt: {count: 2}}}}
      """
    And GET http://pets/1 answers in turn:
      """
      [{status: 500}, {status: 500}, [ok]]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{n: 1}, [ok]]
      """
    And the run should take 2 seconds

  Scenario: branches export to copies of the context, and the fork exports for them
    Given a workflow with tasks:
      """
      - before: {set: {a: 1}, export: {as: .}}
      - both:
          fork: {branches: [{x: {set: {a: 2}, export: {as: .}}}, {y: {set: {a: "${ $context.a + 10 }"}}}]}
          export: {as: "{before: $context, branches: map(.a)}"}
      - after: {set: "${ $context }"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {before: {a: 1}, branches: [2, 11]}
      """

  Scenario: the variables around a fork are seen in its branches
    Given a workflow with tasks:
      """
      - rows:
          for: {each: row, in: "[1, 2]"}
          do:
            - both: {fork: {branches: [{a: {set: "${ $row }"}}, {b: {set: "${ $row * 10 + $index }"}}]}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [2, 21]
      """

  Scenario: forks nest
    Given a workflow with tasks:
      """
      - outer:
          fork:
            branches:
              - left: {fork: {branches: [{a: {set: {n: 1}}}, {b: {wait: PT1S}}]}}
              - right: {fork: {compete: true, branches: [{c: {wait: PT9S}}, {d: {set: {n: 4}}}]}}
      """
    And the workflow input is:
      """
      {given: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [[{n: 1}, {given: 1}], {n: 4}]
      """

  Scenario: a fork of one branch
    Given a workflow with tasks:
      """
      - one: {fork: {branches: [{a: {set: {n: 1}}}]}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [{n: 1}]
      """

  Scenario: a branch can end the workflow
    Given a workflow with tasks:
      """
      - both: {fork: {branches: [{slow: {wait: PT1H}}, {stop: {do: [{v: {wait: PT2S}}, {s: {set: {n: 1}, then: end}}]}}]}}
      - never: {set: {n: 2}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """
    And slow should be cancelled
    And never should not run

  Scenario: a fork may have a timeout
    Given a workflow with tasks:
      """
      - both: {timeout: {after: PT5S}, fork: {branches: [{slow: {wait: PT1H}}, {quick: {set: {n: 1}}}]}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 408, instance: /do/0/both}
      """
    And slow should be cancelled
    And the run should take 5 seconds

  Scenario: a race may have a timeout and be won before
    Given a workflow with tasks:
      """
      - race: {timeout: {after: PT5S}, fork: {compete: true, branches: [{slow: {wait: PT1H}}, {quick: {wait: PT3S}}]}}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """
    And the run should take 3 seconds

  Scenario: a fork in a loop, again and again
    Given a workflow with tasks:
      """
      - loop:
          for: {in: "[range(20)]"}
          do:
            - both: {fork: {branches: [{a: {set: {n: "${ .n + 1 }"}}}, {b: {wait: PT1S}}]}}
            - unite: {set: {n: "${ .[0].n }"}}
      """
    And the workflow input is:
      """
      {n: 0}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 20}
      """
    And the run should take 20 seconds

  Scenario: a branch cannot lead to another
    Given a workflow with tasks:
      """
      - both: {fork: {branches: [{a: {set: {n: 1}, then: b}}, {b: {set: {n: 2}}}]}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/both/fork/branches/0/a/then because: have no next

  Scenario: a fork needs branches
    Given a workflow with tasks:
      """
      - both: {fork: {compete: true}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/both/fork/branches because: list of tasks
