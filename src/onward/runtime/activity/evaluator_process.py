"""The inside of a process that evaluates expressions: each question gets one answer."""

from __future__ import annotations

from onward.expressions.offload import answer_question
from onward.runtime.activity.frames import serve_frames

if __name__ == "__main__":
    serve_frames(lambda question, _: answer_question(question))
