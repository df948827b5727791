//! The cookies of one user. Implements as much of RFC 6265 as a session with one application needs.

/// Largest number of cookies that are kept, and largest size of one (name and value).
const COOKIES_MAX: usize = 16;
const BYTES_MAX: usize = 4096;

/// The cookies of one user. Paths and domains are ignored, because there is only one application.
#[derive(Clone, Debug, Default)]
pub(super) struct Jar {
    cookies: Vec<(Vec<u8>, Vec<u8>)>,
    /// The `Cookie` header line for requests, with its line end; empty if there are no cookies.
    header: Vec<u8>,
}

impl Jar {
    /// The `Cookie` header for requests.
    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Deletes all cookies.
    pub(super) fn clear(&mut self) {
        self.cookies.clear();
        self.header.clear();
    }

    /// Stores or deletes a cookie, given the value of a `Set-Cookie` header (RFC 6265, 5.2).
    pub(super) fn set(&mut self, value: &[u8]) {
        let mut parts = value.split(|&byte| byte == b';');
        let pair = parts.next().unwrap_or_default();
        let Some(equals) = pair.iter().position(|&byte| byte == b'=') else { return };
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        if name.is_empty() || name.len() + value.len() > BYTES_MAX {
            return;
        }
        self.cookies.retain(|(known, _)| known != name);
        if !parts.any(expires) && self.cookies.len() < COOKIES_MAX {
            self.cookies.push((name.to_vec(), value.to_vec()));
        }
        self.write_header();
    }

    fn write_header(&mut self) {
        self.header.clear();
        for (name, value) in &self.cookies {
            let before: &[u8] = if self.header.is_empty() { b"Cookie: " } else { b"; " };
            for part in [before, name, b"=", value] {
                self.header.extend_from_slice(part);
            }
        }
        if !self.header.is_empty() {
            self.header.extend_from_slice(b"\r\n");
        }
    }
}

/// True for a `Max-Age` of zero or less, which deletes the cookie. The client ignores `Expires`.
fn expires(attribute: &[u8]) -> bool {
    let Some(equals) = attribute.iter().position(|&byte| byte == b'=') else { return false };
    let (name, value) = (attribute[..equals].trim_ascii(), attribute[equals + 1..].trim_ascii());
    let ends = value.first() == Some(&b'-') || value == b"0";
    name.eq_ignore_ascii_case(b"max-age") && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(values: &[&str]) -> String {
        let mut jar = Jar::default();
        for value in values {
            jar.set(value.as_bytes());
        }
        String::from_utf8(jar.header().to_vec()).expect("it is text")
    }

    #[test]
    fn cookies_are_told_back() {
        assert_eq!(header(&["a=b; Path=/; HttpOnly", "c = d"]), "Cookie: a=b; c=d\r\n");
        assert_eq!(header(&["a=b", "a=c"]), "Cookie: a=c\r\n");
        assert_eq!(header(&[]), "");
    }

    #[test]
    fn a_cookie_that_expires_is_forgotten() {
        assert_eq!(header(&["a=b", "c=d", "a=; Path=/; Max-Age=0"]), "Cookie: c=d\r\n");
        assert_eq!(header(&["a=b", "a=; max-age=-1"]), "");
        assert_eq!(header(&["a=b; Max-Age=3600"]), "Cookie: a=b\r\n");
    }

    #[test]
    fn no_more_are_kept_than_there_is_room_for() {
        let many: Vec<String> = (0..40).map(|number| format!("n{number}=1")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(header(&many).matches('=').count(), COOKIES_MAX);
        assert_eq!(header(&[&format!("a={}", "x".repeat(BYTES_MAX))]), "");
    }

    #[test]
    fn what_is_no_cookie_is_ignored() {
        assert_eq!(header(&["", "novalue", "=x", "; Max-Age=5"]), "");
    }
}
