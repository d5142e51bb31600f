export async function execute({ args, context }) {
  const { start, end } = args.filters?.date_range ?? {};
  if (start && end && Date.parse(start) > Date.parse(end)) {
    return {
      ok: false,
      error: {
        kind: "invalid_arguments",
        message: `\`filters.date_range\` starts at ${start}, after its end ${end}`,
        retryable: false,
        suggestion: "swap `start` and `end`, or leave one of them out",
      },
    };
  }

  // The knowledge base answers in evidence objects, so there is nothing to
  // reshape: what it found is what the model may cite.
  const { results, total, query_time_ms } = await context.kb.search({
    query: args.query,
    namespace: args.namespace,
    filters: args.filters,
    topK: args.top_k,
    returnFields: args.return_fields,
    includeSnippets: args.include_snippets,
  });
  return { ok: true, data: { results, total, query_time_ms } };
}
