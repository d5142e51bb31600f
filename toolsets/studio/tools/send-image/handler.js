export async function execute({ args, context }) {
  if (!context.session.active) {
    return {
      ok: false,
      error: {
        kind: "session_inactive",
        message: "the session has ended, so there is no chat to show the image in",
        retryable: false,
        suggestion: "give the link in the next conversation instead",
      },
    };
  }

  await context.messaging.send({
    type: "image",
    url: args.image_url,
    caption: args.caption,
    altText: args.alt_text,
  });
  return { ok: true, data: { sent: true } };
}
