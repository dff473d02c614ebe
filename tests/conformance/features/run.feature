Feature: run

  Scenario: a command of the shell gives its output
    Given running shell is allowed
    And a workflow with tasks:
      """
      - say: {run: {shell: {command: "printf hello"}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      hello
      """

  Scenario Outline: what a process gives is chosen
    Given running shell is allowed
    And a workflow with tasks:
      """
      - say: {run: {return: <return>, shell: {command: "printf out; printf err >&2; exit <code>"}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      <output>
      """

    Examples:
      | return | code | output                              |
      | stdout | 0    | out                                 |
      | stderr | 0    | err                                 |
      | code   | 3    | 3                                   |
      | all    | 3    | {code: 3, stdout: out, stderr: err} |
      | none   | 0    | null                                |

  Scenario: a process that fails is an error with what it said
    Given running shell is allowed
    And a workflow with tasks:
      """
      - say: {run: {shell: {command: "echo no such pet >&2; exit 4"}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "https://serverlessworkflow.io/spec/1.0.0/errors/runtime", status: 500, instance: /do/0/say}
      """
    And the detail of the error should say: ended with code 4: no such pet

  Scenario Outline: arguments come after the command, or where it names them
    Given running shell is allowed
    And a workflow with tasks:
      """
      - say: {run: {shell: {command: "<command>", arguments: ["${ .who }", "a b", 3]}}}
      """
    And the workflow input is:
      """
      {who: "$(id)"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      <output>
      """

    Examples:
      | command                 | output          |
      | printf '%s,'            | "$(id),a b,3,"  |
      | printf '%s' \\"$2\\"    | a b             |

  Scenario: what comes in, and the environment
    Given running shell is allowed
    And a workflow with tasks:
      """
      - say: {run: {shell: {command: "cat; printf \"$WHO\"", stdin: "${ .text }", environment: {WHO: "${ .who }"}}}}
      """
    And the workflow input is:
      """
      {text: "from stdin ", who: ada}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      from stdin ada
      """

  Scenario: a process that nobody waits for
    Given running shell is allowed
    And a workflow with tasks:
      """
      - say: {run: {await: false, shell: {command: "true"}}}
      """
    And the workflow input is:
      """
      {n: 1}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {n: 1}
      """

  Scenario: a secret in the environment is in no output
    Given running shell is allowed
    And the secret "pets" is:
      """
      {token: s3cret-token}
      """
    And a workflow with body:
      """
      use: {secrets: [pets]}
      do:
        - say: {run: {shell: {command: "printf \"$TOKEN\"", environment: {TOKEN: "${ $secrets.pets.token }"}}}}
      """
    When the workflow is executed
    Then the workflow should complete
    And "s3cret-token" should be written nowhere

  Scenario: a process that writes too much is stopped
    Given running shell is allowed
    And a workflow with tasks:
      """
      - say: {run: {shell: {command: "yes"}}}
      """
    When the workflow is executed
    Then the workflow should fault
    And the detail of the error should say: more than 1048576 bytes

  Scenario Outline: scripts
    Given running script is allowed
    And a workflow with tasks:
      """
      - say: {run: {script: {language: <language>, code: "<code>", arguments: [1, two]}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      "1-two\n"
      """

    Examples:
      | language   | code                                           |
      | python     | import sys; print('-'.join(sys.argv[1:]))      |

  Scenario Outline: scripts in JavaScript
    Given running script is allowed
    And Node.js is installed
    And a workflow with tasks:
      """
      - say: {run: {script: {language: <language>, code: "console.log(process.argv.slice(2).join('-'))", arguments: [1, two]}}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      "1-two\n"
      """

    Examples:
      | language   |
      | js         |
      | javascript |

  Scenario Outline: a script from elsewhere
    Given running script is allowed
    And a workflow with tasks:
      """
      - say: {run: {script: {language: python, source: {name: greeting, endpoint: <endpoint>}, arguments: [Ada]}}}
      """
    And the workflow input is:
      """
      {name: greet}
      """
    And GET http://scripts/greet.py answers:
      """
      {headers: {content-type: text/x-python}, body: "import sys; print('Hello', sys.argv[1])"}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      "Hello Ada\n"
      """

    Examples:
      | endpoint                                                        |
      | "http://scripts/greet.py"                                       |
      | "http://scripts/{name}.py"                                      |
      | {uri: "${ \"http://scripts/\" + .name + \".py\" }", authentication: {bearer: {token: t}}} |
      | "data:,import sys; print('Hello', sys.argv[1])"                 |

  Scenario: a script from elsewhere that is not there
    Given running script is allowed
    And a workflow with tasks:
      """
      - say: {run: {script: {language: python, source: {endpoint: "http://scripts/none.py"}}}}
      """
    And GET http://scripts/none.py answers:
      """
      {status: 404, body: none}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "https://serverlessworkflow.io/spec/1.0.0/errors/communication", status: 500, instance: /do/0/say}
      """
    And the detail of the error should say: http://scripts/none.py cannot be fetched: 404

  Scenario Outline: a container is removed when it should be
    Given running container is allowed
    And a container engine that keeps a book
    And a workflow with tasks:
      """
      - say: {run: {await: <await>, container: {image: alpine, name: pets<lifetime>}}}
      """
    When the workflow is executed
    Then the workflow should complete
    And the container engine should have been told:
      """
      <told>
      """

    Examples:
      | await | lifetime                                                          | told |
      | true  |                                                                   | [rm --force pets, run --name pets --pull missing --interactive --env-file environment --rm alpine] |
      | true  | , lifetime: {cleanup: always}                                     | [rm --force pets, run --name pets --pull missing --interactive --env-file environment --rm alpine] |
      | true  | , lifetime: {cleanup: never}                                      | [rm --force pets, run --name pets --pull missing --interactive --env-file environment --label onward=never alpine] |
      | true  | , lifetime: {cleanup: eventually, after: {milliseconds: 50}}      | [rm --force pets, run --name pets --pull missing --interactive --env-file environment --label onward=eventually alpine, "inspect --format {{.Id}} pets", rm --force the-id-of-pets] |
      | false | , lifetime: {cleanup: eventually, after: {milliseconds: 50}}      | [rm --force pets, run --name pets --pull missing --interactive --env-file environment --label onward=eventually alpine, "inspect --format {{.Id}} pets", rm --force the-id-of-pets] |

  Scenario: a container
    Given running container is allowed
    And a container engine that prints its arguments
    And a workflow with tasks:
      """
      - say:
          run:
            container:
              image: alpine:3
              name: pets
              command: echo
              arguments: [hello]
              environment: {WHO: ada}
              ports: {"8080": 80}
              volumes: {/data: /pets}
              pullPolicy: always
              lifetime: {cleanup: always}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      "run --name pets --pull always --interactive --env-file environment --rm --publish 8080:80 --volume /data:/pets alpine:3 /bin/sh -c echo \"$@\" sh hello\nWHO=ada\n"
      """

  Scenario: a container whose name is a trick
    Given running container is allowed
    And a container engine that prints its arguments
    And a workflow with tasks:
      """
      - say: {run: {container: {image: alpine, name: "${ .name }"}}}
      """
    And the workflow input is:
      """
      {name: "x'; touch /tmp/owned; '"}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "https://serverlessworkflow.io/spec/1.0.0/errors/configuration", status: 400}
      """

  Scenario Outline: what nobody allowed does not run
    Given a workflow with tasks:
      """
      - say: {run: <run>}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: "https://serverlessworkflow.io/spec/1.0.0/errors/configuration", status: 400, instance: /do/0/say}
      """
    And the detail of the error should say: --allow <kind>

    Examples:
      | run                                        | kind      |
      | {shell: {command: ls}}                     | shell     |
      | {script: {language: python, code: "1"}}    | script    |
      | {container: {image: alpine}}               | container |

  Scenario Outline: what is wrong is told before it runs
    Given a workflow with tasks:
      """
      - say: {run: <run>}
      """
    When the workflow is executed
    Then the workflow should be refused at <place> because: <reason>

    Examples:
      | run                                                         | place                           | reason            |
      | {}                                                          | /do/0/say/run                   | one of            |
      | {shell: {}}                                                 | /do/0/say/run/shell             | command           |
      | {shell: {command: ls}, script: {}}                          | /do/0/say/run                   | exactly one       |
      | {shell: {command: ls, arguments: {a: 1}}}                   | /do/0/say/run/shell/arguments   | list              |
      | {return: nothing, shell: {command: ls}}                     | /do/0/say/run/return            | stdout            |
      | {script: {language: ruby, code: "1"}}                       | /do/0/say/run/script/language   | python or js      |
      | {script: {language: js}}                                    | /do/0/say/run/script            | write the script  |
      | {script: {language: js, code: "1", source: {endpoint: "http://x"}}} | /do/0/say/run/script    | both              |
      | {script: {language: js, source: "http://x"}}                | /do/0/say/run/script/source     | endpoint          |
      | {container: {}}                                             | /do/0/say/run/container         | image             |
      | {container: {image: a, pullPolicy: sometimes}}              | /do/0/say/run/container/pullPolicy | never          |
      | {container: {image: a, lifetime: {cleanup: eventually}}}    | /do/0/say/run/container/lifetime | no `after`       |
      | {container: {image: a, lifetime: {cleanup: always, after: PT1S}}} | /do/0/say/run/container/lifetime | only for   |
      | {container: {image: a, lifetime: {cleanup: eventually, after: soon}}} | /do/0/say/run/container/lifetime/after | not a duration |
      | {container: {image: a, lifetime: {cleanup: eventually, after: "${ .x }"}}} | /do/0/say/run/container/lifetime/after | not supported |
      | {workflow: {name: x}}                                       | /do/0/say/run/workflow          | namespace         |
