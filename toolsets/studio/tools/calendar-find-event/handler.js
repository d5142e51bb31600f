export async function execute({ args, context }) {
  const { event_id: eventId, event_draft_id: draftId } = args;
  if ((eventId === undefined) === (draftId === undefined)) {
    return {
      ok: false,
      error: {
        kind: "invalid_arguments",
        message: "exactly one of `event_id` and `event_draft_id` is needed",
        retryable: false,
        suggestion: "pass the event's id if you have it, otherwise the draft's",
      },
    };
  }

  const event = await context.calendar.findEvent({ eventId, draftId });
  if (event === null) return { ok: true, data: { found: false } };
  return {
    ok: true,
    data: {
      found: true,
      event: {
        event_id: event.eventId,
        title: event.title,
        start: event.start,
        end: event.end,
        attendees: event.attendees,
        status: event.status,
        conference_url: event.conferenceUrl,
      },
    },
  };
}
