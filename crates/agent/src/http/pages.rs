//! Writes a load generator's requests as HTTP, and searches the returned pages.

use std::io::Write;

use netstudy_records::{HttpMethod, HttpRequest};
use netstudy_workload::transactions::Request;

/// Password of all users of the brokerage.
const PASSWORD: &str = "xxx";
/// The beginning of the HTML attribute that has the number of a holding on the portfolio page.
const HOLDING: &[u8] = b"data-holding=\"";
/// How many bytes of [`HOLDING`] still match after `matched` bytes matched and the next byte did
/// not. Only the `d` at the end of `data-hold` can begin a new match (Knuth, Morris and Pratt
/// 1977).
const fn again(matched: usize) -> usize {
    if matched == b"data-hold".len() { 1 } else { 0 }
}

/// Writes requests.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    /// The headers that all requests share, with their line ends.
    headers: Vec<u8>,
    /// For each operation whose requests the plan lists: these requests.
    plain: Vec<Vec<HttpRequest>>,
    /// The generator's name, different from those of all other load generators.
    name: String,
}

impl Pages {
    pub(super) fn new(host: &str, plain: Vec<Vec<HttpRequest>>, name: String) -> Self {
        let headers = format!("Host: {host}\r\nUser-Agent: netstudy\r\nAccept: */*\r\n").into();
        Self { headers, plain, name }
    }

    /// Replaces the contents of `out` by a request. `cookies` is the user's `Cookie` header.
    pub(super) fn write(&self, request: Request, cookies: &[u8], out: &mut Vec<u8>) {
        out.clear();
        match request {
            Request::Login { user } => {
                let body = format!("uid=uid%3A{user}&passwd={PASSWORD}");
                self.submit("/login", &body, cookies, out);
            }
            Request::Logout => self.read("/logout", cookies, out),
            Request::Home => self.read("/home", cookies, out),
            // Colons and commas need no encoding in a query (RFC 3986, 3.4); in a form, colons are encoded.
            Request::Quotes(symbols) => {
                put(out, format_args!("GET /quotes?symbols="));
                for (place, symbol) in symbols.as_slice().iter().enumerate() {
                    put(out, format_args!("{}s:{symbol}", if place == 0 { "" } else { "," }));
                }
                self.end_read(cookies, out);
            }
            Request::Portfolio => self.read("/portfolio", cookies, out),
            Request::Account => self.read("/account", cookies, out),
            Request::Update { number } => {
                let body = profile(number);
                self.submit("/update", &body, cookies, out);
            }
            Request::Buy { symbol, quantity, number } => {
                let name = &self.name;
                let body = format!("symbol=s%3A{symbol}&quantity={quantity}&nonce={name}-{number}");
                self.submit("/buy", &body, cookies, out);
            }
            Request::Sell { holding } => {
                self.submit("/sell", &format!("holding={holding}"), cookies, out);
            }
            Request::Register { number } => {
                let profile = profile(number);
                let body = format!("uid=ru%3A{}-{number}&balance=1000000&{profile}", self.name);
                self.submit("/register", &body, cookies, out);
            }
            Request::Image { number } => {
                put(out, format_args!("GET /images/{number}.gif"));
                self.end_read(cookies, out);
            }
            Request::Plain { operation, request } => {
                self.write_plain(&self.plain[operation as usize][request as usize], cookies, out);
            }
        }
    }

    fn read(&self, path: &str, cookies: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"GET ");
        out.extend_from_slice(path.as_bytes());
        self.end_read(cookies, out);
    }

    fn end_read(&self, cookies: &[u8], out: &mut Vec<u8>) {
        for part in [b" HTTP/1.1\r\n", &self.headers[..], cookies, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }

    fn submit(&self, path: &str, body: &str, cookies: &[u8], out: &mut Vec<u8>) {
        let form = "application/x-www-form-urlencoded";
        self.write_body(path, body, Some(form), cookies, out);
    }

    fn write_body(
        &self,
        path: &str,
        body: &str,
        content_type: Option<&str>,
        cookies: &[u8],
        out: &mut Vec<u8>,
    ) {
        put(out, format_args!("POST {path} HTTP/1.1\r\n"));
        out.extend_from_slice(&self.headers);
        out.extend_from_slice(cookies);
        if let Some(content_type) = content_type {
            put(out, format_args!("Content-Type: {content_type}\r\n"));
        }
        put(out, format_args!("Content-Length: {}\r\n\r\n{body}", body.len()));
    }

    fn write_plain(&self, request: &HttpRequest, cookies: &[u8], out: &mut Vec<u8>) {
        match request.method {
            HttpMethod::Get => self.read(&request.path, cookies, out),
            HttpMethod::Post => {
                let body = request.body.as_deref().unwrap_or_default();
                self.write_body(&request.path, body, request.content_type.as_deref(), cookies, out);
            }
        }
    }

    /// True if a request may be repeated when no byte of the response arrived: the request
    /// changes no data (RFC 9110, 9.2.2).
    pub(super) fn may_repeat(&self, request: Request) -> bool {
        match request {
            Request::Login { .. }
            | Request::Logout
            | Request::Update { .. }
            | Request::Buy { .. }
            | Request::Sell { .. }
            | Request::Register { .. } => false,
            Request::Home
            | Request::Quotes(_)
            | Request::Portfolio
            | Request::Account
            | Request::Image { .. } => true,
            Request::Plain { operation, request } => {
                self.plain[operation as usize][request as usize].method == HttpMethod::Get
            }
        }
    }
}

/// The form fields of a new user, except the name.
fn profile(number: u64) -> String {
    format!(
        "passwd={PASSWORD}&fullname=User+{number}&address={number}+Wall+Street\
        &email=user{number}%40example.com&creditcard={:016}",
        number % 10_000_000_000_000_000
    )
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("memory takes all");
}

/// Searches a portfolio page, which arrives in pieces, for its first holding.
#[derive(Clone, Debug, Default)]
pub(super) struct HoldingFinder {
    matched: usize,
    digits: Option<u64>,
    found: Option<u64>,
}

impl HoldingFinder {
    /// The number of the first holding, if found.
    pub(super) const fn found(&self) -> Option<u64> {
        self.found
    }

    /// Searches the next piece of the page.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for &byte in piece {
            if self.found.is_some() {
                return;
            }
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.matched == HOLDING.len() {
            if byte.is_ascii_digit() {
                let before = self.digits.unwrap_or(0);
                self.digits = Some(before.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')));
                return;
            }
            let digits = self.digits.take();
            self.found = digits.filter(|_| byte == b'"');
            self.matched = 0;
        }
        while self.matched > 0 && HOLDING[self.matched] != byte {
            self.matched = again(self.matched);
        }
        self.matched += usize::from(HOLDING[self.matched] == byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        let get = |path: &str| HttpRequest {
            method: HttpMethod::Get,
            path: path.to_owned(),
            body: None,
            content_type: None,
        };
        let post = HttpRequest {
            method: HttpMethod::Post,
            body: Some("{}".to_owned()),
            content_type: Some("application/json".to_owned()),
            ..get("/form")
        };
        Pages::new("app", vec![vec![get("/index.html"), post]], "ff-1".to_owned())
    }

    fn written(request: Request) -> String {
        let mut out = b"left over".to_vec();
        pages().write(request, b"Cookie: a=b\r\n", &mut out);
        String::from_utf8(out).expect("it is text")
    }

    const HEADERS: &str = "Host: app\r\nUser-Agent: netstudy\r\nAccept: */*\r\nCookie: a=b\r\n";

    #[test]
    fn a_page_is_asked_for_with_the_users_cookies() {
        assert_eq!(written(Request::Home), format!("GET /home HTTP/1.1\r\n{HEADERS}\r\n"));
        let image = written(Request::Image { number: 3 });
        assert!(image.starts_with("GET /images/3.gif HTTP/1.1\r\n"));
    }

    #[test]
    fn a_form_has_its_length_and_its_fields() {
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        let body = "uid=uid%3A17&passwd=xxx";
        let expected =
            format!("POST /login HTTP/1.1\r\n{HEADERS}{form}Content-Length: 23\r\n\r\n{body}");
        assert_eq!(written(Request::Login { user: 17 }), expected);
        let bought = written(Request::Buy { symbol: 5, quantity: 100, number: 9 });
        assert!(bought.ends_with("\r\n\r\nsymbol=s%3A5&quantity=100&nonce=ff-1-9"));
        assert!(written(Request::Sell { holding: 12 }).ends_with("\r\n\r\nholding=12"));
        let registered = written(Request::Register { number: 4 });
        assert!(registered.contains("\r\n\r\nuid=ru%3Aff-1-4&balance=1000000&passwd=xxx&"));
        for field in ["fullname=", "address=", "email=", "creditcard=0000000000000004"] {
            assert!(registered.contains(field), "{registered}");
            assert!(written(Request::Update { number: 4 }).contains(field));
        }
    }

    #[test]
    fn requests_of_the_plan_are_sent_as_they_are() {
        let get = Request::Plain { operation: 0, request: 0 };
        assert_eq!(written(get), format!("GET /index.html HTTP/1.1\r\n{HEADERS}\r\n"));
        let post = Request::Plain { operation: 0, request: 1 };
        let expected = format!(
            "POST /form HTTP/1.1\r\n{HEADERS}Content-Type: application/json\r\n\
            Content-Length: 2\r\n\r\n{{}}"
        );
        assert_eq!(written(post), expected);
        assert!(pages().may_repeat(get) && !pages().may_repeat(post));
    }

    #[test]
    fn the_first_holding_is_found_however_the_page_is_split() {
        let page = b"<td data-holdata-holding=x data-holding=\"\" data-holding=\"4711\"> data-holding=\"8\"";
        for cut in 0..=page.len() {
            let mut finder = HoldingFinder::default();
            finder.push(&page[..cut]);
            finder.push(&page[cut..]);
            assert_eq!(finder.found(), Some(4711), "cut at {cut}");
        }
        let mut none = HoldingFinder::default();
        none.push(b"<td>data-holding</td>");
        assert_eq!(none.found(), None);
    }
}
