Feature: lifecycle events

  Scenario: a run and its tasks are told
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - greet: {set: {text: hello}}
      - ask: {call: http, with: {method: get, endpoint: "http://shop/"}}
      """
    And GET http://shop/ answers:
      """
      {body: {price: 5}}
      """
    When the workflow is executed
    Then these lifecycle events should be told:
      """
      - workflow.started: {name: case-RUN_ID.test, definition: {name: case, namespace: test, version: 1.0.0}, startedAt: "2025-06-15T15:06:40.000Z"}
      - task.created: {workflow: case-RUN_ID.test, task: /do/0/greet, createdAt: "2025-06-15T15:06:40.000Z"}
      - task.started: {workflow: case-RUN_ID.test, task: /do/0/greet, startedAt: "2025-06-15T15:06:40.000Z"}
      - task.completed: {workflow: case-RUN_ID.test, task: /do/0/greet, completedAt: "2025-06-15T15:06:40.000Z", output: {text: hello}}
      - task.created: {task: /do/1/ask}
      - task.started: {task: /do/1/ask}
      - task.completed: {task: /do/1/ask, output: {price: 5}}
      - workflow.completed: {name: case-RUN_ID.test, completedAt: "2025-06-15T15:06:40.000Z", output: {price: 5}}
      """
    And the statuses told of the workflow should be: running, completed
    And the statuses told of ask should be: running, completed

  Scenario: an error is told of the task and of the workflow
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - fail: {raise: {error: {type: "https://example.com/no", status: 418, title: No}}}
      """
    When the workflow is executed
    Then these lifecycle events should be told:
      """
      - workflow.started
      - task.created: {task: /do/0/fail}
      - task.started: {task: /do/0/fail}
      - task.faulted: {task: /do/0/fail, faultedAt: "2025-06-15T15:06:40.000Z", error: {type: "https://example.com/no", status: 418, title: No}}
      - workflow.faulted: {faultedAt: "2025-06-15T15:06:40.000Z", error: {type: "https://example.com/no", status: 418, instance: /do/0/fail}}
      """
    And the statuses told of the workflow should be: running, faulted

  Scenario: a task that is tried again is told
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - attempt:
          try:
            - ask: {call: http, with: {method: get, endpoint: "http://shop/"}}
          catch: {retry: {delay: PT5S, limit: {attempt: {count: 2}}}}
      """
    And GET http://shop/ answers in turn:
      """
      - {status: 503}
      - {body: 1}
      """
    When the workflow is executed
    Then these lifecycle events should be told:
      """
      - workflow.started
      - task.created: {task: /do/0/attempt}
      - task.started: {task: /do/0/attempt}
      - task.created: {task: /do/0/attempt/try/0/ask}
      - task.started: {task: /do/0/attempt/try/0/ask}
      - task.faulted: {task: /do/0/attempt/try/0/ask, error: {status: 503}}
      - task.retried: {task: /do/0/attempt, retriedAt: "2025-06-15T15:06:40.000Z"}
      - task.created: {task: /do/0/attempt/try/0/ask}
      - task.started: {task: /do/0/attempt/try/0/ask}
      - task.completed: {task: /do/0/attempt/try/0/ask}
      - task.completed: {task: /do/0/attempt}
      - workflow.completed
      """
    And the statuses told of attempt should be: running, waiting, completed

  Scenario: each pass through a loop is told, and nothing that did not run
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - twice:
          for: {in: "[1, 2]"}
          do:
            - ask: {call: http, with: {method: get, endpoint: "http://shop/"}}
            - rest: {wait: PT1S}
      - last: {call: http, with: {method: get, endpoint: "http://shop/"}}
      """
    And GET http://shop/ answers:
      """
      {body: 1}
      """
    When the workflow is executed
    Then the statuses told of ask should be: running, completed, running, completed
    And the statuses told of rest should be: running, waiting, completed, running, completed
    And the statuses told of twice should be: running, completed
    And the statuses told of last should be: running, completed

  Scenario: events that are waited for are told
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - hear: {listen: {to: {one: {with: {type: paid}}}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: paid, data: 1}
      """
    Then these lifecycle events should be told:
      """
      - workflow.started
      - task.created: {task: /do/0/hear}
      - task.started: {task: /do/0/hear}
      - workflow.correlation-started: {name: case-RUN_ID.test, startedAt: "2025-06-15T15:06:40.000Z"}
      - workflow.correlation-completed: {name: case-RUN_ID.test, completedAt: "2025-06-15T15:06:40.000Z"}
      - task.completed: {task: /do/0/hear, output: [1]}
      - workflow.completed
      """

  Scenario: what correlated events agreed in is told
    Given lifecycle events are kept
    And a workflow with body:
      """
      do:
        - hear:
            listen:
              to:
                all:
                  - {with: {type: paid}, correlate: {order: {from: .data.order}}}
                  - {with: {type: sent}, correlate: {order: {from: .data.order}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: paid, data: {order: 7}}
      - {type: sent, data: {order: 8}}
      - {type: sent, data: {order: 7}}
      """
    Then these lifecycle events should be told:
      """
      - workflow.started
      - task.created: {task: /do/0/hear}
      - task.started: {task: /do/0/hear}
      - workflow.correlation-started
      - workflow.correlation-completed: {correlationKeys: {order: 7}}
      - task.completed: {task: /do/0/hear, output: [{order: 7}, {order: 7}]}
      - workflow.completed
      """

  Scenario: the branches of a fork are told one by one
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - both: {fork: {branches: [{a: {set: {n: 1}}}, {b: {set: {n: 2}}}]}}
      """
    When the workflow is executed
    Then the statuses told of a should be: running, completed
    And the statuses told of b should be: running, completed
    And the statuses told of both should be: running, waiting, completed

  Scenario: a run that is paused is told, once
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - rest: {wait: PT1M}
      """
    When the workflow is executed, paused while it waits, and goes on
    Then these lifecycle events should be told:
      """
      - workflow.started
      - task.created: {task: /do/0/rest}
      - task.started: {task: /do/0/rest}
      - workflow.suspended: {name: case-RUN_ID.test, suspendedAt: "2025-06-15T15:06:40.000Z"}
      - task.suspended: {task: /do/0/rest, suspendedAt: "2025-06-15T15:06:40.000Z"}
      - workflow.resumed: {name: case-RUN_ID.test, resumedAt: "2025-06-15T15:06:40.000Z"}
      - task.resumed: {task: /do/0/rest, resumedAt: "2025-06-15T15:06:40.000Z"}
      - task.completed: {task: /do/0/rest, completedAt: "2025-06-15T15:07:40.000Z"}
      - workflow.completed
      """
    And the statuses told of the workflow should be: running, suspended, running, completed

  Scenario: what still went on when a run was cancelled is told
    Given lifecycle events are kept
    And a workflow with tasks:
      """
      - rest: {wait: PT1M}
      """
    When the workflow is executed and cancelled while it waits
    Then these lifecycle events should be told:
      """
      - workflow.started
      - task.created: {task: /do/0/rest}
      - task.started: {task: /do/0/rest}
      - task.cancelled: {task: /do/0/rest, cancelledAt: "2025-06-15T15:06:40.000Z"}
      - workflow.cancelled: {name: case-RUN_ID.test, cancelledAt: "2025-06-15T15:06:40.000Z"}
      """
