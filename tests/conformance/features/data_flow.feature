Feature: data flow

  Scenario: the workflow's input is checked before it is shaped
    Given a workflow with body:
      """
      input:
        schema: {document: {type: object, required: [name]}}
        from: "{greeting: .name}"
      do:
        - pass: {set: {got: "${ .greeting }"}}
      """
    And the workflow input is:
      """
      {name: Ada}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {got: Ada}
      """

  Scenario: an input that does not match its schema is a validation error
    Given a workflow with body:
      """
      input: {schema: {format: json, document: {type: object, required: [name]}}}
      do:
        - pass: {set: {got: 1}}
      """
    And the workflow input is:
      """
      {nome: Ada}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/validation, status: 400, instance: /input}
      """
    And the detail of the error should say: name

  Scenario: the workflow's output is shaped and then checked
    Given a workflow with body:
      """
      output: {as: "{total: .n}", schema: {document: {properties: {total: {type: string}}}}}
      do:
        - pass: {set: {n: 3}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/validation, status: 400, instance: /output}
      """

  Scenario: a task's schema is held to the raw input
    Given a workflow with tasks:
      """
      - one:
          input: {schema: {document: {required: [raw]}}, from: "{shaped: .raw}"}
          set: {got: "${ .shaped }"}
      """
    And the workflow input is:
      """
      {raw: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {got: 1}
      """

  Scenario: a task whose input does not match faults there
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}}
      - two: {input: {schema: {document: {required: [b]}}}, set: {c: 1}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/validation, status: 400, instance: /do/1/two}
      """
    And two should fault

  Scenario: output.as works on the raw output, and what it makes is checked
    Given a workflow with tasks:
      """
      - one:
          set: {a: 1, b: 2}
          output: {as: "{sum: (.a + .b)}", schema: {document: {required: [sum]}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {sum: 3}
      """

  Scenario: an output that does not match its schema is a validation error
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}, output: {schema: {document: {required: [b]}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/validation, instance: /do/0/one}
      """

  Scenario: output.as may be an object with expressions inside
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}, output: {as: {x: "${ .a }", y: [plain, "${ .a + 1 }"]}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {x: 1, y: [plain, 2]}
      """

  Scenario: export.as works on the shaped output and replaces the context
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}, output: {as: "{b: .a}"}, export: {as: "{first: .b}"}}
      - two: {set: {a: 2}, export: {as: "{second: .a, before: $context}"}}
      - three: {set: "${ $context }"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {second: 2, before: {first: 1}}
      """

  Scenario: export of a dot is the shaped output
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}, output: {as: .a}, export: {as: .}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      1
      """
    And the exported context should be:
      """
      1
      """

  Scenario: what is exported is held to its schema
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}, export: {as: ., schema: {document: {required: [b]}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/validation, instance: /do/0/one}
      """

  Scenario: the context is null until something is exported
    Given a workflow with tasks:
      """
      - one: {set: {context: "${ $context }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {context: null}
      """

  Scenario: the raw input of a task is the shaped output of the one before
    Given a workflow with tasks:
      """
      - one: {set: {a: 1}, output: {as: "{b: (.a + 1)}"}}
      - two: {input: {from: .b}, set: {raw: "${ $task.input }", shaped: "${ . }"}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {raw: {b: 2}, shaped: 2}
      """

  Scenario: a composite task's raw output is that of its last child
    Given a workflow with tasks:
      """
      - outer:
          input: {from: "{n: .start}"}
          do:
            - inner: {set: {n: "${ .n + 1 }"}}
          output: {as: "{from: $input.n, to: .n}"}
      """
    And the workflow input is:
      """
      {start: 4}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {from: 4, to: 5}
      """

  Scenario: $input is the shaped input and $output the shaped output
    Given a workflow with tasks:
      """
      - one:
          input: {from: "{i: .x}"}
          set: {o: 1}
          output: {as: "{shaped: .o, saw: $input}"}
          export: {as: "{in: $input, out: $output, raw: $task.output}"}
      """
    And the workflow input is:
      """
      {x: 9}
      """
    When the workflow is executed
    Then the exported context should be:
      """
      {in: {i: 9}, out: {shaped: 1, saw: {i: 9}}, raw: {o: 1}}
      """

  Scenario: a schema that is none is refused
    Given a workflow with body:
      """
      input: {schema: {document: {type: objekt}}}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /input/schema/document because: not a JSON Schema

  Scenario: a schema that refers to the outside is refused
    Given a workflow with body:
      """
      input: {schema: {document: {$ref: "http://example.com/schema.json"}}}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /input/schema/document because: outside the document

  Scenario: a schema format other than json is refused by name
    Given a workflow with body:
      """
      input: {schema: {format: avro, document: {}}}
      do: [{a: {set: {n: 1}}}]
      """
    When the workflow is executed
    Then the workflow should be refused at /input/schema/format because: not supported yet

  Scenario: a pattern that would run away in other engines does not
    Given a workflow with body:
      """
      input: {schema: {document: {type: string, pattern: "^(a+)+$"}}}
      do: [{a: {set: {n: 1}}}]
      """
    And the workflow input is:
      """
      aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {status: 400, instance: /input}
      """
