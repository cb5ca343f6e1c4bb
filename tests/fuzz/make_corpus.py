"""Writes the fuzzers' seeds to tests/fuzz/corpus, one folder for each target.

Usage: make_corpus.py [--check]: with --check it writes nothing and names the differences.
A seed is named after its content; the names of seeds that a target accepts begin with "ok-".
Seeds of GGUF files that break readers are in tests/model/data/gguf, messages in tests/vectors.
"""

import pathlib
import sys

import seeds_frames
import seeds_gemma4
import seeds_gguf
import seeds_hybrid
import seeds_http
import seeds_mixture
import seeds_model
import seeds_openai
import seeds_template
import seeds_tokenizer

FOLDER = pathlib.Path(__file__).parent / "corpus"


def as_bytes(seed):
    return seed.encode() if isinstance(seed, str) else seed


def corpus():
    """The seeds: target -> name -> bytes."""
    targets = {
        "frames": seeds_frames.frames(),
        "openai": seeds_openai.openai(),
        "grammar": seeds_openai.grammar(),
        "http": seeds_http.http(),
        "gguf": seeds_gguf.gguf() | seeds_mixture.gguf() | seeds_gemma4.gguf(),
        "safetensors": seeds_model.safetensors(),
        "config": (seeds_model.config() | seeds_mixture.config() | seeds_gemma4.config() |
                   seeds_hybrid.config()),
        "tokenizer": seeds_tokenizer.tokenizer(),
        "template": seeds_template.template(),
    }
    return {f"{target}/{name}": as_bytes(seed)
            for target, seeds in targets.items() for name, seed in seeds.items()}


def main():
    check = sys.argv[1:] == ["--check"]
    wanted = corpus()
    there = {str(path.relative_to(FOLDER)): path for path in FOLDER.glob("*/*")}
    changes = [name for name, seed in wanted.items()
               if name not in there or there[name].read_bytes() != seed]
    changes += [name for name in there if name not in wanted]
    if check:
        for name in changes:
            print(f"tests/fuzz/corpus/{name} is not what make_corpus.py writes", file=sys.stderr)
        sys.exit(1 if changes else 0)
    for name in changes:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in wanted:
            path.write_bytes(wanted[name])
        else:
            path.unlink()
    total = sum(map(len, wanted.values()))
    print(f"{len(wanted)} seeds, {total} bytes; {len(changes)} written anew")


if __name__ == "__main__":
    main()
