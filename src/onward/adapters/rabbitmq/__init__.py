"""The message bus of a cluster, on RabbitMQ.

In the order to read it:

    address           the URL of a broker, and why it cannot be reached, in plain words
    frames            the two kinds of AMQP frames that are sent for every message, as bytes
    amqp              connections and channels as coroutines, around the client library
    topology          the queues and their arguments, and how they are declared
    reconnect         a connection that is replaced when it is lost
    publisher         messages with confirms
    consumer          deliveries as an iterator that survives lost connections
    bus               the `Bus` that ties these together
    quarantine_queue  the messages that wait for a decision
    health            facts for `onward doctor`: which queues differ from the topology

May import the kernel and the ports, no other adapter. The client is an optional dependency.
"""
