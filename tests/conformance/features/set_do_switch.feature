Feature: set, do and switch

  Scenario: set replaces the data
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}}
      - two: {set: {b: 2}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {b: 2}
      """
    And one should run first
    And two should run last

  Scenario: set evaluates expressions at any depth
    Given a workflow with tasks:
      """
      - one: {set: {list: ["${ .x }", {deep: "${ .x + 1 }"}], text: plain, number: 4, none: null}}
      """
    And the workflow input is:
      """
      {x: 5}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {list: [5, {deep: 6}], text: plain, number: 4, none: null}
      """

  Scenario: set may be one expression
    Given a workflow with tasks:
      """
      - one: {set: "${ {sum: (.a + .b)} }"}
      """
    And the workflow input is:
      """
      {a: 2, b: 3}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {sum: 5}
      """

  Scenario: an empty set is refused
    Given a workflow with tasks:
      """
      - one: {set: {}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/one/set because: at least one field

  Scenario: do runs its tasks in the order they are written
    Given a workflow with tasks:
      """
      - outer:
          do:
            - first: {set: {n: "${ .n + 1 }"}}
            - second: {set: {n: "${ .n * 10 }"}}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 20}
      """
    And first should run before second
    And second should run before outer

  Scenario: do nests to any depth
    Given a workflow with tasks:
      """
      - a: {do: [{b: {do: [{c: {do: [{d: {set: {at: "${ $task.reference }"}}}]}}]}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {at: /do/0/a/do/0/b/do/0/c/do/0/d}
      """

  Scenario: a workflow that sets nothing gives back its input
    Given a workflow with tasks:
      """
      - nothing: {switch: [{all: {then: continue}}]}
      """
    And the workflow input is:
      """
      [1, two, null]
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      [1, two, null]
      """

  Scenario Outline: the first case of a switch that holds is taken
    Given a workflow with tasks:
      """
      - choose:
          switch:
            - small: {when: .n < 10, then: isSmall}
            - medium: {when: .n < 100, then: isMedium}
            - other: {then: isLarge}
      - isSmall: {set: {size: small}, then: end}
      - isMedium: {set: {size: medium}, then: end}
      - isLarge: {set: {size: large}, then: end}
      """
    And the workflow input is:
      """
      {n: <n>}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {size: <size>}
      """

    Examples:
      | n   | size   |
      | 5   | small  |
      | 50  | medium |
      | 500 | large  |

  Scenario: a default that is written first is still tried last
    Given a workflow with tasks:
      """
      - choose:
          switch:
            - other: {then: no}
            - exact: {when: .n == 1, then: yes}
      - no: {set: {found: false}, then: end}
      - yes: {set: {found: true}}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {found: true}
      """

  Scenario: a switch that matches nothing follows its own then
    Given a workflow with tasks:
      """
      - choose:
          switch:
            - never: {when: .n == 2, then: end}
          then: last
      - skipped: {set: {ran: skipped}}
      - last: {set: {ran: last}}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {ran: last}
      """
    And skipped should not run

  Scenario: a switch that matches nothing and says nothing goes on
    Given a workflow with tasks:
      """
      - choose: {switch: [{never: {when: "false", then: end}}]}
      - next: {set: {ran: next}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {ran: next}
      """

  Scenario: a switch gives on what it got
    Given a workflow with tasks:
      """
      - choose: {switch: [{all: {when: "true", then: continue}}]}
      """
    And the workflow input is:
      """
      {kept: yes}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {kept: yes}
      """

  Scenario: a switch has one default at most
    Given a workflow with tasks:
      """
      - choose: {switch: [{a: {then: end}}, {b: {then: exit}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/choose/switch/1/b because: two cases without

  Scenario: a case says where it leads
    Given a workflow with tasks:
      """
      - choose: {switch: [{a: {when: "true"}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/choose/switch/0/a because: no "then"
