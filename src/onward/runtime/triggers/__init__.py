"""What starts runs by itself: schedules, webhooks and events.

- `service`: creating and changing triggers.
- `firing`, `firer`: a firing is recorded first, then its run starts under an id derived from it.
- `clock`: the loop that fires schedules, and the decision about firings that wait.
- `events`, `event_hub`, `cloud_events`: events that fire triggers, and that running runs receive.
- `webhooks`, `webhook_signatures`, `secrets`: requests that fire triggers, and who may send them.

Any number of processes may do all of this at once: what must happen once has a key in the store.
Stands on `backend` and `workflows`.
"""
