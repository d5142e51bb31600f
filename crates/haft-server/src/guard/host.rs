//! Names under which a server is reached, and the pages that may speak to it.

use std::net::IpAddr;

use crate::door::Door;

/// A name, and a port where it is not the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Host<'a> {
    name: &'a str,
    port: Option<u16>,
}

impl<'a> Host<'a> {
    /// `name`, `name:port`, `[::1]` or `[::1]:port`.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (name, rest) = match text.strip_prefix('[') {
            Some(inside) => inside.split_once(']')?,
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match rest.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            None if rest.is_empty() => None,
            Some(_) | None => return None,
        };
        Some(Self { name, port })
    }

    /// Whether it is a name of this server. The port may be another than the one that is listened
    /// at: a container's is mapped, a tunnel's is its own.
    pub(super) fn is_of(&self, door: &Door) -> bool {
        door.hosts.iter().any(|own| own.eq_ignore_ascii_case(self.name))
    }

    /// Whether pages of an origin are ours, in a request that was sent to this host: the same name
    /// and port, or one of our names beyond this machine where a proxy has put in another host.
    pub(super) fn is_origin(&self, door: &Door, origin: &str) -> bool {
        let Some((scheme, from)) = origin.split_once("://") else { return false };
        let usual = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let Some(from) = Host::read(from) else { return false };
        if from.name.eq_ignore_ascii_case(self.name) {
            return from.port.unwrap_or(usual) == self.port.unwrap_or(usual);
        }
        from.port.is_none() && !from.is_local() && from.is_of(door)
    }

    fn is_local(&self) -> bool {
        let address = self.name.parse::<IpAddr>();
        self.name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, Option<u16>)>) {
        let read = Host::read(text).map(|host| (host.name, host.port));
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn a_port_is_a_number() {
        check("localhost", Some(("localhost", None)));
        check("localhost:7411", Some(("localhost", Some(7411))));
        check("[::1]:7411", Some(("::1", Some(7411))));
        check("[::1]", Some(("::1", None)));
        for odd in ["localhost:abc", "127.0.0.1:7514.evil.example", "a:+1", "a:", "a:65536"] {
            check(odd, None);
        }
        for odd in ["::1", "[::1", "[::1]7411", "[::1].evil.example", "a:1:2"] {
            check(odd, None);
        }
    }
}
