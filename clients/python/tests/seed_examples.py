"""The Python examples of the documents that Cascade began with, as they are written there but for
the name of the package. test_chunked_llm.py runs this file; `model_path` is its argument.
"""

import sys

model_path = sys.argv[1]

# Basic output retention

from cascade_llm import ChunkedLLM, ChunkType, SamplingParams  # noqa: E402

# Initialize ChunkedLLM
llm = ChunkedLLM(model_path)

# Generate with output retention
output = llm.generate_and_retain_output(
    system_prompt="You are a helpful assistant.",
    query="Explain quantum computing",
    sampling_params={"temperature": 0.7, "max_tokens": 200}
)

# Output contains:
# - text: The generated text (with think tags filtered)
# - token_ids: The generated token IDs
# - output_chunk_id: ID of the registered output chunk
# - retained_seq_id: ID of the retained sequence

# Using output as context

# First generation
output1 = llm.generate_and_retain_output(
    system_prompt="You are a helpful assistant.",
    query="What is the capital of France?",
    sampling_params={"temperature": 0.1, "max_tokens": 50}
)

# Use the output as context for next generation
output2 = llm.generate_from_chunks(
    system_chunk_id=llm.register_chunk("You are a helpful assistant.", ChunkType.SYSTEM_PROMPT),
    query_chunk_id=llm.register_chunk("What city did we just discuss?", ChunkType.QUERY),
    context_chunk_ids=[output1['output_chunk_id']],  # Use previous output as context
    sampling_params={"temperature": 0.1, "max_tokens": 50}
)

# Manual control

# Enable retention with standard generate
sampling_params = SamplingParams(
    temperature=0.7,
    max_tokens=100,
    retain_output_cache=True  # Enable retention
)

# Access retained sequences directly
retained = llm.llm.get_retained_sequences()
for seq_id, info in retained.items():
    print(f"Sequence {seq_id}:")
    print(f"  Text: {info['text']}")  # Think tags filtered
    print(f"  Has think tags: {info['think_positions'] is not None}")

# Manually release when done
llm.llm.release_retained_sequence(seq_id)

# What the documents say of it, for the test.
assert output.keys() >= {"text", "token_ids", "output_chunk_id", "retained_seq_id"}
assert output["retained_seq_id"] in retained and output1["retained_seq_id"] in retained
assert seq_id not in llm.get_retained_sequences()
print(f"SECOND: {output2['text']}")
llm.delete_chunk(llm.generate(["The"], sampling_params)[0]["output_chunk_id"])
print(f"STATS: {len(llm.get_chunk_stats().groups)} groups")
