Feature: emit

  Scenario: an event is published, and is the output
    Given a workflow with tasks:
      """
      - tell:
          emit:
            event:
              with:
                type: com.example.order.placed
                source: https://shop.example
                data: {order: "${ .id }"}
      """
    And the workflow input is:
      """
      {id: 7}
      """
    When the workflow is executed
    Then the workflow should complete with output containing:
      """
      {specversion: "1.0", type: com.example.order.placed, source: https://shop.example, data: {order: 7}}
      """
    And these events should have been published:
      """
      - {type: com.example.order.placed, source: https://shop.example, data: {order: 7}, datacontenttype: application/json}
      """

  Scenario: what an event need not say is filled in
    Given a workflow with tasks:
      """
      - tell: {emit: {event: {with: {type: t}}}}
      - look: {set: {filled: "${ [has(\"id\", \"time\", \"source\", \"specversion\")] | all }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {filled: true}
      """

  Scenario: every attribute, and extensions of one's own
    Given a workflow with tasks:
      """
      - tell:
          emit:
            event:
              with: {id: a1, type: t, source: /s, subject: "${ .who }", time: "2026-01-01T00:00:00Z", dataschema: https://x.example/s, datacontenttype: application/json, data: [1], tenant: acme}
      """
    And the workflow input is:
      """
      {who: ada}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {specversion: "1.0", id: a1, type: t, source: /s, subject: ada, time: "2026-01-01T00:00:00Z", dataschema: https://x.example/s, datacontenttype: application/json, data: [1], tenant: acme}
      """

  Scenario: an event that is none is an error
    Given a workflow with tasks:
      """
      - tell: {emit: {event: {with: {type: "${ .missing }"}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "https://serverlessworkflow.io/spec/1.0.0/errors/configuration", status: 400, instance: /do/0/tell}
      """

  Scenario: what is wrong with an event is told before it runs
    Given a workflow with tasks:
      """
      - tell: {emit: {event: {with: {Odd_Name: 1}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/tell/emit/event/with because: no type
