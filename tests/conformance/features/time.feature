Feature: wait and timeouts

  Scenario Outline: wait takes its time
    Given a workflow with tasks:
      """
      - pause: {wait: <duration>}
      """
    And the workflow input is:
      """
      {kept: true, seconds: 9}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {kept: true, seconds: 9}
      """
    And the run should take <seconds> seconds

    Examples:
      | duration                                   | seconds |
      | {seconds: 5}                               | 5       |
      | {days: 1, hours: 2, minutes: 3}            | 93780   |
      | {milliseconds: 1500}                       | 1.5     |
      | PT15M                                      | 900     |
      | P1DT1S                                     | 86401   |
      | P1W                                        | 604800  |
      | PT0.5S                                     | 0.5     |
      | P1M                                        | 2592000 |
      | P1Y                                        | 31536000 |
      | "${ {seconds: .seconds} }"                 | 9       |
      | '${ "PT\(.seconds)S" }'                    | 9       |
      | {seconds: 0}                               | 0       |

  Scenario Outline: what is no duration is refused
    Given a workflow with tasks:
      """
      - pause: {wait: <duration>}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/pause/wait because: not a duration

    Examples:
      | duration        |
      | 5               |
      | PT              |
      | P1H             |
      | {second: 1}     |
      | {seconds: -1}   |
      | {}              |

  Scenario: an expression that gives no duration is an error
    Given a workflow with tasks:
      """
      - pause: {wait: "${ .x }"}
      """
    And the workflow input is:
      """
      {x: soon}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 400, instance: /do/0/pause}
      """

  Scenario: a task that takes too long faults with a timeout
    Given a workflow with tasks:
      """
      - outer:
          timeout: {after: PT10S}
          do:
            - a: {wait: PT6S}
            - b: {wait: PT6S}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout, status: 408, instance: /do/0/outer}
      """
    And the run should take 10 seconds
    And b should be cancelled

  Scenario: a timeout can be caught
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - slow: {timeout: {after: PT1S}, do: [{a: {wait: PT1H}}]}
          catch:
            errors: {with: {type: timeout}}
            do: [{handle: {set: {late: true}}}]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {late: true}
      """
    And the run should take 1 seconds

  Scenario: a task that is quick enough is not bothered by its timeout
    Given a workflow with tasks:
      """
      - quick:
          timeout: {after: PT10S}
          do:
            - a: {wait: PT6S}
            - b: {set: {n: 1}, export: {as: "{exported: .n}"}}
          output: {as: "{shaped: .n}"}
          then: last
      - skipped: {set: {n: 100}}
      - last: {set: {n: "${ .shaped + 1 }", context: "${ $context }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2, context: {exported: 1}}
      """
    And the run should take 6 seconds

  Scenario: an error inside a task with a timeout goes up as it is
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - inner:
                timeout: {after: PT10S}
                do:
                  - keep: {set: {a: 1}, export: {as: .}}
                  - boom: {raise: {error: {type: https://example.com/e, status: 500}}}
          catch: {do: [{handle: {set: {at: "${ $error.instance }", context: "${ $context }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {at: /do/0/attempt/try/0/inner/do/1/boom, context: {a: 1}}
      """

  Scenario: the end of the workflow inside a task with a timeout is the end
    Given a workflow with tasks:
      """
      - inner: {timeout: {after: PT10S}, do: [{stop: {set: {n: 1}, then: end}}]}
      - never: {set: {n: 2}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """
    And never should not run

  Scenario: timeouts nest, and the first that is over counts
    Given a workflow with tasks:
      """
      - outer:
          timeout: {after: PT5S}
          do:
            - inner: {timeout: {after: PT50S}, do: [{a: {wait: PT1H}}]}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 408, instance: /do/0/outer}
      """
    And the run should take 5 seconds

  Scenario: a loop may have a timeout, and its variables are seen inside
    Given a workflow with tasks:
      """
      - rows:
          for: {each: row, in: "[1, 2]"}
          do:
            - limited: {timeout: {after: PT5S}, do: [{add: {set: {n: "${ .n + $row }"}}}]}
      """
    And the workflow input is:
      """
      {n: 0}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 3}
      """

  Scenario: a wait that is longer than its timeout faults when the timeout is over
    Given a workflow with tasks:
      """
      - pause: {wait: PT1H, timeout: {after: PT1M}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 408, instance: /do/0/pause}
      """
    And the run should take 60 seconds

  Scenario: a timeout may be one of use.timeouts
    Given a workflow with body:
      """
      use: {timeouts: {short: {after: {seconds: 2}}}}
      do:
        - pause: {wait: PT1H, timeout: short}
      """
    When the workflow is executed
    Then the run should take 2 seconds

  Scenario: a timeout may be computed
    Given a workflow with tasks:
      """
      - outer: {timeout: {after: '${ "PT\(.n)S" }'}, do: [{a: {wait: PT1H}}]}
      """
    And the workflow input is:
      """
      {n: 7}
      """
    When the workflow is executed
    Then the run should take 7 seconds

  Scenario: a workflow that takes too long faults
    Given a workflow with body:
      """
      timeout: {after: PT1M}
      do:
        - attempt:
            try: [{a: {wait: PT1H}}]
            catch: {do: [{never: {set: {caught: true}}}]}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout, status: 408}
      """
    And the run should take 60 seconds
    And never should not run

  Scenario: a workflow that is quick enough is not bothered by its timeout
    Given a workflow with body:
      """
      timeout: {after: PT1M}
      do:
        - a: {wait: PT59S}
        - b: {set: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """
    And the run should take 59 seconds

  Scenario: a call that takes too long faults with a timeout
    Given a workflow with tasks:
      """
      - slow: {call: http, with: {method: get, endpoint: http://slow/}, timeout: {after: PT0.05S}}
      """
    And GET http://slow/ never answers
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout, status: 408, instance: /do/0/slow}
      """
