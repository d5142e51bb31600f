const RETURN_FIELDS = ["snippet", "url", "metadata"];
const MOST = 3;
const PROFILE_LINK = /^https:\/\/(?:[a-z]{2,3}\.)?linkedin\.com\/(?:in|pub)\/[^\s/?#]+/i;

export async function execute({ args, context }) {
  const candidates = args.person.startsWith("person:")
    ? await byId(context, args.person)
    : await byName(context, args);

  const results = candidates.map(withProfileLink).filter(Boolean).slice(0, MOST);
  if (results.length === 0) {
    return {
      ok: false,
      error: {
        kind: "not_found",
        message: `no LinkedIn link is stored for \`${args.person}\``,
        retryable: false,
        suggestion: "say that no profile is stored; do not build a link from the name",
      },
    };
  }
  return { ok: true, data: { results } };
}

async function byId(context, id) {
  const { results } = await context.kb.get({ ids: [id], returnFields: RETURN_FIELDS });
  return results.map((record) => ({ ...record, score: 1 }));
}

async function byName(context, { person, company, namespace }) {
  const { results } = await context.kb.search({
    query: company ? `${person} ${company}` : person,
    namespace,
    topK: 10,
    returnFields: RETURN_FIELDS,
    includeSnippets: true,
  });
  // A search also finds people who share a name in part or are merely mentioned;
  // handing out their link would be worse than handing out none.
  const name = words(person);
  return results.filter(({ title }) => {
    const titled = new Set(words(title));
    return name.every((word) => titled.has(word));
  });
}

function words(text) {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

function withProfileLink(record) {
  if (record.type !== "person" && record.type !== "link") return undefined;
  const stored = [record.metadata?.linkedin_url, record.url];
  const url = stored.find((link) => typeof link === "string" && PROFILE_LINK.test(link));
  return url === undefined ? undefined : { ...record, url };
}
