//! Attempts to leave loopback, by the kernel's own count.

use std::fs;

/// How many packets had no route out.
pub fn rejected_packets() -> u64 {
    let four = fs::read_to_string("/proc/net/snmp").unwrap();
    let mut lines = four.lines().filter(|line| line.starts_with("Ip: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split(' ').zip(values.split(' '));
    let four = pairs.find(|(name, _)| *name == "OutNoRoutes").unwrap().1;
    let six = fs::read_to_string("/proc/net/snmp6").unwrap_or_default();
    let six = six
        .lines()
        .find_map(|line| line.strip_prefix("Ip6OutNoRoutes"));
    let number = |text: &str| text.trim().parse::<u64>().unwrap();
    number(four) + six.map_or(0, number)
}

/// Whether there is no route out of here.
pub fn is_isolated() -> bool {
    let routes = fs::read_to_string("/proc/net/route").unwrap();
    // The first line is the header.
    routes.lines().count() == 1
}
