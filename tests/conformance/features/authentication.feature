Feature: authentication policies

  Scenario: digest authentication answers the challenge of the server
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://digest/dir/index.html", authentication: {digest: {username: Mufasa, password: Circle of Life}}}}}
      """
    And GET http://digest/dir/index.html answers in turn:
      """
      - {status: 401, headers: {www-authenticate: 'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'}}
      - {body: {ok: true}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {ok: true}
      """
    And 2 requests should arrive
    And the last authorization should begin with: Digest username="Mufasa", realm="http-auth@example.org"

  Scenario: digest authentication with another kind of challenge is an error with the status
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://digest/other", authentication: {digest: {username: a, password: b}}}}}
      """
    And GET http://digest/other answers:
      """
      {status: 401, headers: {www-authenticate: 'Basic realm="x"'}, body: no}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: 401, instance: /do/0/get}
      """

  Scenario: digest with a hash that nobody knows is an authentication error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://digest/odd", authentication: {digest: {username: a, password: b}}}}}
      """
    And GET http://digest/odd answers:
      """
      {status: 401, headers: {www-authenticate: 'Digest realm="x", nonce="y", algorithm=CRC32'}, body: no}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/authentication, status: 401, instance: /do/0/get}
      """

  Scenario: digest from a secret
    Given a workflow with body:
      """
      use: {secrets: [keys], authentications: {mine: {digest: {use: keys}}}}
      do:
        - get: {call: http, with: {method: get, endpoint: {uri: "http://digest/secret", authentication: {use: mine}}}}
      """
    And the secret "keys" is:
      """
      {username: ada, password: sesame-open-now}
      """
    And GET http://digest/secret answers in turn:
      """
      - {status: 401, headers: {www-authenticate: 'Digest realm="x", nonce="y"'}}
      - {body: {ok: true}}
      """
    When the workflow is executed
    Then the workflow should complete
    And "sesame-open-now" should be written nowhere

  Scenario: oauth2 with client credentials
    Given a workflow with tasks:
      """
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: http://api.one/me
              authentication:
                oauth2: {authority: "http://auth.one", grant: client_credentials, client: {id: app, secret: s3cret}, scopes: [read, write], audiences: [api]}
      """
    And POST http://auth.one/oauth2/token answers:
      """
      {access_token: token-number-one, token_type: Bearer, expires_in: 3600}
      """
    And GET http://api.one/me answers:
      """
      {name: Ada}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {name: Ada}
      """
    And 1st request should be:
      """
      method: POST
      uri: http://auth.one/oauth2/token
      headers: {content-type: application/x-www-form-urlencoded}
      body: grant_type=client_credentials&scope=read+write&audience=api&client_id=app&client_secret=s3cret
      """
    And the last request should be:
      """
      {headers: {authorization: Bearer token-number-one}}
      """

  Scenario: a token is asked for once and kept
    Given a workflow with body:
      """
      use: {authentications: {mine: {oauth2: {authority: "http://auth.two", grant: client_credentials, client: {id: app, secret: s}}}}}
      do:
        - loop:
            for: {in: "[1, 2, 3]"}
            do:
              - get: {call: http, with: {method: get, endpoint: {uri: "http://api.two/me", authentication: {use: mine}}}}
      """
    And POST http://auth.two/oauth2/token answers:
      """
      {access_token: token-number-two, expires_in: 3600}
      """
    And GET http://api.two/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And 4 requests should arrive

  Scenario: a token that is about to end is renewed with its refresh token
    Given a workflow with body:
      """
      use: {authentications: {mine: {oauth2: {authority: "http://auth.three", grant: password, username: ada, password: pw, client: {id: app}}}}}
      do:
        - one: {call: http, with: {method: get, endpoint: {uri: "http://api.three/me", authentication: {use: mine}}}}
        - two: {call: http, with: {method: get, endpoint: {uri: "http://api.three/me", authentication: {use: mine}}}}
      """
    And POST http://auth.three/oauth2/token answers in turn:
      """
      - {access_token: first-of-three, expires_in: 5, refresh_token: renew-it}
      - {access_token: second-of-three, expires_in: 3600}
      """
    And GET http://api.three/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And 1st request should be:
      """
      {body: grant_type=password&username=ada&password=pw&client_id=app}
      """
    And 3rd request should be:
      """
      {body: grant_type=refresh_token&refresh_token=renew-it&client_id=app}
      """
    And the last request should be:
      """
      {headers: {authorization: Bearer second-of-three}}
      """

  Scenario: a refresh token that was taken back is not the end
    Given a workflow with body:
      """
      use: {authentications: {mine: {oauth2: {authority: "http://auth.back", grant: client_credentials, client: {id: app}}}}}
      do:
        - one: {call: http, with: {method: get, endpoint: {uri: "http://api.back/me", authentication: {use: mine}}}}
        - two: {call: http, with: {method: get, endpoint: {uri: "http://api.back/me", authentication: {use: mine}}}}
      """
    And POST http://auth.back/oauth2/token answers in turn:
      """
      - {access_token: first-token-of-all, expires_in: 5, refresh_token: renew-it}
      - {status: 400, body: '{"error": "invalid_grant"}'}
      - {access_token: another-beginning, expires_in: 3600}
      """
    And GET http://api.back/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {headers: {authorization: Bearer another-beginning}}
      """

  Scenario: a token that the service refuses is replaced once
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.four/me", authentication: {oauth2: {authority: "http://auth.four/", grant: client-credentials, client: {id: app}}}}}}
      """
    And POST http://auth.four/oauth2/token answers in turn:
      """
      - {access_token: refused-token, expires_in: 3600}
      - {access_token: accepted-token, expires_in: 3600}
      """
    And GET http://api.four/me answers in turn:
      """
      - {status: 401, body: no}
      - {body: {ok: true}}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {headers: {authorization: Bearer accepted-token}}
      """

  Scenario: a client that shows its secret in the header
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.five/me", authentication: {oauth2: {authority: "http://auth.five", endpoints: {token: /my/token}, grant: client_credentials, client: {id: app, secret: "a b", authentication: client_secret_basic}, request: {encoding: application/json}}}}}}
      """
    And POST http://auth.five/my/token answers:
      """
      {access_token: token-of-five, token_type: bearer}
      """
    And GET http://api.five/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And 1st request should be:
      """
      headers: {authorization: "Basic YXBwOmElMjBi", content-type: application/json}
      body: '{"grant_type":"client_credentials"}'
      """

  Scenario: a client that signs a statement with its secret
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.six/me", authentication: {oauth2: {authority: "http://auth.six", grant: client_credentials, client: {id: app, secret: s, authentication: client_secret_jwt}}}}}}
      """
    And POST http://auth.six/oauth2/token answers:
      """
      {access_token: token-of-six}
      """
    And GET http://api.six/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the body of 1st request should hold: client_id=app&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=eyJ

  Scenario: a client with a statement that was signed elsewhere
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.seven/me", authentication: {oauth2: {authority: "http://auth.seven", grant: client_credentials, client: {id: app, assertion: a.b.c, authentication: private_key_jwt}}}}}}
      """
    And POST http://auth.seven/oauth2/token answers:
      """
      {access_token: token-of-seven}
      """
    And GET http://api.seven/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the body of 1st request should hold: client_assertion=a.b.c

  Scenario: a client without any secret
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.eight/me", authentication: {oauth2: {authority: "http://auth.eight", grant: client_credentials, client: {id: app, authentication: none}}}}}}
      """
    And POST http://auth.eight/oauth2/token answers:
      """
      {access_token: token-of-eight}
      """
    And GET http://api.eight/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And 1st request should be:
      """
      {body: grant_type=client_credentials&client_id=app}
      """

  Scenario: an exchange of tokens
    Given a workflow with tasks:
      """
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: http://api.nine/me
              authentication:
                oauth2:
                  authority: http://auth.nine
                  grant: urn:ietf:params:oauth:grant-type:token-exchange
                  client: {id: app}
                  subject: {token: "${ .mine }", type: "urn:ietf:params:oauth:token-type:jwt"}
                  actor: {token: theirs, type: "urn:ietf:params:oauth:token-type:jwt"}
      """
    And the workflow input is:
      """
      {mine: abc}
      """
    And POST http://auth.nine/oauth2/token answers:
      """
      {access_token: token-of-nine}
      """
    And GET http://api.nine/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the body of 1st request should hold: subject_token=abc&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&actor_token=theirs

  Scenario Outline: grants whose values only a secret can hold
    Given a workflow with body:
      """
      use: {secrets: [grants]}
      do:
        - get: {call: http, with: {method: get, endpoint: {uri: "http://api.<name>/me", authentication: {oauth2: {use: grants}}}}}
      """
    And the secret "grants" is:
      """
      {authority: "http://auth.<name>", grant: <grant>, client_id: app, client_secret: sesame-open-now, <field>: once-only-value}
      """
    And POST http://auth.<name>/oauth2/token answers:
      """
      {access_token: token-of-<name>}
      """
    And GET http://api.<name>/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the body of 1st request should hold: grant_type=<grant>&<field>=once-only-value
    And "once-only-value" should be written nowhere
    And "sesame-open-now" should be written nowhere

    Examples:
      | name  | grant              | field         |
      | code  | authorization_code | code          |
      | again | refresh_token      | refresh_token |

  Scenario: a grant that needs a secret and has none is refused
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api/", authentication: {oauth2: {authority: "http://auth", grant: refresh_token}}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/endpoint/authentication/oauth2/grant because: into a secret

  Scenario: an authority that gives no token is an authentication error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.ten/me", authentication: {oauth2: {authority: "http://auth.ten", grant: client_credentials, client: {id: app}}}}}}
      """
    And POST http://auth.ten/oauth2/token answers:
      """
      {status: 401, body: '{"error": "invalid_client", "error_description": "who are you"}'}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/authentication, status: 401, instance: /do/0/get}
      """
    And the detail of the error should say: invalid_client: who are you

  Scenario: an authority that is not there is a communication error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.ten/me", authentication: {oauth2: {authority: "http://auth.nowhere", grant: client_credentials, client: {id: app}}}}}}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: 503}
      """

  Scenario Outline: a token must come from one of the issuers
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.iss<n>/me", authentication: {oauth2: {authority: "http://auth.iss<n>", grant: client_credentials, issuers: ["<issuer>"], client: {id: app}}}}}}
      """
    And POST http://auth.iss<n>/oauth2/token answers:
      """
      {access_token: "e30.eyJpc3MiOiJtZSJ9.c2ln"}
      """
    And GET http://api.iss<n>/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should <end>

    Examples:
      | n | issuer | end      |
      | 1 | me     | complete |
      | 2 | you    | fault    |

  Scenario: a token never comes back as data
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, output: response, endpoint: {uri: "http://api.echo/me", authentication: {oauth2: {authority: "http://auth.echo", grant: client_credentials, client: {id: app}}}}}}
      """
    And POST http://auth.echo/oauth2/token answers:
      """
      {access_token: a-token-to-hide}
      """
    And GET http://api.echo/me answers:
      """
      {body: "you said a-token-to-hide", headers: {content-type: text/plain}}
      """
    When the workflow is executed
    Then the workflow should complete with output containing:
      """
      {content: "you said [redacted]"}
      """

  Scenario: oidc finds out where tokens are
    Given a workflow with body:
      """
      use:
        authentications:
          mine: {oidc: {authority: "http://id.one/realm", grant: client_credentials, client: {id: app, secret: s}}}
      do:
        - get: {call: http, with: {method: get, endpoint: {uri: "http://api.id/me", authentication: {use: mine}}}}
      """
    And GET http://id.one/realm/.well-known/openid-configuration answers:
      """
      {issuer: http://id.one/realm, token_endpoint: http://id.one/tokens}
      """
    And POST http://id.one/tokens answers:
      """
      {access_token: token-of-id-one}
      """
    And GET http://api.id/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete
    And the last request should be:
      """
      {headers: {authorization: Bearer token-of-id-one}}
      """

  Scenario: an authority of oidc may be written with its well-known path
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.id/me", authentication: {oidc: {authority: "http://id.two/.well-known/openid-configuration", grant: client_credentials, client: {id: app}}}}}}
      """
    And GET http://id.two/.well-known/openid-configuration answers:
      """
      {token_endpoint: http://id.two/tokens}
      """
    And POST http://id.two/tokens answers:
      """
      {access_token: token-of-id-two}
      """
    And GET http://api.id/me answers:
      """
      {ok: true}
      """
    When the workflow is executed
    Then the workflow should complete

  Scenario: a place that describes no oidc is an authentication error
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://api.id/me", authentication: {oidc: {authority: "http://id.three", grant: client_credentials, client: {id: app}}}}}}
      """
    And GET http://id.three/.well-known/openid-configuration answers:
      """
      {status: 404, body: no}
      """
    When the workflow is executed
    Then the workflow should fault with error:
      """
      {type: https://serverlessworkflow.io/spec/1.0.0/errors/authentication, status: 401}
      """

  Scenario: certificates are refused by name
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: http://pets/1, authentication: {certificate: {}}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/endpoint/authentication/certificate because: not supported yet

  Scenario Outline: what is wrong with a policy is refused
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: http://pets/1, authentication: {oauth2: {authority: "http://a", <wrong>}}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/endpoint/authentication/oauth2<at> because: <why>

    Examples:
      | wrong                                                                                | at                       | why                        |
      | grant: magic                                                                         | /grant                   | no grant                   |
      | grant: client_credentials, client: {authentication: guess}                           | /client/authentication   | client_secret_basic        |
      | grant: client_credentials, client: {authentication: private_key_jwt}                 | /client                  | assertion                  |
      | grant: client_credentials, request: {encoding: text/plain}                           | /request/encoding        | application/json           |
      | grant: password, username: ada                                                       |                          | password                   |
      | grant: "urn:ietf:params:oauth:grant-type:token-exchange"                             |                          | subject                    |
      | scope: [a]                                                                           | /scope                   | scopes                     |

  Scenario: a policy that nothing uses is checked all the same
    Given a workflow with body:
      """
      use: {authentications: {mine: {oauth2: {grant: client_credentials}}}}
      do:
        - a: {set: {x: 1}}
      """
    When the workflow is executed
    Then the workflow should be refused at /use/authentications/mine/oauth2 because: authority

  Scenario: the arguments of a call may pass on what it shows
    Given a workflow with body:
      """
      use: {secrets: [keys], authentications: {mine: {basic: {use: keys}}}}
      do:
        - get:
            call: http
            with:
              method: post
              endpoint: {uri: "http://shop/orders", authentication: {use: mine}}
              headers: {x-forwarded-scheme: "${ $authorization.scheme }"}
              body: {pass: "${ $authorization.parameter }"}
              output: response
      """
    And the secret "keys" is:
      """
      {username: ada, password: sesame-open-now}
      """
    And POST http://shop/orders answers:
      """
      {body: {got: YWRhOnNlc2FtZS1vcGVuLW5vdw==}}
      """
    When the workflow is executed
    Then the workflow should complete with output containing:
      """
      {content: {got: "[redacted]"}}
      """
    And the last request should be:
      """
      headers: {authorization: Basic YWRhOnNlc2FtZS1vcGVuLW5vdw==, x-forwarded-scheme: Basic}
      body: '{"pass":"YWRhOnNlc2FtZS1vcGVuLW5vdw=="}'
      """
    And "YWRhOnNlc2FtZS1vcGVuLW5vdw" should be written nowhere

  Scenario: a token that was fetched is shown to the call and to nobody else
    Given a workflow with body:
      """
      do:
        - get:
            call: http
            with:
              method: get
              endpoint:
                uri: "http://shop/orders"
                authentication: {oauth2: {authority: "http://id", grant: client_credentials, client: {id: app, secret: abcd}}}
              headers: {x-token: "${ $authorization.parameter }"}
              output: response
            output: {as: "{sent: .request.headers[\"x-token\"], scheme: $authorization.scheme, shown: $authorization.parameter}"}
            export: {as: $authorization}
      """
    And POST http://id/oauth2/token answers:
      """
      {body: {access_token: a-token-for-the-call, token_type: Bearer, expires_in: 3600}}
      """
    And GET http://shop/orders answers:
      """
      {body: {fine: true}}
      """
    When the workflow is executed
    Then the workflow should complete with output:
      """
      {sent: "[redacted]", scheme: Bearer, shown: "[redacted]"}
      """
    And the exported context should be:
      """
      {scheme: Bearer, parameter: "[redacted]"}
      """
    And the last request should be:
      """
      {headers: {x-token: a-token-for-the-call, authorization: Bearer a-token-for-the-call}}
      """
    And "a-token-for-the-call" should be written nowhere

  Scenario: what digest will show is not known before
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://digest", authentication: {digest: {username: a, password: b}}}, body: "${ $authorization.scheme }"}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with because: before the challenge

  Scenario: a policy cannot be made of itself
    Given a workflow with tasks:
      """
      - get: {call: http, with: {method: get, endpoint: {uri: "http://shop", authentication: {bearer: {token: "${ $authorization.parameter }"}}}}}
      """
    When the workflow is executed
    Then the workflow should be refused at /do/0/get/with/endpoint/authentication/token because: $authorization
