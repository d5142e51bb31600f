import { ToolError } from "haft";

export async function execute({ args, context }) {
  const { images, notes } = await context.images.generate({
    prompt: args.prompt,
    size: args.size,
    count: args.count,
    quality: args.quality,
  });

  // The provider took the request, and possibly the money, and sent nothing:
  // neither a success nor something to try again without asking.
  if (images.length === 0) {
    throw new ToolError("permanent", "the image service accepted the request and returned no image", {
      retryable: false,
      partialSideEffects: true,
      suggestion: "tell the user that it may have been charged, and ask before trying another prompt",
    });
  }

  return {
    ok: true,
    data: {
      images: images.map(({ id, url, mediaType, width, height }) => ({
        image_id: id,
        url,
        media_type: mediaType,
        width,
        height,
      })),
      requested: args.count,
      notes,
    },
  };
}
