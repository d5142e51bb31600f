export async function execute({ args, context }) {
  const draft = await context.calendar.getDraft({ draftId: args.event_draft_id });
  if (draft === null) {
    return failure(
      "not_found",
      `the draft \`${args.event_draft_id}\` does not exist or has expired`,
      "propose the times again with `calendar_propose_event` and book one of the new drafts",
    );
  }

  // A person approved the arguments; the draft is what gets booked. They must agree.
  const difference = firstDifference(args, draft);
  if (difference) {
    return failure(
      "conflict",
      `\`${difference}\` is not what the draft \`${args.event_draft_id}\` holds`,
      "repeat the proposal's values unchanged; for other values, propose again",
    );
  }

  try {
    const event = await context.calendar.createEvent({ draftId: args.event_draft_id });
    return {
      ok: true,
      data: {
        event_id: event.eventId,
        title: event.title,
        start: event.start,
        end: event.end,
        attendees: event.attendees,
        status: event.status,
        conference_url: event.conferenceUrl,
        notes: event.notes,
      },
    };
  } catch (error) {
    if (error.kind !== "conflict") throw error;
    return failure(
      "conflict",
      "the time was taken after it had been proposed, so nothing was booked",
      "tell the user, and propose new times with `calendar_propose_event`",
    );
  }
}

function firstDifference(args, draft) {
  if (args.title !== draft.title) return "title";
  if (Date.parse(args.start) !== Date.parse(draft.start)) return "start";
  if (addresses(args.attendees) !== addresses(draft.attendees)) return "attendees";
  return undefined;
}

function addresses(attendees) {
  const people = new Set(attendees.map((email) => email.trim().toLowerCase()));
  return JSON.stringify([...people].sort());
}

function failure(kind, message, suggestion) {
  return { ok: false, error: { kind, message, retryable: false, suggestion } };
}
