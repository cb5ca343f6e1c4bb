#!/usr/bin/env python3
"""A conversation in which each turn computes its new message only.

    python multi_turn.py [MODEL_FOLDER | ENDPOINT]

Each answer is retained as an output chunk; the next turn names the chunks of the turns before it.
"""

import sys

from cascade_llm import ChunkedLLM, ChunkType

QUESTIONS = [
    "What is the capital of France?",
    "What city did we just discuss?",
    "What is the capital of Italy?",
]
PARAMS = {"temperature": 0, "max_tokens": 50, "retain_output_cache": True}


def main() -> None:
    with ChunkedLLM(*sys.argv[1:2]) as llm:
        system = llm.register_chunk("You are a helpful assistant.", ChunkType.SYSTEM_PROMPT)
        turns: list[str] = []
        for question in QUESTIONS:
            answer = llm.generate_from_chunks(
                system_chunk_id=system,
                query_chunk_id=llm.register_chunk(question, ChunkType.QUERY),
                context_chunk_ids=turns,
                sampling_params=PARAMS,
            )
            usage = answer["usage"]
            print(f"user:      {question}")
            print(f"assistant: {answer['text']}")
            print(f"           {usage.reused_tokens} reused, {usage.prefilled_tokens} computed")
            assert answer["output_chunk_id"] is not None
            turns.append(answer["output_chunk_id"])
        for output in turns:
            llm.release_retained_sequence(output)


if __name__ == "__main__":
    main()
