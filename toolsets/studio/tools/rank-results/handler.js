const DAY_MS = 24 * 60 * 60 * 1000;

export async function execute({ args }) {
  const { relevance, recency, source } = args.weights;
  const total = relevance + recency + source;
  if (total === 0) {
    return {
      ok: false,
      error: {
        kind: "invalid_arguments",
        message: "all `weights` are 0, so there is nothing to rank by",
        retryable: false,
        suggestion: "raise at least one weight, or leave `weights` out",
      },
    };
  }

  const unique = withoutDuplicates(args.results);
  const now = referenceTime(args.reference_time, unique);

  const ranked = unique
    .map((result) => {
      const parts = {
        relevance: result.score,
        recency: recencyOf(result.last_updated, now, args.half_life_days),
        source: sourceOf(result.source_type, args.preferred_sources),
      };
      const weighted = relevance * parts.relevance + recency * parts.recency + source * parts.source;
      return { id: result.id, updated: updatedAt(result), value: rounded(weighted / total), parts };
    })
    .sort(byValue)
    .slice(0, args.top_k)
    .map(({ id, value, parts }, index) => ({ id, rank: index + 1, value, parts }));

  return {
    ok: true,
    data: {
      results: ranked,
      considered: unique.length,
      duplicates_removed: args.results.length - unique.length,
    },
  };
}

// Ids are unique here, so the last comparison leaves no ties: the order depends
// on what was passed, never on the order in which it was passed.
function byValue(a, b) {
  return (
    b.value - a.value ||
    b.parts.relevance - a.parts.relevance ||
    b.updated - a.updated ||
    (a.id < b.id ? -1 : 1)
  );
}

// Two lookups may find one record; the better and, if equal, the newer stays.
function withoutDuplicates(results) {
  const best = new Map();
  for (const result of results) {
    const kept = best.get(result.id);
    const better =
      kept === undefined ||
      result.score > kept.score ||
      (result.score === kept.score && updatedAt(result) > updatedAt(kept));
    if (better) best.set(result.id, result);
  }
  return [...best.values()];
}

function referenceTime(given, results) {
  return given === undefined ? Math.max(...results.map(updatedAt)) : Date.parse(given);
}

function recencyOf(lastUpdated, now, halfLifeDays) {
  if (lastUpdated === undefined) return 0;
  const ageDays = Math.max(0, now - Date.parse(lastUpdated)) / DAY_MS;
  return rounded(2 ** (-ageDays / halfLifeDays));
}

function sourceOf(sourceType, preferred) {
  const place = preferred.indexOf(sourceType);
  return place === -1 ? 0 : rounded(1 - place / preferred.length);
}

// Undated results count as older than any dated one. A finite number, because
// infinities cannot be subtracted from each other when sorting.
function updatedAt({ last_updated }) {
  return last_updated === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(last_updated);
}

// Engines differ in the last digits of a power; rounding before the comparison
// keeps the order the same everywhere.
function rounded(number) {
  return Math.round(number * 1e6) / 1e6;
}
