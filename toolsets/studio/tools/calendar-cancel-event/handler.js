export async function execute({ args, context }) {
  const event = await context.calendar.findEvent({ eventId: args.event_id });
  if (event === null) {
    return failure(
      "not_found",
      `there is no event \`${args.event_id}\``,
      "use the id that `calendar_create_event` returned",
    );
  }

  // A person approved cancelling the event of this title; another one stays.
  if (event.title !== args.title) {
    return failure(
      "conflict",
      `the event \`${args.event_id}\` is not called \`${args.title}\``,
      "check which event is meant with `calendar_find_event`, then repeat its id and title",
    );
  }

  const already = event.status === "cancelled";
  if (!already) {
    await context.calendar.cancelEvent({ eventId: args.event_id, reason: args.reason });
  }
  return {
    ok: true,
    data: { event_id: args.event_id, status: "cancelled", already_cancelled: already },
  };
}

function failure(kind, message, suggestion) {
  return { ok: false, error: { kind, message, retryable: false, suggestion } };
}
