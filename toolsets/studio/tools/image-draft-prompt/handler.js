const STYLES = {
  photo: "Photograph with natural light and true colours",
  illustration: "Editorial illustration with clean shapes and a limited palette",
  flat_graphic: "Flat vector graphic with solid colours and no gradients",
  watercolour: "Watercolour painting with soft edges and visible paper grain",
  render_3d: "3D render with studio lighting and soft shadows",
  line_art: "Line art with even black strokes on white",
};

const FRAMINGS = [
  { label: "centred", framing: "Subject centred, seen at eye level" },
  { label: "wide", framing: "Wide view, subject small within its surroundings" },
  { label: "close", framing: "Close view, one telling detail fills the frame" },
  { label: "overhead", framing: "Seen from straight above, orderly arrangement" },
];

const SIZES = { square: "1024x1024", landscape: "1536x1024", portrait: "1024x1536" };

export async function execute({ args }) {
  const subject = tidy(args.subject);
  if (subject === "") {
    return {
      ok: false,
      error: {
        kind: "invalid_arguments",
        message: "`subject` holds no words",
        retryable: false,
        suggestion: "say what the image shows, for example `a lighthouse made of paper lanterns`",
      },
    };
  }

  const scene = [subject, tidy(args.setting)].filter(Boolean).join(", ");
  const mood = tidy(args.mood);
  const avoid = [...new Set(args.avoid.map(tidy).filter(Boolean))].join(", ");

  const drafts = FRAMINGS.slice(0, args.variants).map(({ label, framing }) => ({
    label,
    prompt: sentences(STYLES[args.style], scene, framing, mood && `Mood: ${mood}`, avoid && `Avoid: ${avoid}`),
    size: SIZES[args.aspect_ratio],
  }));
  return { ok: true, data: { drafts } };
}

function sentences(...parts) {
  return parts
    .filter(Boolean)
    .map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}.`)
    .join(" ");
}

// People type line breaks and full stops; a prompt of ours is one clean line.
function tidy(text = "") {
  return text.replace(/\s+/g, " ").replace(/^[\s.,;:]+|[\s.,;:]+$/g, "");
}
