//! Which addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is neither of this machine nor of its own network. A name on the list must
/// not lead there, whatever its owner says it is.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // 100.64/10 is between a provider and its customers, and the network of some VPNs; 198.18/15
    // tests network devices; 0/8 means this machine on some systems.
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_for_tests = first == 198 && (18..20).contains(&second);
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || first == 0
        || first >= 240
        || is_shared
        || is_for_tests
        // IETF protocol assignments, with an address of NAT64 discovery.
        || address.octets()[..3] == [192, 0, 0])
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let [.., a, b] = segments;
    let v4 = Ipv4Addr::from((u32::from(a) << 16) | u32::from(b));
    match segments {
        // Written as IPv6, or translated to IPv4 by a gateway.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(v4),
        [0x2002, a, b, ..] => is_public_v4(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b))),
        // The rest of those ranges, and Teredo, which hides an address of IPv4.
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, ..] | [0x2001, 0, ..] => false,
        // Global unicast is 2000::/3; everything else is local or special.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_not_public_in_any_notation() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.0.170",
            "198.18.0.1",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn other_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "140.82.121.4",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "203.0.113.7",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2606:4700:4700::1111",
            "2002:101:101::",
            "2001:db8::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
