"""What tasks of the Serverless Workflow DSL call, registered by `catalogue` under the DSL's names.

    http              one request; the others over HTTP share its outcome
    openapi, asyncapi, a2a, mcp, grpc    calls by a description or a protocol
    run               processes, containers, other workflows
    events            emit, the subscription of a run, the authorization of a call
    amqp, json_rpc    protocols under asyncapi, a2a and mcp
    fetched_documents, document_refs, openapi_document, asyncapi_document    descriptions

Names of fields are those of the DSL. A package that only some calls need is imported when such a
call is made.
"""
