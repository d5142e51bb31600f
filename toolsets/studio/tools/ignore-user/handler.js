const AFTER_A_VOICE_FAREWELL = [
  { type: "END_VOICE_SESSION", after: "farewell_spoken" },
  { type: "SUPPRESS_AUDIO", value: true },
];

export async function execute({ args, context }) {
  if (!context.session.active) {
    return {
      ok: false,
      error: {
        kind: "session_inactive",
        message: "the session has already ended, so nobody was blocked",
        retryable: false,
        suggestion: "do nothing; a user who comes back starts a session of their own",
      },
    };
  }

  const request = { seconds: args.duration_seconds, reason: args.reason };
  // Before the block, so that a trail that cannot be written means no block, and
  // the client last, so that hanging up is no way to escape one.
  await context.audit.log("user_block_requested", request);
  const block = await context.moderation.block(request);
  const notified = await tellClient(context, args, block.until);

  return {
    ok: true,
    data: {
      blocked_until: block.until,
      duration_seconds: args.duration_seconds,
      extended: block.extended,
      client_notified: notified,
    },
    intents: context.mode === "voice" ? AFTER_A_VOICE_FAREWELL : [],
  };
}

// Failing here would report a block that stands as one that failed, so a client
// that cannot be reached is a fact for the answer instead.
async function tellClient(context, args, until) {
  try {
    await context.messaging.send({
      type: "timeout",
      durationSeconds: args.duration_seconds,
      timeoutUntil: until,
      farewellMessage: args.farewell_message,
    });
    return true;
  } catch {
    return false;
  }
}
