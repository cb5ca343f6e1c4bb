#!/usr/bin/env python3
"""Thoughts that a later question builds upon, and what keeping them costs.

    python chain_of_thought.py [MODEL_FOLDER | ENDPOINT]

With the policy "keep" an output chunk stands for the answer with its thoughts: a later request
goes on after them and computes its question only. With "reprefill", the default, the thoughts are
left out of the history, as chat templates do, and the answer is computed again in idle time.
"""

import sys

from cascade_llm import ChunkedLLM, ChunkType, SamplingParams, ThinkPolicy

QUESTION = "What is 2+2?"
# A draw in which the demo model thinks first; a larger model thinks of its own accord.
SEED = 1


def main() -> None:
    with ChunkedLLM(*sys.argv[1:2]) as llm:
        for policy in (ThinkPolicy.KEEP, ThinkPolicy.REPREFILL):
            thought = llm.generate_and_retain_output(
                system_prompt="",
                query=QUESTION,
                sampling_params=SamplingParams(
                    temperature=0.8, seed=SEED, max_tokens=200, think_policy=policy
                ),
            )
            assert thought["output_chunk_id"] is not None
            follow_up = llm.generate_from_chunks(
                query_chunk_id=llm.register_chunk("What did I ask?", ChunkType.QUERY),
                context_chunk_ids=[thought["output_chunk_id"]],
                sampling_params=SamplingParams(temperature=0, max_tokens=30, thinking=True),
            )
            spans = llm.get_retained_sequences()[thought["output_chunk_id"]]["think_positions"]
            print(f"policy {policy}")
            print(f"  thoughts:  {thought['reasoning']}  (tokens {spans})")
            print(f"  answer:    {thought['text']}")
            print(f"  follow-up: {follow_up['usage'].prompt_tokens} tokens of prompt")
            print(f"             {follow_up['text']}")
            llm.release_retained_sequence(thought["output_chunk_id"])


if __name__ == "__main__":
    main()
