//! How dates are written in some languages and regions. Fixed here, so that no two answers differ.

use jiff::Zoned;
use jiff::civil::Weekday;
use serde::Deserialize;

/// A language and region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Locale {
    #[serde(rename = "en-GB")]
    EnGb,
    #[serde(rename = "en-US")]
    EnUs,
    #[serde(rename = "de-DE")]
    DeDe,
    #[serde(rename = "es-ES")]
    EsEs,
    #[serde(rename = "fr-FR")]
    FrFr,
    #[serde(rename = "it-IT")]
    ItIt,
    #[serde(rename = "nl-NL")]
    NlNl,
    #[serde(rename = "pt-PT")]
    PtPt,
    #[serde(rename = "ro-RO")]
    RoRo,
}

/// Monday first.
type Days = [&'static str; 7];
type Months = [&'static str; 12];

impl Locale {
    fn days(self) -> Days {
        match self {
            Self::EnGb | Self::EnUs => {
                ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
            }
            Self::DeDe => {
                ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
            }
            Self::EsEs => {
                ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"]
            }
            Self::FrFr => ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
            Self::ItIt => {
                ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"]
            }
            Self::NlNl => {
                ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"]
            }
            Self::PtPt => [
                "segunda-feira",
                "terça-feira",
                "quarta-feira",
                "quinta-feira",
                "sexta-feira",
                "sábado",
                "domingo",
            ],
            Self::RoRo => ["luni", "marți", "miercuri", "joi", "vineri", "sâmbătă", "duminică"],
        }
    }

    fn months(self) -> Months {
        match self {
            Self::EnGb | Self::EnUs => [
                "January",
                "February",
                "March",
                "April",
                "May",
                "June",
                "July",
                "August",
                "September",
                "October",
                "November",
                "December",
            ],
            Self::DeDe => [
                "Januar",
                "Februar",
                "März",
                "April",
                "Mai",
                "Juni",
                "Juli",
                "August",
                "September",
                "Oktober",
                "November",
                "Dezember",
            ],
            Self::EsEs => [
                "enero",
                "febrero",
                "marzo",
                "abril",
                "mayo",
                "junio",
                "julio",
                "agosto",
                "septiembre",
                "octubre",
                "noviembre",
                "diciembre",
            ],
            Self::FrFr => [
                "janvier",
                "février",
                "mars",
                "avril",
                "mai",
                "juin",
                "juillet",
                "août",
                "septembre",
                "octobre",
                "novembre",
                "décembre",
            ],
            Self::ItIt => [
                "gennaio",
                "febbraio",
                "marzo",
                "aprile",
                "maggio",
                "giugno",
                "luglio",
                "agosto",
                "settembre",
                "ottobre",
                "novembre",
                "dicembre",
            ],
            Self::NlNl => [
                "januari",
                "februari",
                "maart",
                "april",
                "mei",
                "juni",
                "juli",
                "augustus",
                "september",
                "oktober",
                "november",
                "december",
            ],
            Self::PtPt => [
                "janeiro",
                "fevereiro",
                "março",
                "abril",
                "maio",
                "junho",
                "julho",
                "agosto",
                "setembro",
                "outubro",
                "novembro",
                "dezembro",
            ],
            Self::RoRo => [
                "ianuarie",
                "februarie",
                "martie",
                "aprilie",
                "mai",
                "iunie",
                "iulie",
                "august",
                "septembrie",
                "octombrie",
                "noiembrie",
                "decembrie",
            ],
        }
    }

    pub(super) fn weekday(self, day: Weekday) -> &'static str {
        let place = usize::try_from(day.to_monday_zero_offset()).unwrap_or_default();
        self.days().get(place).copied().unwrap_or_default()
    }

    fn month(self, there: &Zoned) -> &'static str {
        let place = usize::try_from(there.month() - 1).unwrap_or_default();
        self.months().get(place).copied().unwrap_or_default()
    }

    pub(super) fn long_date(self, there: &Zoned) -> String {
        let (weekday, month) = (self.weekday(there.weekday()), self.month(there));
        let (day, year) = (there.day(), there.year());
        match self {
            Self::EnGb | Self::NlNl | Self::ItIt => format!("{weekday} {day} {month} {year}"),
            Self::EnUs => format!("{weekday}, {month} {day}, {year}"),
            Self::DeDe => format!("{weekday}, {day}. {month} {year}"),
            Self::FrFr if day == 1 => format!("{weekday} 1er {month} {year}"),
            Self::FrFr => format!("{weekday} {day} {month} {year}"),
            Self::EsEs | Self::PtPt => format!("{weekday}, {day} de {month} de {year}"),
            Self::RoRo => format!("{weekday}, {day} {month} {year}"),
        }
    }

    pub(super) fn short_date(self, there: &Zoned) -> String {
        let (day, month, year) = (there.day(), there.month(), there.year());
        match self {
            Self::EnGb | Self::FrFr | Self::EsEs | Self::ItIt | Self::PtPt => {
                format!("{day:02}/{month:02}/{year}")
            }
            Self::EnUs => format!("{month:02}/{day:02}/{year}"),
            Self::DeDe | Self::RoRo => format!("{day:02}.{month:02}.{year}"),
            Self::NlNl => format!("{day:02}-{month:02}-{year}"),
        }
    }

    pub(super) fn time(self, there: &Zoned) -> String {
        let (hour, minute) = (there.hour(), there.minute());
        match self {
            Self::EnUs => {
                let half = if hour < 12 { "AM" } else { "PM" };
                let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
                format!("{hour}:{minute:02} {half}")
            }
            Self::EnGb
            | Self::DeDe
            | Self::EsEs
            | Self::FrFr
            | Self::ItIt
            | Self::NlNl
            | Self::PtPt
            | Self::RoRo => {
                format!("{hour:02}:{minute:02}")
            }
        }
    }

    pub(super) fn long(self, there: &Zoned) -> String {
        let (date, time) = (self.long_date(there), self.time(there));
        match self {
            Self::EnGb | Self::EnUs => format!("{date} at {time}"),
            Self::DeDe => format!("{date} um {time} Uhr"),
            Self::EsEs => format!("{date}, {time}"),
            Self::FrFr => format!("{date} à {time}"),
            Self::ItIt => format!("{date} alle ore {time}"),
            Self::NlNl => format!("{date} om {time}"),
            Self::PtPt => format!("{date} às {time}"),
            Self::RoRo => format!("{date} la {time}"),
        }
    }
}
