export async function execute({ args, context }) {
  const found = await context.kb.get({ ids: args.ids, returnFields: args.return_fields });

  const byId = new Map(found.results.map((record) => [record.id, record]));
  const missing = args.ids.filter((id) => !byId.has(id));
  if (missing.length === args.ids.length) {
    return {
      ok: false,
      error: {
        kind: "not_found",
        message: `no record has the id ${missing.map((id) => `\`${id}\``).join(" or ")}`,
        retryable: false,
        suggestion: "take ids from a search result as they stand, or search with `kb_search`",
      },
    };
  }

  const results = args.ids
    .filter((id) => byId.has(id))
    .map((id) => evidence(byId.get(id), args.max_chars));
  return { ok: true, data: { results, missing } };
}

function evidence(record, maxChars) {
  const exact = { ...record, score: 1 };
  if (record.full_text === undefined) return exact;
  const full_text = shorten(record.full_text, maxChars);
  return { ...exact, full_text, truncated: full_text !== record.full_text };
}

// Counts characters, not UTF-16 units, so that an emoji is never cut in half,
// and steps back to a word's end unless that would lose most of the text.
function shorten(text, maxChars) {
  const characters = Array.from(text);
  if (characters.length <= maxChars) return text;
  let end = maxChars;
  while (end > 0 && !/\s/.test(characters[end])) end -= 1;
  if (end < maxChars / 2) end = maxChars;
  return characters.slice(0, end).join("").trimEnd();
}
