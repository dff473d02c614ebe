Feature: retry

  Scenario: a task that fails is tried again, and the run goes on when it succeeds
    Given a workflow with tasks:
      """
      - attempt:
          try: [{get: {call: http, with: {method: get, endpoint: http://pets/1}}}]
          catch: {retry: {delay: PT3S, limit: {attempt: {count: 5}}}}
      """
    And GET http://pets/1 answers in turn:
      """
      [{status: 503}, {status: 503}, {body: {name: Rex}, headers: {content-type: application/json}}]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: Rex}
      """
    And 3 requests should arrive
    And the run should take 6 seconds

  Scenario: the count is the number of retries
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {retry: {delay: PT1S, limit: {attempt: {count: 3}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://example.com/e, status: 503, instance: /do/0/attempt/try/0/boom}
      """
    And boom should run 4 times
    And the run should take 3 seconds

  Scenario: when retries are used up the handler runs
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch:
            retry: {delay: PT1S, limit: {attempt: {count: 2}}}
            do: [{handle: {set: {gaveUp: true}}}]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {gaveUp: true}
      """
    And boom should run 3 times

  Scenario Outline: the pauses follow the backoff
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {retry: {delay: {seconds: 2}, <backoff>limit: {attempt: {count: 4}}}, do: [{handle: {set: {n: 1}}}]}
      """
    When the workflow is executed
    Then the run should take <seconds> seconds

    Examples:
      | backoff                        | seconds |
      |                                | 8       |
      | backoff: {constant: {}},       | 8       |
      | backoff: {linear: {}},         | 20      |
      | backoff: {exponential: {}},    | 30      |

  Scenario: jitter is added, between its two ends
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {retry: {delay: PT1S, jitter: {from: PT2S, to: PT4S}, limit: {attempt: {count: 1}}}, do: [{handle: {set: {n: 1}}}]}
      """
    And the dice fall at 0.25
    When the workflow is executed
    Then the run should take 3.5 seconds

  Scenario: a limit of time ends the retries
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {retry: {delay: PT10S, limit: {duration: PT25S}}, do: [{handle: {set: {n: 1}}}]}
      """
    When the workflow is executed
    Then the workflow should complete
    And boom should run 3 times
    And the run should take 20 seconds

  Scenario: an attempt that takes too long is given up and tried again
    Given a workflow with tasks:
      """
      - attempt:
          try: [{slow: {wait: PT1M}}]
          catch:
            retry: {delay: PT1S, limit: {attempt: {count: 2, duration: PT5S}}}
            do: [{handle: {set: {status: "${ $error.status }", type: "${ $error.type }"}}}]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {status: 408, type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout}
      """
    And the run should take 17 seconds

  Scenario: an attempt that is quick enough completes
    Given a workflow with tasks:
      """
      - attempt:
          try: [{quick: {wait: PT2S}}, {fine: {set: {ok: true}, export: {as: .}}}]
          catch: {retry: {limit: {attempt: {count: 2, duration: PT5S}}}}
      - after: {set: {context: "${ $context }", data: "${ . }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {context: {ok: true}, data: {ok: true}}
      """
    And the run should take 2 seconds

  Scenario: a policy may be one of use.retries
    Given a workflow with body:
      """
      use: {retries: {twice: {delay: PT5S, limit: {attempt: {count: 2}}}}}
      do:
        - attempt:
            try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
            catch: {retry: twice, do: [{handle: {set: {n: 1}}}]}
      """
    When the workflow is executed
    Then the workflow should complete
    And the run should take 10 seconds

  Scenario: a policy that does not exist is refused
    Given a workflow with tasks:
      """
      - attempt: {try: [{a: {set: {n: 1}}}], catch: {retry: twice}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/attempt/catch/retry because: use.retries has no "twice"

  Scenario Outline: a policy has conditions of its own
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {retry: {<condition>, delay: PT1S, limit: {attempt: {count: 1}}}, do: [{handle: {set: {n: 1}}}]}
      """
    When the workflow is executed
    Then boom should run <times> times

    Examples:
      | condition                   | times |
      | when: .status == 503        | 2     |
      | when: .status == 500        | 1     |
      | exceptWhen: .status == 503  | 1     |
      | exceptWhen: .status == 500  | 2     |

  Scenario: an error that is not caught is not tried again
    Given a workflow with tasks:
      """
      - attempt:
          try: [{boom: {raise: {error: {type: https://example.com/e, status: 503}}}}]
          catch: {errors: {with: {status: 500}}, retry: {delay: PT1S, limit: {attempt: {count: 3}}}}
      """
    When the workflow is executed
    Then the workflow should fault
    And boom should run once

  Scenario: every attempt begins with the input of the try
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - change: {set: {n: "${ .n + 1 }"}}
            - boom: {raise: {error: {type: https://example.com/e, status: 503, detail: "${ .n | tostring }"}}}
          catch: {retry: {delay: PT1S, limit: {attempt: {count: 2}}}, do: [{handle: {set: {n: "${ $error.detail }"}}}]}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: "2"}
      """

  Scenario: an unknown backoff is refused
    Given a workflow with tasks:
      """
      - attempt: {try: [{a: {set: {n: 1}}}], catch: {retry: {backoff: {exponentail: {}}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/attempt/catch/retry/backoff/exponentail because: did you mean "exponential"
