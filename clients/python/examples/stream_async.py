#!/usr/bin/env python3
"""Two answers that are written at the same time, and one that is cut short.

    python stream_async.py [ENDPOINT]
"""

import asyncio
import sys

from cascade_llm import AsyncClient, ChatMessage, Delta, GenerateRequest, Sampling


def printable(text: str) -> str:
    """Text of a model is hostile to a terminal until its control characters are gone."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


async def ask(client: AsyncClient, question: str, pieces_max: int = 1000) -> None:
    request = GenerateRequest(
        messages=[ChatMessage("user", question)], sampling=Sampling(temperature=0)
    )
    pieces = 0
    stream = await client.stream(request)
    async for event in stream:
        if isinstance(event, Delta):
            pieces += 1
            if pieces == pieces_max:
                await stream.cancel()
    final = await stream.result()
    print(f"{question} [{final.finish_reason}] {printable(final.text)}")


async def main() -> None:
    async with AsyncClient(*sys.argv[1:2]) as client:
        await asyncio.gather(
            ask(client, "What is the capital of France?"),
            ask(client, "What is the capital of Italy?"),
        )
        await ask(client, "What does the word happy mean?", pieces_max=2)


if __name__ == "__main__":
    asyncio.run(main())
