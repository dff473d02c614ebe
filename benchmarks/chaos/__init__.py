"""Faults on a real cluster under a steady load: nothing may be lost, doubled, stuck or left behind.

Private RabbitMQ, Redis and PostgreSQL servers and real `onward` processes; runs are started all the
time while things break by a plan that a seed decides; at the end an oracle compares every run with
what an undisturbed engine says.

    ./onward check --chaos --seconds 60 --seed 1

`docs/how-to/chaos.md` explains it.
"""
