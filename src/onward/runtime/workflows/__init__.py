"""Workflows as people change them: versions, publishing, and the schedules of documents.

- `service`: every change of a workflow, checked against its revision.
- `document_schedules`: the trigger that a published document asks for itself.

Stands on `backend`; triggers and run control stand on it.
"""
