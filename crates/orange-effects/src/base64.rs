//! Bytes as text in base 64.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text, padded.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            let index = usize::try_from(all >> (18 - 6 * at) & 63).unwrap_or(0);
            let digit = DIGITS.get(index).filter(|_| at <= chunk.len());
            text.push(digit.map_or('=', |it| char::from(*it)));
        }
    }
    text
}

/// The bytes of a padded text; `None` if it is not one.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let quads = text.len() / 4;
    for (number, quad) in text.chunks(4).enumerate() {
        let padding = quad.iter().rev().take_while(|it| **it == b'=').count();
        if padding > 2 || (padding > 0 && number + 1 < quads) {
            return None;
        }
        let mut all = 0_u32;
        for digit in quad.iter().take(4 - padding) {
            let value = DIGITS.iter().position(|it| it == digit)?;
            all = all << 6 | u32::try_from(value).ok()?;
        }
        all <<= 6 * padding;
        let [_, first, second, third] = all.to_be_bytes();
        bytes.extend([first, second, third].iter().take(3 - padding));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_comes_back_and_nothing_else_is_read() {
        for length in 0..70_u8 {
            let bytes: Vec<u8> = (0..length).map(|it| it.wrapping_mul(37)).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
        assert_eq!(encode(b"orange"), "b3Jhbmdl");
        assert_eq!(encode(b"o"), "bw==");
        for bad in ["b", "b===", "bw==bw==", "b*==", "====", "bw=", "b\u{fc}=="] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
