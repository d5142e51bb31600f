export async function execute({ args, context }) {
  await context.messaging.send({ type: "notice", text: args.message });
  return { ok: true, data: { sent: true } };
}
