export async function execute({ args, context }) {
  if (!context.session.active || !(await context.voice.isActive())) {
    return {
      ok: false,
      error: {
        kind: "session_inactive",
        message: "there is no voice session to end",
        retryable: false,
        suggestion: "do nothing; the caller has already gone",
      },
    };
  }

  await context.audit.log("voice_session_ending", { reason: args.reason });

  // The session ends itself: a handler only says what it would like to happen.
  const intents = endingIntents(args.farewell_message);
  return { ok: true, data: { ends_after: intents.at(-1).after }, intents };
}

function endingIntents(farewell) {
  if (farewell === undefined) {
    return [{ type: "END_VOICE_SESSION", after: "turn_complete" }];
  }
  return [
    { type: "SET_PENDING_MESSAGE", message: farewell },
    { type: "END_VOICE_SESSION", after: "farewell_spoken" },
  ];
}
