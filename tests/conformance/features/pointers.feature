Feature: the place of an error

  Scenario Outline: every task has its place as a JSON pointer
    Given a workflow with tasks:
      """
      - outer: <task>
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "http://x", status: 500, instance: /do/0/outer<place>}
      """

    Examples:
      | task | place |
      | {raise: {error: {type: "http://x", status: 500}}} |  |
      | {do: [{a: {set: {n: 1}}}, {b: {raise: {error: {type: "http://x", status: 500}}}}]} | /do/1/b |
      | {for: {in: "[1]"}, do: [{a: {raise: {error: {type: "http://x", status: 500}}}}]} | /do/0/a |
      | {try: [{a: {raise: {error: {type: "http://x", status: 500}}}}], catch: {errors: {with: {status: 400}}}} | /try/0/a |
      | {try: [{a: {raise: {error: {type: "http://y", status: 500}}}}], catch: {do: [{b: {raise: {error: {type: "http://x", status: 500}}}}]}} | /catch/do/0/b |
      | {fork: {branches: [{a: {set: {n: 1}}}, {b: {raise: {error: {type: "http://x", status: 500}}}}]}} | /fork/branches/1/b |
      | {fork: {compete: true, branches: [{a: {raise: {error: {type: "http://x", status: 500}}}}]}} | /fork/branches/0/a |

  Scenario: what is done with an event has its place
    Given a workflow with tasks:
      """
      - hear:
          listen: {to: {one: {with: {type: ping}}}}
          foreach: {do: [{a: {set: {n: 1}}}, {b: {raise: {error: {type: "http://x", status: 500}}}}]}
      """
    When the workflow is executed and these events are published:
      """
      - {type: ping}
      """
    Then the workflow should fault with error:
      """
      {type: "http://x", status: 500, instance: /do/0/hear/foreach/do/1/b}
      """
