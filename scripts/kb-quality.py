"""Judges runs on the Cranfield collection: `kb-quality.py CORPUS RUNS [NAME…]`.

Every run that is named must be there, with an answer to every query that has relevant documents.

A run is a file of lines `query TAB document TAB score`, best first. nDCG@10 has the gain 5 - grade;
recall@100 counts grades 1 to 4 as relevant. The halves are the queries at even and at odd places: what
helps in one and not in the other was luck.
"""

import collections
import glob
import math
import os
import sys

try:
    import bm25s
    import Stemmer
except ModuleNotFoundError as missing:
    sys.exit(f"error: the package `{missing.name}` is not installed; `scripts/kb-quality` installs it")


def documents(path):
    found, part = {}, None
    for line in open(path):
        if line.startswith(".I "):
            current = found[line[3:].strip()] = {".T": "", ".A": "", ".B": "", ".W": ""}
        elif line.strip() in (".T", ".A", ".B", ".W"):
            part = line.strip()
        else:
            current[part] += line
    return {key: one[".T"] + "\n" + one[".W"] for key, one in found.items()}


def table(path):
    return [line.rstrip("\n").split("\t") for line in open(path)]


def judged(path):
    relevant = collections.defaultdict(dict)
    for query, document, grade in table(path):
        if 1 <= int(grade) <= 4:
            relevant[query][document] = 5 - int(grade)
    return relevant


def ndcg(found, relevant):
    gain = sum(relevant.get(one, 0) / math.log2(place + 2) for place, one in enumerate(found[:10]))
    best = sorted(relevant.values(), reverse=True)[:10]
    return gain / sum(one / math.log2(place + 2) for place, one in enumerate(best))


def recall(found, relevant):
    return len(set(found[:100]) & set(relevant)) / len(relevant)


def mean(values):
    return sum(values) / len(values)


def with_bm25s(texts, queries, stemmer):
    keys = list(texts)
    index = bm25s.BM25()
    options = dict(stopwords="en", stemmer=stemmer, show_progress=False)
    index.index(bm25s.tokenize([texts[key] for key in keys], **options), show_progress=False)
    run = {}
    for number, text in queries:
        words = bm25s.tokenize([text], **options)
        places, scores = index.retrieve(words, k=100, show_progress=False)
        run[number] = [keys[int(place)] for place, score in zip(places[0], scores[0]) if score > 0]
    return run


def give_up(why):
    print(f"error: {why}", file=sys.stderr)
    sys.exit(1)


if len(sys.argv) < 3:
    give_up("usage: kb-quality.py CORPUS RUNS [NAME…]; `scripts/kb-quality` does all of it")
corpus, folder, *expected = sys.argv[1:]
for name in ("cran.all.1400", "queries.tsv", "qrels.tsv"):
    if not os.path.isfile(f"{corpus}/{name}"):
        give_up(f"there is no {corpus}/{name}: CORPUS is the folder of the Cranfield collection")
texts = documents(f"{corpus}/cran.all.1400")
queries = table(f"{corpus}/queries.tsv")
relevant = judged(f"{corpus}/qrels.tsv")
queries = [(number, text) for number, text in queries if relevant[number]]

runs, scores = {}, collections.defaultdict(list)
for path in sorted(glob.glob(f"{folder}/*.run")):
    name = os.path.basename(path)[: -len(".run")]
    runs[name] = collections.defaultdict(list)
    for number, document, score in table(path):
        runs[name][number].append(document)
        if number in relevant:
            scores[name].append((float(score), document in relevant[number]))
for name in expected:
    if name not in runs:
        there = ", ".join(f"`{one}`" for one in runs) or "none"
        give_up(f"the run `{name}` was not made (there: {there}); what went wrong stands above")
    without = [number for number, _ in queries if not runs[name][number]]
    if without:
        give_up(f"the run `{name}` is not whole: {len(without)} of {len(queries)} queries have no answer")
runs["bm25s, as it comes"] = with_bm25s(texts, queries, None)
runs["bm25s, English stems"] = with_bm25s(texts, queries, Stemmer.Stemmer("english"))

print(f"{len(texts)} documents, {len(queries)} queries")
print(f"{'':32} {'nDCG@10':>8} {'even':>7} {'odd':>7} {'recall@100':>11}")
for name, run in runs.items():
    values = [ndcg(run[number], relevant[number]) for number, _ in queries]
    found = [recall(run[number], relevant[number]) for number, _ in queries]
    print(f"{name:32} {mean(values):8.4f} {mean(values[::2]):7.4f} {mean(values[1::2]):7.4f} {mean(found):11.4f}")

if {"haft, hybrid", "haft, full text", "vectors alone"} <= set(runs):
    score = lambda name: mean([ndcg(runs[name][number], relevant[number]) for number, _ in queries])
    best = max(score("haft, full text"), score("vectors alone"))
    print(f"\nhybrid against the better of its parts: {100 * (score('haft, hybrid') / best - 1):+.1f} % nDCG@10")

print("\nhow many of the records with a score are relevant")
for name in runs:
    if name.startswith("haft"):
        shown = []
        for low in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
            hits = [good for score, good in scores[name] if low <= score < low + 0.1]
            if len(hits) >= 20:
                shown.append(f"{low:.1f}-{low + 0.1:.1f}: {100 * mean(hits):.0f} %")
        print(f"{name:32} " + ", ".join(shown))
