Feature: documents

  Scenario: a document may be JSON
    Given a workflow with definition:
      """
      {"document": {"dsl": "1.0.3", "namespace": "n", "name": "a", "version": "1.0.0"}, "do": [{"one": {"set": {"n": 1}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """

  Scenario: a document has everything it may have
    Given a workflow with definition:
      """
      document:
        dsl: '1.0.0'
        namespace: my-space
        name: my-flow
        version: '1.2.3-rc.1'
        title: A title
        summary: Some *words*
        tags: {team: a}
        metadata: {any: [1]}
      evaluate: {language: jq, mode: strict}
      do:
        - one: {set: {n: 1}, metadata: {note: x}}
      """
    When the workflow is executed
    Then the workflow should complete

  Scenario Outline: what is missing or wrong in the head is refused
    Given a workflow with definition:
      """
      document: {<head>}
      do: [{one: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at <at> because: <why>

    Examples:
      | head                                                    | at                  | why                  |
      | dsl: '1.0.3', name: a, version: '1.0.0'                 | /document           | no "namespace"       |
      | dsl: '1.0.3', namespace: a, version: '1.0.0'            | /document           | no "name"            |
      | dsl: '1.0.3', namespace: a, name: b                     | /document           | no "version"         |
      | dsl: '1.0.3', namespace: a_b, name: b, version: '1.0.0' | /document/namespace | letters, digits      |
      | dsl: '1.0.3', namespace: a, name: -b, version: '1.0.0'  | /document/name      | letters, digits      |
      | dsl: '1.0.3', namespace: a, name: b, version: '1'       | /document/version   | not a semantic       |
      | dsl: '0.8.0', namespace: a, name: b, version: '1.0.0'   | /document/dsl       | not supported        |
      | dsl: '2.0.0', namespace: a, name: b, version: '1.0.0'   | /document/dsl       | not supported        |
      | dsl: 1.0, namespace: a, name: b, version: '1.0.0'       | /document/dsl       | in quotes            |
      | dsl: '1.0.3', namespace: a, name: b, version: '1.0.0', nmae: c | /document/nmae | did you mean "name" |

  Scenario: an unknown property of the workflow is refused
    Given a workflow with body:
      """
      inputs: {}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /inputs because: did you mean "input"

  Scenario: an unknown property of a task is refused
    Given a workflow with tasks:
      """
      - a: {set: {n: 1}, exprt: {as: .}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a/exprt because: did you mean "export"

  Scenario: a task of an unknown kind is refused
    Given a workflow with tasks:
      """
      - a: {swich: []}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a because: did you mean "switch"

  Scenario: a task of two kinds is refused
    Given a workflow with tasks:
      """
      - a: {set: {n: 1}, wait: PT1S}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a because: several kinds at once: set, wait

  Scenario: a task of no kind is refused
    Given a workflow with tasks:
      """
      - a: {then: end}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/a because: does not say what kind

  Scenario: an item of a list with two names is refused
    Given a workflow with tasks:
      """
      - a: {set: {n: 1}}
        b: {set: {n: 2}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0 because: 2 keys

  Scenario: two tasks with one name are refused
    Given a workflow with tasks:
      """
      - a: {set: {n: 1}}
      - a: {set: {n: 2}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/1/a because: could mean either

  Scenario: a task may not be called like a directive
    Given a workflow with tasks:
      """
      - end: {set: {n: 1}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/end because: rename it

  Scenario: a workflow without tasks is refused
    Given a workflow with body:
      """
      do: []
      """
    When the workflow is executed
    Then the workflow should be refused at /do because: list of tasks

  Scenario: tasks as a mapping are refused with the remedy
    Given a workflow with body:
      """
      do: {a: {set: {n: 1}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do because: each `- name: {...}`

  Scenario: a component that nothing uses is checked as well
    Given a workflow with body:
      """
      use:
        errors: {bad: {title: x}}
        retries: {bad: {delay: soon}}
        timeouts: {bad: {after: soon}}
        authentications: {bad: {basic: {username: x}}}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /use/errors/bad because: no "type"
    And the workflow should be refused at /use/retries/bad/delay because: not a duration
    And the workflow should be refused at /use/timeouts/bad/after because: not a duration
    And the workflow should be refused at /use/authentications/bad/basic because: no "password"

  Scenario: names with odd characters are escaped in pointers
    Given a workflow with tasks:
      """
      - "a/b ~c": {set: {at: "${ $task.reference }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {at: /do/0/a~1b ~0c}
      """
