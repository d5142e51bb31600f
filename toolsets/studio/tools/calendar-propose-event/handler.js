const DEFAULT_WINDOW_MS = 14 * 24 * 60 * 60 * 1000;
const MOST_CANDIDATES = 500;

export async function execute({ args, context }) {
  const now = await context.clock.now();
  const from = Math.max(now.epochMs, timeOf(args.search_from) ?? now.epochMs);
  const until = timeOf(args.search_until) ?? from + DEFAULT_WINDOW_MS;

  const objection = objectionTo(args, from, until);
  if (objection) {
    return { ok: false, error: { kind: "invalid_arguments", retryable: false, ...objection } };
  }

  const attendees = distinct(args.attendees);
  const searched = { from: rfc3339(from), until: rfc3339(until) };
  const { slots, timezone, notChecked, notes } = await context.calendar.freeSlots({
    attendees: withZones(attendees, args.attendee_zones),
    durationMinutes: args.duration_minutes,
    from: searched.from,
    until: searched.until,
    timezone: args.timezone,
    workingHours: args.working_hours,
    weekends: args.weekends,
    preferred: args.preferred_times,
    limit: MOST_CANDIDATES,
  });

  const proposals = [];
  for (const { slot, distance } of choose(slots, args.preferred_times, args.max_proposals)) {
    const draft = await context.calendar.saveDraft({
      title: args.title,
      attendees,
      start: slot.start,
      end: slot.end,
      timezone,
      conference: args.conference,
      location: args.location,
      notes: args.notes,
    });
    proposals.push({
      event_draft_id: draft.draftId,
      start: slot.start,
      end: slot.end,
      preferred: args.preferred_times.length > 0 && distance === 0,
      expires_at: draft.expiresAt,
      local_times: slot.localTimes,
    });
  }

  const { title, duration_minutes } = args;
  const about = { timezone, not_checked: notChecked, notes };
  return { ok: true, data: { title, attendees, duration_minutes, proposals, searched, ...about } };
}

function objectionTo({ attendees, attendee_zones, working_hours }, from, until) {
  if (until <= from) {
    return {
      message: `there is no time to search: the period would end at ${rfc3339(until)} and start at ${rfc3339(from)}`,
      suggestion: "set `search_until` to a time that lies ahead, after `search_from`",
    };
  }
  if (working_hours && working_hours.end <= working_hours.start) {
    return {
      message: `\`working_hours\` end at ${working_hours.end}, before they start at ${working_hours.start}`,
      suggestion: "give hours within one day, for example 09:00 to 17:00",
    };
  }
  const invited = new Set(attendees.map(person));
  const stranger = attendee_zones.find(({ email }) => !invited.has(person(email)));
  if (stranger) {
    return {
      message: `\`attendee_zones\` names \`${stranger.email}\`, who is not in \`attendees\``,
      suggestion: "write the same address in both, or leave the zone out",
    };
  }
  return undefined;
}

// Mail for `A@x.example` and `a@x.example` reaches one person.
function person(email) {
  return email.trim().toLowerCase();
}

function distinct(emails) {
  const first = new Map();
  for (const email of emails) {
    if (!first.has(person(email))) first.set(person(email), email);
  }
  return [...first.values()];
}

function withZones(attendees, zones) {
  const zoneOf = new Map(zones.map(({ email, timezone }) => [person(email), timezone]));
  return attendees.map((email) => ({ email, timezone: zoneOf.get(person(email)) }));
}

// Free time comes as many starts a few minutes apart. A useful choice is a
// handful that do not overlap, the user's wishes first.
function choose(slots, preferredTimes, count) {
  const wishes = preferredTimes.map(timeOf);
  const candidates = slots
    .map((slot) => {
      const start = timeOf(slot.start);
      const distance = wishes.length === 0 ? 0 : Math.min(...wishes.map((wish) => Math.abs(wish - start)));
      return { slot, start, end: timeOf(slot.end), distance };
    })
    .sort((a, b) => a.distance - b.distance || a.start - b.start);

  const chosen = [];
  for (const candidate of candidates) {
    if (chosen.length === count) break;
    const free = chosen.every((other) => candidate.end <= other.start || other.end <= candidate.start);
    if (free) chosen.push(candidate);
  }
  return chosen;
}

function timeOf(text) {
  return text === undefined ? undefined : Date.parse(text);
}

function rfc3339(epochMs) {
  return new Date(epochMs).toISOString();
}
