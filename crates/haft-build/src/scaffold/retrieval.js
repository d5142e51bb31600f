export async function execute({ args, context }) {
  const found = await context.kb.search({ query: args.query, topK: args.limit });
  return {
    ok: true,
    data: { results: found.results.map(({ id, title, score }) => ({ id, title, score })) },
  };
}
