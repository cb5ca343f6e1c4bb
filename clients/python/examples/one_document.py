#!/usr/bin/env python3
"""One document, many questions: the document is computed once.

    python one_document.py [MODEL_FOLDER | ENDPOINT]

The beginning that all prompts share, system prompt and document, is cached as a prefix: computed
ahead and kept as long as this connection refers to it. The questions are then asked all at once.
"""

import sys

from cascade_llm import (
    ChunkedLLM,
    ChunkRef,
    ChunkType,
    Final,
    GenerateRequest,
    PrefixCache,
    Sampling,
)

LIKES = [("Ana", "plums"), ("Ben", "tea"), ("Eva", "rain"), ("Tom", "old maps")]
DOCUMENT = "\n".join(
    ["Notes:", "The code of the red door is 4711."]
    + [f"{name} likes {what}." for name, what in LIKES * 15]
    + ["The code of the blue boat is 1352."]
)
QUESTIONS = [
    "What is the code of the red door?",
    "What is the code of the blue boat?",
    "What is the capital of France?",
]


def main() -> None:
    with ChunkedLLM(*sys.argv[1:2]) as llm:
        beginning = [
            ChunkRef(ChunkType.SYSTEM_PROMPT, text="You answer from the notes."),
            ChunkRef(ChunkType.CONTEXT, id=llm.register_chunk(DOCUMENT, ChunkType.CONTEXT)),
        ]
        prefix = llm.client.cache_prefix(PrefixCache(chunks=beginning))
        print(f"the document: {prefix.tokens} tokens, {prefix.prefilled_tokens} computed")
        requests = [
            GenerateRequest(
                chunks=[*beginning, ChunkRef(ChunkType.QUERY, text=question)],
                sampling=Sampling(temperature=0),
                max_tokens=40,
            )
            for question in QUESTIONS
        ]
        for question, answer in zip(QUESTIONS, llm.client.generate_batch(requests)):
            if not isinstance(answer, Final):
                raise answer
            usage = answer.usage
            print(f"user:      {question}")
            print(f"assistant: {answer.text}")
            print(f"           {usage.reused_tokens} reused, {usage.prefilled_tokens} computed")
        llm.client.release_prefix(prefix.id)


if __name__ == "__main__":
    main()
