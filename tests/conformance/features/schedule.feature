Feature: schedule

  Scenario: runs start at a fixed rate
    Given a workflow with body:
      """
      schedule: {every: PT30S}
      do:
        - note: {set: {at: '${ $workflow.startedAt.epoch.seconds }'}}
      """
    When the workflow is published and 100 seconds pass
    Then runs should have started after these seconds: 30, 60, 90
    And the inputs of these runs should be:
      """
      [{}, {}, {}]
      """

  Scenario: runs at a fixed rate may overlap
    Given a workflow with body:
      """
      schedule: {every: {seconds: 10}}
      do:
        - rest: {wait: PT25S}
      """
    When the workflow is published and 45 seconds pass
    Then runs should have started after these seconds: 10, 20, 30, 40

  Scenario: runs start at times of the calendar, in UTC
    Given a workflow with body:
      """
      schedule: {cron: '*/2 * * * *'}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 300 seconds pass
    # It is 15:06:40 when the scenario begins.
    Then runs should have started after these seconds: 80, 200

  Scenario: a run starts a while after the last one ended
    Given a workflow with body:
      """
      schedule: {after: PT10S}
      do:
        - rest: {wait: PT25S}
      """
    When the workflow is published and 85 seconds pass
    Then runs should have started after these seconds: 10, 45, 80

  Scenario: a run that faults is followed by the next all the same
    Given a workflow with body:
      """
      schedule: {after: {seconds: 20}}
      do:
        - fail: {raise: {error: {type: 'https://example.com/no', status: 500}}}
      """
    When the workflow is published and 50 seconds pass
    Then runs should have started after these seconds: 20, 40

  Scenario: each event starts a run, whose input is a list with the event
    Given a workflow with body:
      """
      schedule: {on: {one: {with: {type: order.paid}}}}
      do:
        - amount: {set: '${ $workflow.input[0].data.amount }'}
      """
    When the workflow is published and 5 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: order.paid, data: {amount: 7}}
      - {type: order.made, data: {amount: 8}}
      - {type: order.paid, data: {amount: 9}}
      """
    Then the inputs of these runs should be:
      """
      - [{type: order.paid, source: test, id: e1, data: {amount: 7}}]
      - [{type: order.paid, source: test, id: e3, data: {amount: 9}}]
      """

  Scenario: the same event starts one run
    Given a workflow with body:
      """
      schedule: {on: {one: {with: {type: order.paid}}}}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 1 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: order.paid, id: same}
      - {type: order.paid, id: same}
      """
    Then the inputs of these runs should be:
      """
      - [{id: same}]
      """

  Scenario: any of several events starts a run
    Given a workflow with body:
      """
      schedule: {on: {any: [{with: {type: a}}, {with: {type: 'b\..*', data: '${ .n > 1 }'}}]}}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 1 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: b.x, data: {n: 1}}
      - {type: b.y, data: {n: 2}}
      - {type: a}
      """
    Then the inputs of these runs should be:
      """
      - [{type: b.y}]
      - [{type: a}]
      """

  Scenario: several events start one run together, in the order they came
    Given a workflow with body:
      """
      schedule: {on: {all: [{with: {type: order.made}}, {with: {type: order.paid}}]}}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 1 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: order.paid}
      - {type: order.paid}
      - {type: order.made}
      """
    And these events come and 5 seconds pass:
      """
      - {type: order.made}
      - {type: order.made}
      """
    Then the inputs of these runs should be:
      """
      - [{id: e1}, {id: e3}]
      - [{id: e2}, {id: e4}]
      """

  Scenario: events that start a run together agree in what correlates them
    Given a workflow with body:
      """
      schedule:
        on:
          all:
            - with: {type: order.made}
              correlate: {order: {from: .data.order}}
            - with: {type: order.paid}
              correlate: {order: {from: .data.order}}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 1 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: order.made, data: {order: 1}}
      - {type: order.made, data: {order: 2}}
      - {type: order.paid, data: {order: 2}}
      - {type: order.paid, data: {order: 3}}
      - {type: order.paid, data: {order: 1}}
      """
    Then the inputs of these runs should be:
      """
      - [{id: e2}, {id: e3}]
      - [{id: e1}, {id: e5}]
      """

  Scenario: only events with the value that is expected start a run
    Given a workflow with body:
      """
      schedule:
        on: {one: {with: {type: order.paid}, correlate: {shop: {from: .data.shop, expect: north}}}}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 1 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: order.paid, data: {shop: south}}
      - {type: order.paid, data: {shop: north}}
      """
    Then the inputs of these runs should be:
      """
      - [{id: e2}]
      """

  Scenario: events are gathered until a condition holds
    Given a workflow with body:
      """
      schedule: {on: {any: [{with: {type: reading}}], until: 'map(.data) | add >= 10'}}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 1 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: reading, data: 4}
      - {type: reading, data: 5}
      - {type: reading, data: 6}
      - {type: reading, data: 1}
      """
    Then the inputs of these runs should be:
      """
      - [{data: 4}, {data: 5}, {data: 6}]
      """

  Scenario: events are gathered until another one comes
    Given a workflow with body:
      """
      schedule: {on: {any: [{with: {type: line}}], until: {one: {with: {type: close}}}}}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 1 seconds pass
    And these events come and 5 seconds pass:
      """
      - {type: close}
      - {type: line, data: 1}
      - {type: line, data: 2}
      - {type: close}
      """
    Then the inputs of these runs should be:
      """
      - [{data: 1}, {data: 2}]
      """

  Scenario: a version with another schedule takes its place
    Given a workflow with body:
      """
      schedule: {every: PT10S}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 25 seconds pass
    And a version with this body is published and 60 seconds pass:
      """
      schedule: {every: PT40S}
      do:
        - one: {set: {n: 2}}
      """
    Then runs should have started after these seconds: 10, 20, 40, 80
    And the workflow should have one trigger of its own

  Scenario: a version without a schedule ends it
    Given a workflow with body:
      """
      schedule: {every: PT10S}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 15 seconds pass
    And a version with this body is published and 60 seconds pass:
      """
      do:
        - one: {set: {n: 2}}
      """
    Then runs should have started after these seconds: 10
    And the workflow should have no trigger of its own

  Scenario: a workflow that is disabled has no schedule until it is enabled
    Given a workflow with body:
      """
      schedule: {every: PT10S}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is published and 15 seconds pass
    And the workflow is disabled and 20 seconds pass
    And the workflow is enabled and 15 seconds pass
    Then runs should have started after these seconds: 10, 45

  Scenario: a document with a schedule may be executed at once
    Given a workflow with body:
      """
      schedule: {every: PT10S}
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """

  Scenario Outline: a schedule that cannot be kept is refused
    Given a workflow with body:
      """
      schedule: <schedule>
      do:
        - one: {set: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should be refused at <place> because: <reason>

    Examples:
      | schedule                                             | place                                | reason                         |
      | {}                                                   | /schedule                            | exactly one of                 |
      | {every: PT1M, cron: '* * * * *'}                     | /schedule                            | exactly one of                 |
      | {ever: PT1M}                                         | /schedule/ever                       | every                          |
      | {every: PT0.1S}                                      | /schedule/every                      | a second or more               |
      | {every: '${ .often }'}                               | /schedule/every                      | an expression could see        |
      | {after: soon}                                        | /schedule/after                      | not a duration                 |
      | {cron: '61 * * * *'}                                 | /schedule/cron                       | no cron expression             |
      | {cron: '0 0 31 2 *'}                                 | /schedule/cron                       | no cron expression             |
      | {cron: 5}                                            | /schedule/cron                       | text                           |
      | {on: {one: {}}}                                      | /schedule/on/one                     | at least one attribute         |
      | {on: {one: {with: {type: a}}, all: []}}              | /schedule/on                         | exactly one of                 |
      | {on: {one: {with: {type: '${ $context.x }'}}}}       | /schedule/on/one/with/type           | $context                       |
