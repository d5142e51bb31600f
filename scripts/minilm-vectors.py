"""Makes the vectors that the tests of search by meaning are answered with: `minilm-vectors.py MODEL FOLDER`.

MODEL is the folder of all-MiniLM-L6-v2, FOLDER holds `records.jsonl` and `queries.txt`; `vectors.jsonl` is
written there. The model is worked out here with numpy from its weights, so that the tests hold two
implementations of it against each other. Needs numpy, safetensors and tokenizers.
"""

import json
import math
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

model, folder = (pathlib.Path(one) for one in sys.argv[1:3])
weights = load_file(model / "model.safetensors")
settings = json.loads((model / "config.json").read_text())
heads, layers = settings["num_attention_heads"], settings["num_hidden_layers"]
tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
error = np.vectorize(math.erf, otypes=[np.float32])


def normal(x, name):
    mean, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(spread + settings["layer_norm_eps"])
    return scaled * weights[name + ".weight"] + weights[name + ".bias"]


def linear(x, name):
    return x @ weights[name + ".weight"].T + weights[name + ".bias"]


def attention(x, name):
    split = lambda part: linear(x, f"{name}.self.{part}").reshape(len(x), heads, -1).transpose(1, 0, 2)
    query, key, value = (split(part) for part in ("query", "key", "value"))
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (scores / scores.sum(-1, keepdims=True)) @ value
    return linear(mixed.transpose(1, 0, 2).reshape(len(x), -1), name + ".output.dense")


def vector(text):
    ids = tokenizer.encode(text).ids
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = normal(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(layers):
        name = f"encoder.layer.{number}"
        x = normal(attention(x, name + ".attention") + x, name + ".attention.output.LayerNorm")
        wide = linear(x, name + ".intermediate.dense")
        wide = wide * 0.5 * (1 + error(wide / math.sqrt(2)))
        x = normal(linear(wide, name + ".output.dense") + x, name + ".output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
texts = [f"{one['title']}. {one['body']}" for one in records] + (folder / "queries.txt").read_text().splitlines()
made = [vector(text) for text in texts]
with open(folder / "vectors.jsonl", "w") as out:
    for text, one in zip(texts, made):
        # Eight bits a number: the index keeps no more.
        scale = float(np.abs(one).max() / 127)
        parts = np.round(one / scale).astype(np.int8).tobytes().hex()
        out.write(json.dumps({"text": text, "scale": scale, "parts": parts}) + "\n")
for text, one in zip(texts[len(records) :], made[len(records) :]):
    alike = sorted(((float(one @ other), record["id"]) for other, record in zip(made, records)), reverse=True)
    print(text, [f"{name} {value:.2f}" for value, name in alike[:3]])
