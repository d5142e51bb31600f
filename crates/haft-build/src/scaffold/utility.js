export async function execute({ args }) {
  const words = args.text.split(/\s+/).filter((word) => word !== "");
  return { ok: true, data: { words: words.length } };
}
