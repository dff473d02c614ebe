Feature: listen

  Scenario: one event
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {one: {with: {type: order.paid}}}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: order.placed, data: {id: 1}}
      - {type: order.paid, data: {id: 2}}
      - {type: order.paid, data: {id: 3}}
      """
    Then the workflow should complete with output:
      """
      [{id: 2}]
      """

  Scenario Outline: events are read as data, as a whole, or as they came
    Given a workflow with tasks:
      """
      - hear:
          listen: {read: <form>, to: {one: {with: {type: t}}}}
          output: {as: "<shape>"}
      """
    When the workflow is executed and these events are published:
      """
      - {type: t, subject: s, data: {n: 1}}
      """
    Then the workflow should complete with output:
      """
      <output>
      """

    Examples:
      | form     | shape                | output           |
      | data     | .[0]                 | {n: 1}           |
      | envelope | .[0] \| [.type, .subject, .data.n] | [t, s, 1] |
      | raw      | .[0]                 | '{"n":1}'        |

  Scenario: any of several events
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {any: [{with: {type: a}}, {with: {type: b}}]}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: c, data: 0}
      - {type: b, data: 1}
      - {type: a, data: 2}
      """
    Then the workflow should complete with output:
      """
      [1]
      """

  Scenario: one event for each filter, in the order they came
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {all: [{with: {type: a}}, {with: {type: b}}]}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: b, data: 1}
      - {type: b, data: 2}
      - {type: a, data: 3}
      """
    Then the workflow should complete with output:
      """
      [1, 3]
      """

  Scenario: two filters of one type take two events
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {all: [{with: {type: a}}, {with: {type: a}}]}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: a, data: 1}
      - {type: a, data: 2}
      """
    Then the workflow should complete with output:
      """
      [1, 2]
      """

  Scenario: events until a condition holds
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {any: [{with: {type: a}}], until: "( . | length ) == 3"}}}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: 1}, {type: b, data: 2}, {type: a, data: 3}, {type: a, data: 4}, {type: a, data: 5}]
      """
    Then the workflow should complete with output:
      """
      [1, 3, 4]
      """

  Scenario: events until another event comes, which is no part of the output
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {any: [{with: {type: beat}}], until: {one: {with: {type: gone}}}}}}
      """
    When the workflow is executed and these events are published:
      """
      [{type: beat, data: 1}, {type: beat, data: 2}, {type: gone, data: 3}, {type: beat, data: 4}]
      """
    Then the workflow should complete with output:
      """
      [1, 2]
      """

  Scenario: every event there is
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {any: [], until: ". | length == 2"}}}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: 1}, {type: b, data: 2}]
      """
    Then the workflow should complete with output:
      """
      [1, 2]
      """

  Scenario Outline: filters are values, regular expressions and conditions
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {one: {with: <filter>}}}}
      """
    And the workflow input is:
      """
      {who: ada, limit: 38}
      """
    When the workflow is executed and these events are published:
      """
      - {type: other.x, subject: eve, data: {t: 30}}
      - {type: temp.high, subject: ada, data: {t: 39}}
      """
    Then the workflow should complete with output:
      """
      [{t: 39}]
      """

    Examples:
      | filter                                                       |
      | {type: "temp\\\\..*"}                                        |
      | {type: temp.high}                                            |
      | {data: "${ .t > 38 }"}                                       |
      | {data: {t: 39}}                                              |
      | {subject: "${ $input.who }"}                                 |
      | {type: "${ .type \| startswith(\"temp\") }", subject: ada}   |
      | {data: "${ .t > $input.limit }"}                             |

  Scenario: an event that a condition fails on is not wanted, and no error
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {one: {with: {type: a, data: "${ .n + 1 > 0 }"}}}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: a, data: [text]}
      - {type: a, data: {n: 1}}
      """
    Then the workflow should complete with output:
      """
      [{n: 1}]
      """

  Scenario: events are told apart by what is expected of them
    Given a workflow with tasks:
      """
      - remember: {set: {order: "${ .order }"}, export: {as: .}}
      - hear:
          listen:
            to:
              one:
                with: {type: order.paid}
                correlate: {order: {from: .data.order, expect: "${ $context.order }"}}
      """
    And the workflow input is:
      """
      {order: 7}
      """
    When the workflow is executed and these events are published:
      """
      - {type: order.paid, data: {order: 6}}
      - {type: order.paid, data: {order: 7}}
      """
    Then the workflow should complete with output:
      """
      [{order: 7}]
      """

  Scenario: without an expectation the first event says what the others must agree in
    Given a workflow with tasks:
      """
      - hear:
          listen:
            to:
              all:
                - {with: {type: a}, correlate: {room: {from: .data.room}}}
                - {with: {type: b}, correlate: {room: {from: .data.room}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: a, data: {room: 1, n: 1}}
      - {type: b, data: {room: 2, n: 2}}
      - {type: b, data: {n: 3}}
      - {type: b, data: {room: 1, n: 4}}
      """
    Then the workflow should complete with output:
      """
      [{room: 1, n: 1}, {room: 1, n: 4}]
      """

  Scenario: an event that comes before the listen is kept for it
    Given a workflow with tasks:
      """
      - rest: {wait: PT10S}
      - hear: {listen: {to: {one: {with: {type: a}}}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: a, data: early}
      """
    Then the workflow should complete with output:
      """
      [early]
      """
    And the run should take 10 seconds

  Scenario: two listens both have the event that they both want
    Given a workflow with tasks:
      """
      - both:
          fork:
            branches:
              - x: {listen: {to: {one: {with: {type: a}}}}}
              - y: {listen: {to: {one: {with: {type: a}}}}}
      """
    When the workflow is executed and these events are published:
      """
      - {type: a, data: 1}
      """
    Then the workflow should complete with output:
      """
      [[1], [1]]
      """

  Scenario: an event that is published twice is one event
    Given a workflow with tasks:
      """
      - hear: {listen: {to: {any: [{with: {type: a}}], until: "length == 2"}}}
      """
    When the workflow is executed and these events are published:
      """
      - {id: same, type: a, data: 1}
      - {id: same, type: a, data: 1}
      - {id: other, type: a, data: 2}
      """
    Then the workflow should complete with output:
      """
      [1, 2]
      """

  Scenario: a listen in a loop takes one event each time
    Given a workflow with tasks:
      """
      - loop:
          for: {in: "[1, 2, 3]"}
          do:
            - hear: {listen: {to: {one: {with: {type: a}}}}, output: {as: "{got: ($input.got + .)}"}}
      """
    And the workflow input is:
      """
      {got: []}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: 1}, {type: a, data: 2}, {type: a, data: 3}]
      """
    Then the workflow should complete with output:
      """
      {got: [1, 2, 3]}
      """

  Scenario: each event is handled before the next one is looked at
    Given a workflow with tasks:
      """
      - hear:
          listen: {to: {any: [{with: {type: a}}], until: "length == 3"}}
          foreach:
            item: event
            at: i
            do:
              - rest: {wait: PT1S}
              - double: {set: {n: "${ $event.n * 2 }", i: "${ $i }"}}
            output: {as: "[.n, .i]"}
            export: {as: "{last: .[0]}"}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: {n: 1}}, {type: a, data: {n: 2}}, {type: a, data: {n: 3}}]
      """
    Then the workflow should complete with output:
      """
      [[2, 0], [4, 1], [6, 2]]
      """
    And the exported context should be:
      """
      {last: 6}
      """
    And the run should take 3 seconds

  Scenario: foreach calls services, one event after the other
    Given a workflow with tasks:
      """
      - hear:
          listen: {to: {any: [{with: {type: a}}], until: "length == 2"}}
          foreach:
            do:
              - ask: {call: http, with: {method: get, endpoint: "http://pets/{id}"}}
      """
    And GET http://pets/1 answers:
      """
      {name: rex}
      """
    And GET http://pets/2 answers:
      """
      {name: tom}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: {id: 1}}, {type: a, data: {id: 2}}]
      """
    Then the workflow should complete with output:
      """
      [{name: rex}, {name: tom}]
      """

  Scenario: foreach without tasks only shapes
    Given a workflow with tasks:
      """
      - hear:
          listen: {to: {all: [{with: {type: a}}, {with: {type: b}}]}}
          foreach: {item: event, output: {as: "$event.n"}}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: {n: 1}}, {type: b, data: {n: 2}}]
      """
    Then the workflow should complete with output:
      """
      [1, 2]
      """

  Scenario: an error while an event is handled is the listen's
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - hear:
                listen: {to: {one: {with: {type: a}}}}
                foreach: {do: [{boom: {raise: {error: {type: https://example.com/e, status: 500}}}}]}
          catch: {do: [{handle: {set: {at: "${ $error.instance }"}}}]}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: 1}]
      """
    Then the workflow should complete with output:
      """
      {at: /do/0/attempt/try/0/hear/foreach/do/0/boom}
      """

  Scenario: an event that does not come in time
    Given a workflow with tasks:
      """
      - attempt:
          try:
            - hear: {timeout: {after: PT1M}, listen: {to: {one: {with: {type: a}}}}}
          catch: {errors: {with: {type: timeout}}, do: [{handle: {set: {late: true}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {late: true}
      """
    And the run should take 60 seconds

  Scenario: an event that comes in time
    Given a workflow with tasks:
      """
      - hear: {timeout: {after: PT1M}, listen: {to: {one: {with: {type: a}}}}}
      """
    When the workflow is executed and these events are published:
      """
      [{type: a, data: 1}]
      """
    Then the workflow should complete with output:
      """
      [1]
      """

  Scenario: a race of a listen and a pause
    Given a workflow with tasks:
      """
      - race:
          fork:
            compete: true
            branches:
              - hear: {listen: {to: {one: {with: {type: a}}}}}
              - late: {do: [{rest: {wait: PT30S}}, {say: {set: {late: true}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {late: true}
      """

  Scenario: a workflow hears what it tells itself
    Given a workflow with tasks:
      """
      - both:
          fork:
            branches:
              - hear: {listen: {to: {one: {with: {type: a}}}}}
              - tell: {emit: {event: {with: {id: x, source: /s, type: a, data: 1, time: "2026-01-01T00:00:00Z"}}}, output: {as: .data}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [[1], 1]
      """

  Scenario Outline: what is wrong with a listen is told before it runs
    Given a workflow with tasks:
      """
      - hear: {listen: <listen>}
      """
    When the workflow is executed
    Then the workflow should be refused at <place> because: <reason>

    Examples:
      | listen                                             | place                              | reason           |
      | {}                                                 | /do/0/hear/listen                  | no "to"          |
      | {to: {one: {with: {}}}}                            | /do/0/hear/listen/to/one           | at least one     |
      | {to: {one: {with: {type: a}}, any: []}}            | /do/0/hear/listen/to               | exactly one      |
      | {to: {all: []}}                                    | /do/0/hear/listen/to/all           | list of filters  |
      | {to: {one: {with: {type: a}}}, read: all}          | /do/0/hear/listen/read             | data             |
      | {to: {one: {with: {type: a}, correlate: {x: {}}}}} | /do/0/hear/listen/to/one/correlate/x | no from        |
      | {to: {one: {with: {type: a}}, until: "true"}}      | /do/0/hear/listen/to/until         | until            |
