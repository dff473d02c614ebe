"""Triggers: what starts runs by itself, and the requests from outside that do.

    routes        create, change, fire, preview, backfill, list firings
    webhooks      webhooks of any method, and CloudEvents
    views, examples

The rules of firing are in `onward.runtime.triggers`; here they meet requests. No module imports a
web framework.
"""
