"""A model that takes a while to load: the demo model's shape with a large vocabulary, all zeros."""
import json
import math
import shutil
import struct

from service import SOURCE

DEMO = SOURCE / "models/demo"


def tensors_of(folder):
    """Name and shape of all tensors of a model folder."""
    shapes = {}
    for path in sorted(folder.glob("*.safetensors")):
        with open(path, "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
        header.pop("__metadata__", None)
        shapes.update((name, tensor["shape"]) for name, tensor in header.items())
    return shapes


def make_slow_model(folder, vocab_size=200_000):
    """Writes the model; returns the size of its tensors in bytes. The file has holes: it takes no
    disk."""
    folder.mkdir()
    for path in DEMO.iterdir():
        if path.name != "config.json" and "safetensors" not in path.name:
            shutil.copy(path, folder)
    config = json.loads((DEMO / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": vocab_size}))
    header, end = {}, 0
    for name, shape in tensors_of(DEMO).items():
        if name == "model.embed_tokens.weight":
            shape = [vocab_size, shape[1]]
        begin, end = end, end + 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    return end
