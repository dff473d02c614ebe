"""Reading a document of the Serverless Workflow DSL: text to a tree, every problem at once.

    reader           findings, the variables in scope, the components of `use`
    document         the entrance: the whole document
    tasks            lists of tasks and the simple kinds of them
    errors, events, run, calls, asyncapi    the other kinds
    arguments        the arguments of a call: URI templates, policies, secrets
    task_fields, authentication, extensions, schedule    parts that several of them share
    bundle           resources from outside, which become part of the document first

Tasks hold tasks: a reader of one kind reads an inner list through `DocumentReader.tasks`, so that
no module imports the one that imports it.
"""
