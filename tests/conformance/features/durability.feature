Feature: a run survives the death of its worker

  Scenario: in the middle of a loop
    Given a workflow with tasks:
      """
      - loop:
          for: {in: "[range(20)]"}
          do:
            - pause: {wait: PT1S}
            - add: {set: {n: "${ .n + $item }"}}
      """
    And the workflow input is:
      """
      {n: 0}
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      {n: 190}
      """
    And the run should take 20 seconds

  Scenario: in the middle of a fork
    Given a workflow with tasks:
      """
      - both:
          fork:
            branches:
              - a: {do: [{x: {wait: PT5S}}, {y: {wait: PT5S}}, {z: {set: {n: 1}}}]}
              - b: {do: [{u: {wait: PT7S}}, {v: {set: {n: 2}}}]}
              - c: {call: http, with: {method: get, endpoint: http://pets/1}}
      """
    And GET http://pets/1 answers:
      """
      {n: 3}
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      [{n: 1}, {n: 2}, {n: 3}]
      """
    And the run should take 10 seconds

  Scenario: in the middle of a race
    Given a workflow with tasks:
      """
      - race:
          fork: {compete: true, branches: [{a: {wait: PT5S}}, {b: {do: [{x: {wait: PT2S}}, {y: {set: {n: 2}}}]}}]}
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      {n: 2}
      """

  Scenario: between two attempts
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {retry: {delay: PT10S, backoff: {exponential: {}}, limit: {attempt: {count: 3}}}, do: [{handle: {set: {n: 1}}}]}
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      {n: 1}
      """
    And boom should run 4 times
    And the run should take 70 seconds

  Scenario: while a time limit runs
    Given a workflow with tasks:
      """
      - attempt:
          try: [{slow: {timeout: {after: PT30S}, do: [{a: {wait: PT20S}}, {b: {wait: PT20S}}]}}]
          catch: {do: [{handle: {set: {late: true}}}]}
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      {late: true}
      """
    And the run should take 30 seconds

  Scenario: while it listens
    Given a workflow with tasks:
      """
      - rest: {wait: PT1S}
      - hear:
          listen: {to: {any: [{with: {type: a}}], until: "length == 3"}}
          foreach: {do: [{pause: {wait: PT1S}}, {add: {set: {n: "${ $item + 1 }"}}}]}
      - both: {fork: {branches: [{x: {listen: {to: {one: {with: {type: b}}}}}}, {y: {wait: PT5S}}]}}
      """
    When the workflow is executed, these events are published, and its worker dies again and again:
      """
      [{type: a, data: 1}, {type: a, data: 2}, {type: a, data: 3}, {type: b, data: 4}]
      """
    Then the workflow should complete with output:
      """
      [[4], [{n: 2}, {n: 3}, {n: 4}]]
      """
    And the run should take 9 seconds

  Scenario: while another workflow runs
    Given another workflow with definition:
      """
      document: {dsl: '1.0.3', namespace: shop, name: slow, version: '1.0.0'}
      do: [{rest: {wait: PT5S}}, {more: {wait: PT5S}}, {twice: {set: {n: "${ .n * 2 }"}}}]
      """
    And a workflow with tasks:
      """
      - before: {wait: PT1S}
      - sub: {run: {workflow: {namespace: shop, name: slow, input: {n: 4}}}}
      - after: {wait: PT1S}
      """
    When the workflow is executed and its worker dies again and again
    Then the workflow should complete with output:
      """
      {n: 8}
      """
    And the run should take 12 seconds
