//! Which addresses may be connected to.
//!
//! A name is resolved once, every address that it stands for is judged, and the connection is made
//! to an address that was judged. So nothing is decided by a name, and nothing is resolved twice.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses, `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: IpAddr,
    bits: u8,
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a range of addresses; write `10.0.0.0/8`");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse::<u8>().ok().filter(|n| *n <= most).ok_or_else(wrong)?,
            None => most,
        };
        let range = Self { first, bits };
        match range.is_never_reached() {
            true => Err(format!("`{text}`: {NEVER}, so it cannot be listed")),
            false => Ok(range),
        }
    }
}

/// Why an address is not reached although its range is allowed.
pub(super) const NEVER: &str =
    "clouds keep the credentials of their machines there, and calls never go there";

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl Range {
    const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6(segments: [u16; 8], bits: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = segments;
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), bits }
    }

    /// Whether nothing but such places is in it.
    fn is_never_reached(&self) -> bool {
        let whole = |bits: u8| if self.first.is_ipv4() { bits == 32 } else { bits == 128 };
        whole(self.bits) && holds_credentials(self.first)
    }

    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let shift = 32_u32.saturating_sub(u32::from(self.bits));
                let cut = |a: Ipv4Addr| a.to_bits().checked_shr(shift).unwrap_or(0);
                cut(first) == cut(address)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let shift = 128_u32.saturating_sub(u32::from(self.bits));
                let cut = |a: Ipv6Addr| a.to_bits().checked_shr(shift).unwrap_or(0);
                cut(first) == cut(address)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Where clouds keep the credentials of a machine: never reachable, whatever is allowed.
const METADATA: [Range; 5] = [
    Range::v4(169, 254, 169, 254, 32),
    Range::v4(169, 254, 170, 2, 32),
    Range::v4(100, 100, 100, 200, 32),
    Range::v4(192, 0, 0, 192, 32),
    Range::v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254], 128),
];

/// What is not the public internet.
const PRIVATE: [Range; 26] = [
    Range::v4(0, 0, 0, 0, 8),
    Range::v4(10, 0, 0, 0, 8),
    Range::v4(100, 64, 0, 0, 10),
    Range::v4(127, 0, 0, 0, 8),
    Range::v4(169, 254, 0, 0, 16),
    Range::v4(172, 16, 0, 0, 12),
    Range::v4(192, 0, 0, 0, 24),
    Range::v4(192, 0, 2, 0, 24),
    Range::v4(192, 88, 99, 0, 24),
    Range::v4(192, 168, 0, 0, 16),
    Range::v4(198, 18, 0, 0, 15),
    Range::v4(198, 51, 100, 0, 24),
    Range::v4(203, 0, 113, 0, 24),
    Range::v4(224, 0, 0, 0, 4),
    Range::v4(240, 0, 0, 0, 4),
    Range::v6([0; 8], 8),
    Range::v6([0x0100, 0, 0, 0, 0, 0, 0, 0], 64),
    Range::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    Range::v6([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32),
    Range::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    Range::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
    Range::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    Range::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    Range::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
    Range::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
    // Six-to-four holds an address of the other kind; nobody needs it any more.
    Range::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
];

/// Prefixes under which IPv6 carries an IPv4 address in its last 32 bits.
const CARRIERS: [Range; 3] = [
    Range::v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96),
    Range::v6([0x0064, 0xff9b, 0, 0, 0, 0, 0, 0], 96),
    Range::v6([0x0064, 0xff9b, 0x0001, 0, 0, 0, 0, 0], 48),
];

/// The address that is really meant.
fn meant(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) if CARRIERS.iter().any(|carrier| carrier.contains(address)) => {
            let [.., a, b, c, d] = v6.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V4(_) | IpAddr::V6(_) => address,
    }
}

/// Whether a cloud keeps the credentials of its machines there.
pub(super) fn holds_credentials(address: IpAddr) -> bool {
    let address = meant(address);
    METADATA.iter().any(|range| range.contains(address))
}

/// Whether an address may be connected to.
pub(super) fn may_reach(address: IpAddr, allowed: &[Range]) -> bool {
    let address = meant(address);
    if holds_credentials(address) {
        return false;
    }
    !PRIVATE.iter().any(|range| range.contains(address))
        || allowed.iter().any(|range| range.contains(address))
}

/// Whether an address is this machine.
pub(super) fn is_loopback(address: IpAddr) -> bool {
    meant(address).is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, allowed: &[&str], expected: bool) {
        let allowed: Vec<Range> = allowed.iter().map(|range| range.parse().unwrap()).collect();
        assert_eq!(may_reach(address.parse().unwrap(), &allowed), expected, "{address}");
    }

    #[test]
    fn only_the_public_internet_is_reached() {
        for address in ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "64:ff9b::0101:0101"] {
            check(address, &[], true);
        }
        for address in [
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2001::1",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "::7f00:1",
            "2001:db8::1",
        ] {
            check(address, &[], false);
        }
        check("100.128.0.1", &[], true);
        check("172.32.0.1", &[], true);
    }

    #[test]
    fn what_is_allowed_is_reached_but_never_the_keys_of_the_machine() {
        check("127.0.0.1", &["127.0.0.0/8"], true);
        check("::ffff:127.0.0.1", &["127.0.0.1"], true);
        check("127.0.0.2", &["127.0.0.1"], false);
        check("fd12:3456::1", &["fd00::/8"], true);
        for address in
            ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"]
        {
            check(address, &["0.0.0.0/0", "::/0"], false);
        }
    }

    #[test]
    fn what_is_never_reached_is_not_taken_as_a_range() {
        for text in [
            "169.254.169.254",
            "169.254.169.254/32",
            "169.254.170.2",
            "::ffff:169.254.169.254",
            "fd00:ec2::254",
            "100.100.100.200/32",
        ] {
            let why = text.parse::<Range>().unwrap_err();
            assert!(why.contains("calls never go there, so it cannot be listed"), "{why}");
        }
        assert!("169.254.0.0/16".parse::<Range>().is_ok(), "the others of it are reached");
    }

    #[test]
    fn a_range_is_read_and_written() {
        assert_eq!("10.0.0.0/8".parse::<Range>().unwrap().to_string(), "10.0.0.0/8");
        assert_eq!("::1".parse::<Range>().unwrap().to_string(), "::1/128");
        for wrong in ["", "10.0.0.0/33", "localhost", "10.0.0.0/", "::/129", "10/8"] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }
}
