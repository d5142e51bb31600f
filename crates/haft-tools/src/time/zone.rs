//! Time zones by the names of the IANA database, which is a part of the program.

use haft_core::{ErrorKind, ToolError, nearest};
use jiff::Zoned;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The zone of that name. An abbreviation names several zones, or one that knows no summer time.
pub(crate) fn find(name: &str) -> Result<TimeZone, ToolError> {
    let database = TimeZoneDatabase::bundled();
    let short = !name.contains('/') && !name.chars().any(char::is_lowercase);
    match database.get(name) {
        Ok(zone) if !short || matches!(name, "UTC" | "GMT") => Ok(zone),
        Ok(_) | Err(_) => Err(unknown(name, &database, short)),
    }
}

/// The zone's name as the database spells it.
pub(super) fn name(there: &Zoned) -> String {
    there.time_zone().iana_name().unwrap_or("UTC").to_owned()
}

fn unknown(name: &str, database: &TimeZoneDatabase, short: bool) -> ToolError {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    let all: Vec<String> = database.available().map(|zone| zone.as_str().to_owned()).collect();
    let message = match short {
        true => format!(
            "`{shown}` is not the name of a time zone; abbreviations do not say when summer time applies"
        ),
        false => format!("`{shown}` is not a known time zone"),
    };
    let suggestion = match near(name, &all) {
        Some(zone) => format!("use `{zone}`"),
        None => "use the IANA name of a place, such as `Europe/Bucharest`".to_owned(),
    };
    ToolError::new(ErrorKind::InvalidArguments, message).suggest(suggestion)
}

/// A city by itself, or what is spelled most alike.
fn near<'a>(name: &str, all: &'a [String]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' ', '-'], "");
    let city = plain(name.rsplit('/').next().unwrap_or(name));
    let places = || all.iter().map(String::as_str).filter(|zone| zone.contains('/'));
    let same =
        places().find(|zone| zone.rsplit('/').next().is_some_and(|last| plain(last) == city));
    let usual = || match name.to_uppercase().as_str() {
        "EST" | "EDT" | "ET" => Some("America/New_York"),
        "CST" | "CDT" | "CT" => Some("America/Chicago"),
        "MST" | "MDT" | "MT" => Some("America/Denver"),
        "PST" | "PDT" | "PT" => Some("America/Los_Angeles"),
        "CET" | "CEST" | "MEZ" | "MESZ" => Some("Europe/Berlin"),
        "EET" | "EEST" => Some("Europe/Bucharest"),
        "WET" | "WEST" => Some("Europe/Lisbon"),
        "BST" => Some("Europe/London"),
        "IST" => Some("Asia/Kolkata"),
        "JST" => Some("Asia/Tokyo"),
        "Z" | "ZULU" => Some("UTC"),
        _ => None,
    };
    let alike = || nearest::find(name, places());
    let named =
        usual().and_then(|usual| all.iter().find(|zone| *zone == usual).map(String::as_str));
    named.or(same).or_else(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Result<&str, &str>) {
        match (find(name), expected) {
            (Ok(zone), Ok(expected)) => assert_eq!(zone.iana_name(), Some(expected)),
            (Err(error), Err(expected)) => assert_eq!(error.suggestion, expected, "{name}"),
            (found, expected) => panic!("{name}: expected {expected:?}, found {found:?}"),
        }
    }

    #[test]
    fn zones_are_found_by_their_names() {
        check("Europe/Bucharest", Ok("Europe/Bucharest"));
        check("europe/bucharest", Ok("Europe/Bucharest"));
        check("UTC", Ok("UTC"));
        check("Asia/Kathmandu", Ok("Asia/Kathmandu"));
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_nearest_one() {
        check("Europe/Bukarest", Err("use `Europe/Bucharest`"));
        check("new york", Err("use `America/New_York`"));
        check("EST", Err("use `America/New_York`"));
        check("CET", Err("use `Europe/Berlin`"));
        check("+02:00", Err("use the IANA name of a place, such as `Europe/Bucharest`"));
        check("../../etc/passwd", Err("use the IANA name of a place, such as `Europe/Bucharest`"));
        check("Mars/Olympus", Err("use the IANA name of a place, such as `Europe/Bucharest`"));
    }
}
