//! `haft calendar …`

use clap::{Args, Subcommand};

use super::Who;

#[derive(Args)]
pub(crate) struct Calendar {
    #[command(subcommand)]
    pub(crate) what: CalendarCommand,
}

#[derive(Subcommand)]
pub(crate) enum CalendarCommand {
    /// List meetings that were booked with haft: those to come, unless told otherwise
    #[command(
        after_help = "Examples:\n  haft calendar list\n  haft calendar list --person mara@northlight.example --until 2026-02-01\n  haft calendar list --from 2026-01-01 --cancelled"
    )]
    List(CalendarList),
    /// List proposals that can still be booked
    Drafts(CalendarDrafts),
    /// Show a meeting or a proposal in full
    #[command(
        after_help = "Examples:\n  haft calendar show evt_9d2…\n  haft calendar show draft_51…"
    )]
    Show(CalendarShow),
    /// Say when people are free together
    #[command(
        after_help = "Examples:\n  haft calendar free mara@northlight.example ken@northlight.example --minutes 45\n  haft calendar free mara@northlight.example --from 2026-01-20 --until 2026-01-24 --zone Europe/Bucharest"
    )]
    Free(CalendarFree),
    /// Cancel a meeting: a call of `calendar_cancel_event` like any other, which somebody has to approve
    #[command(
        after_help = "Example:\n  haft calendar cancel evt_9d2… --reason 'the client asked to postpone'\n\nThe first time it asks for approval; approve it (`haft confirmations approve …`), and give the same\ncommand again."
    )]
    Cancel(CalendarCancel),
}

/// Whose calendar, and how it is shown.
#[derive(Args)]
pub(crate) struct Shown {
    /// Whose calendar; that of the first tenant of `haft.toml` when left out
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TENANT")]
    pub(crate) tenant: String,
    /// The zone to show times in, by its IANA name; each meeting's own when left out
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CalendarList {
    /// Only meetings of this person
    #[arg(long, value_name = "EMAIL")]
    pub(crate) person: Option<String>,
    /// Not what ends before: 2026-01-31, or a full time; now when left out
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Not what begins then or later
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Also those that were cancelled
    #[arg(long)]
    pub(crate) cancelled: bool,
    /// How many to show
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) limit: u16,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

#[derive(Args)]
pub(crate) struct CalendarDrafts {
    /// Also those that have expired: they are kept for a day
    #[arg(long)]
    pub(crate) expired: bool,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

#[derive(Args)]
pub(crate) struct CalendarShow {
    /// The event (evt_…) or the proposal (draft_…)
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

#[derive(Args)]
pub(crate) struct CalendarFree {
    /// Everyone who has to be free, by address
    #[arg(required = true, value_name = "EMAIL")]
    pub(crate) people: Vec<String>,
    /// How long the meeting takes
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(5..=1440))]
    pub(crate) minutes: u32,
    /// From when: 2026-01-31, or a full time; now when left out
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Until when; a week later when left out
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Days on which somebody does not work count too
    #[arg(long)]
    pub(crate) weekends: bool,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

#[derive(Args)]
pub(crate) struct CalendarCancel {
    /// The event (evt_…)
    pub(crate) event: String,
    /// Why, in one neutral sentence; it is kept with the event
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) who: Who,
    /// The connection to the calendar's server, where it stands on one
    #[arg(long, value_name = "CONNECTION")]
    pub(crate) connection: Option<String>,
    /// Print the envelope as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
