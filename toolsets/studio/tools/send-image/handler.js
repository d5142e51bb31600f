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

  if ((args.image_url === undefined) === (args.image_id === undefined)) {
    return {
      ok: false,
      error: {
        kind: "invalid_arguments",
        message: "`image_url` or `image_id` is needed, and not both",
        retryable: false,
        suggestion: "pass the image's `url`, or its `image_id` where it has no `url`",
      },
    };
  }

  await context.messaging.send({
    type: "image",
    ...(await image(args, context)),
    caption: args.caption,
    altText: args.alt_text,
  });
  return { ok: true, data: { sent: true } };
}

// An image that is kept and not served has no link: the client knows where its files are by the id.
async function image(args, context) {
  if (args.image_url !== undefined) return { url: args.image_url };
  const { id, url, mediaType } = await context.images.find({ id: args.image_id });
  return { imageId: id, url, mediaType };
}
