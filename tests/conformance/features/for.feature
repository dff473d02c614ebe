Feature: for

  Scenario: each item in turn, with its index
    Given a workflow with tasks:
      """
      - loop:
          for: {each: pet, in: .pets, at: i}
          do:
            - note: {set: {pets: "${ $input.pets }", log: "${ (.log // []) + [{pet: $pet, i: $i}] }"}}
      """
    And the workflow input is:
      """
      {pets: [cat, dog]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {pets: [cat, dog], log: [{pet: cat, i: 0}, {pet: dog, i: 1}]}
      """
    And note should run 2 times

  Scenario: item and index are the names when none are given
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[7, 8]"}, do: [{note: {set: {last: "${ [$item, $index] }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {last: [8, 1]}
      """

  Scenario: the input of an iteration is the output of the one before
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[1, 2, 3, 4]"}, do: [{add: {set: {sum: "${ .sum + $item }"}}}]}
      """
    And the workflow input is:
      """
      {sum: 0}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {sum: 10}
      """

  Scenario: the items are evaluated once
    Given a workflow with tasks:
      """
      - loop: {for: {in: .items}, do: [{grow: {set: {items: "${ .items + [0] }"}}}]}
      """
    And the workflow input is:
      """
      {items: [1, 2, 3]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {items: [1, 2, 3, 0, 0, 0]}
      """

  Scenario: nothing to go through gives on what came in
    Given a workflow with tasks:
      """
      - loop: {for: {in: .items}, do: [{never: {set: {ran: true}}}]}
      """
    And the workflow input is:
      """
      {items: []}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {items: []}
      """
    And never should not run

  Scenario: while ends the loop before an item
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[1, 2, 3, 4]"}, while: .sum < 3, do: [{add: {set: {sum: "${ .sum + $item }"}}}]}
      """
    And the workflow input is:
      """
      {sum: 0}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {sum: 3}
      """

  Scenario: while sees the item
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[1, 2, 9, 3]"}, while: $item < 5, do: [{add: {set: {n: "${ $item }"}}}]}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 2}
      """

  Scenario: loops nest, and each has its own variables
    Given a workflow with tasks:
      """
      - rows:
          for: {each: row, in: "[[1, 2], [3]]"}
          do:
            - cells:
                for: {each: cell, in: $row}
                do:
                  - add: {set: {cells: "${ (.cells // []) + [[$row[0], $cell]] }"}}
      """
    And the workflow input is:
      """
      {}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {cells: [[1, 1], [1, 2], [3, 3]]}
      """

  Scenario: the variables end with the loop
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[1]"}, do: [{note: {set: {n: "${ $item }"}}}]}
      - after: {set: {n: "${ $item }"}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/1/after/set/n because: there is no variable $item

  Scenario: what is not an array is an error
    Given a workflow with tasks:
      """
      - loop: {for: {in: .n}, do: [{note: {set: {n: 1}}}]}
      """
    And the workflow input is:
      """
      {n: 3}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 400, instance: /do/0/loop}
      """
    And the detail of the error should say: must be an array

  Scenario: a loop shapes its output like any task
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[1, 2]"}, do: [{add: {set: {n: "${ .n + $item }"}}}], output: {as: "{total: .n}"}}
      """
    And the workflow input is:
      """
      {n: 0}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {total: 3}
      """

  Scenario: a long loop is done in many messages
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[range(5000)]"}, do: [{add: {set: {n: "${ .n + 1 }"}}}]}
      """
    And the workflow input is:
      """
      {n: 0}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 5000}
      """
    And add should run 5000 times

  Scenario: for needs in
    Given a workflow with tasks:
      """
      - loop: {for: {each: x}, do: [{a: {set: {n: 1}}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/loop/for because: no "in"

  Scenario: for needs do
    Given a workflow with tasks:
      """
      - loop: {for: {in: "[]"}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/loop because: no "do"

  Scenario: a variable may not take the name of one of the language's own
    Given a workflow with tasks:
      """
      - loop: {for: {each: context, in: "[]"}, do: [{a: {set: {n: 1}}}]}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/loop/for/each because: already a variable
