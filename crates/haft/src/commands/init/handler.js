export async function execute({ args }) {
  const found = args.text.split(/\s+/).filter((word) => word !== "");
  const words = Math.min(found.length, args.most);
  return { ok: true, data: { words, all: words === found.length } };
}
