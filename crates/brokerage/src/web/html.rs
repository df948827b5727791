//! HTML pages. All user input is escaped.

use std::fmt::Write;
use std::sync::LazyLock;

use bytes::Bytes;

use crate::answer::{Answer, PricedHolding, View};
use crate::job::Name;
use crate::market::Summary;
use crate::problem::Problem;
use crate::rows::{Account, Holding, Order, Profile, Quote};

/// Initial capacity of the buffer for a page.
const PAGE_BYTES: usize = 12 * 1024;
/// Bytes of an image.
const IMAGE_BYTES: usize = 2_048;

/// The beginning of each page, up to the title.
const HEAD: &str = include_str!("head.html");
/// Follows the title: the navigation, up to the contents of the page.
const NAVIGATION: &str = include_str!("navigation.html");
/// The end of each page, after its contents.
const FOOT: &str = include_str!("foot.html");

/// The page of an operation.
pub(crate) fn page(name: Name, answer: &Answer, images: u8) -> String {
    let mut page = String::with_capacity(PAGE_BYTES);
    begin(&mut page, name.name());
    alerts(&mut page, &answer.alerts);
    view(&mut page, &answer.view);
    for image in 0..images {
        put(&mut page, format_args!("<img src=\"/images/{image}.gif\" alt=\"\">\n"));
    }
    page.push_str(FOOT);
    page
}

/// The page that reports an error by name.
pub(crate) fn error(problem: Problem) -> String {
    let mut page = String::with_capacity(PAGE_BYTES);
    begin(&mut page, "error");
    put(
        &mut page,
        format_args!(
            "<h2 data-error=\"{name}\">{name}</h2>\n<p>{}</p>\n",
            problem.sentence(),
            name = problem.name()
        ),
    );
    if problem.status() == 401 {
        page.push_str(LOG_IN);
    }
    page.push_str(FOOT);
    page
}

/// The page that shows that the server is running.
pub(crate) fn health() -> String {
    let mut page = String::with_capacity(PAGE_BYTES);
    begin(&mut page, "welcome");
    page.push_str("<p>The brokerage is open.</p>\n");
    page.push_str(LOG_IN);
    page.push_str(FOOT);
    page
}

/// An image of one transparent pixel, padded to [`IMAGE_BYTES`] by a comment (`GIF89a`, 24).
pub(crate) fn image(number: usize) -> Bytes {
    static IMAGES: LazyLock<Vec<Bytes>> = LazyLock::new(|| (0..9).map(drawn).collect());
    IMAGES[number].clone()
}

fn drawn(number: u8) -> Bytes {
    let mut gif = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff".to_vec();
    gif.extend(b"!\xf9\x04\x01\0\0\0\0");
    let end = b",\0\0\0\0\x01\0\x01\0\0\x02\x01D\0;";
    gif.extend(b"!\xfe");
    let mut left = IMAGE_BYTES - gif.len() - end.len() - 1;
    while left > 0 {
        let block = (left - 1).min(255);
        gif.push(block as u8);
        gif.extend(std::iter::repeat_n(b'0' + number, block));
        left -= block + 1;
        if left == 1 {
            // An empty block ends the comment. It is written below, as the terminator.
            break;
        }
    }
    gif.push(0);
    gif.extend(end);
    gif.into()
}

/// The form for users who are not logged in.
const LOG_IN: &str = "<form method=\"post\" action=\"/login\" class=\"box\">\n\
    <label>User <input name=\"uid\" value=\"uid:0\"></label>\n\
    <label>Password <input name=\"passwd\" type=\"password\"></label>\n\
    <button>Log in</button>\n</form>\n";

fn begin(page: &mut String, title: &str) {
    page.push_str(HEAD);
    page.push_str(title);
    page.push_str(NAVIGATION);
}

fn view(page: &mut String, view: &View) {
    match view {
        View::Home { account, holdings, market } => home(page, account, holdings, market),
        View::Goodbye {} => {
            page.push_str("<h2>Good-bye</h2>\n<p>You are logged out.</p>\n");
            page.push_str(LOG_IN);
        }
        View::Quotes { quotes, unknown } => quotes_page(page, quotes, unknown),
        View::Portfolio { holdings } => portfolio(page, holdings),
        View::Account { account, profile } => account_page(page, account, profile),
        View::Order { order } => {
            page.push_str("<h2>New order</h2>\n");
            orders(page, std::slice::from_ref(order));
        }
    }
}

fn alerts(page: &mut String, closed: &[Order]) {
    if !closed.is_empty() {
        page.push_str("<section class=\"alert\"><h2>Trade alert: orders completed</h2>\n");
        orders(page, closed);
        page.push_str("</section>\n");
    }
}

fn orders(page: &mut String, orders: &[Order]) {
    table(page, &["order", "type", "status", "symbol", "quantity", "price", "fee", "total"]);
    for order in orders {
        let value = order.price_cents * order.quantity;
        let total =
            if order.side == "buy" { value + order.fee_cents } else { value - order.fee_cents };
        put(page, format_args!("<tr data-order=\"{0}\"><td>{0}</td><td>", order.id));
        put(page, format_args!("{}</td><td>{}</td><td>", order.side, order.status));
        put(page, format_args!("{}</td><td>{}</td>", Escaped(&order.symbol), order.quantity));
        for cents in [order.price_cents, order.fee_cents, total] {
            put(page, format_args!("<td>{}</td>", Money(cents)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}

fn home(page: &mut String, account: &Account, holdings: &[Holding], market: &Summary) {
    // Holdings are valued at their purchase prices, as in the published application, so the home
    // page need not read quotes.
    let value: i64 =
        holdings.iter().map(|holding| holding.purchase_price_cents * holding.quantity).sum();
    put(page, format_args!("<h2>Welcome {}</h2>\n", Escaped(&account.user)));
    page.push_str("<div class=\"columns\"><section><h3>User statistics</h3>\n<dl>");
    let total = account.balance_cents + value;
    put(page, format_args!("<dt>account</dt><dd>{}</dd>", account.id));
    put(page, format_args!("<dt>created</dt><dd>{}</dd>", Date(account.created_us)));
    put(page, format_args!("<dt>log-ins</dt><dd>{}</dd>", account.logins));
    put(page, format_args!("<dt>last log-in</dt><dd>{}</dd>", Date(account.last_login_us)));
    put(page, format_args!("<dt>cash balance</dt><dd>{}</dd>", Money(account.balance_cents)));
    put(page, format_args!("<dt>holdings</dt><dd>{}</dd>", holdings.len()));
    put(page, format_args!("<dt>bought for</dt><dd>{}</dd>", Money(value)));
    put(page, format_args!("<dt>sum of both</dt><dd>{}</dd>", Money(total)));
    let opened = account.open_balance_cents;
    put(page, format_args!("<dt>opening balance</dt><dd>{}</dd>", Money(opened)));
    put(
        page,
        format_args!("<dt>gain or loss</dt><dd>{}</dd></dl></section>\n", Money(total - opened)),
    );
    page.push_str("<section><h3>Market summary</h3>\n");
    put(page, format_args!("<p>Index {}, ", Money(market.index_cents)));
    put(
        page,
        format_args!(
            "{} since the opening; ",
            Money(market.index_cents - market.opening_index_cents)
        ),
    );
    put(page, format_args!("{} shares traded.</p>\n<h4>Top gainers</h4>\n", market.volume));
    movers(page, &market.gainers);
    page.push_str("<h4>Top losers</h4>\n");
    movers(page, &market.losers);
    page.push_str("</section></div>\n");
}

fn movers(page: &mut String, quotes: &[Quote]) {
    table(page, &["symbol", "price", "change"]);
    for quote in quotes {
        put(
            page,
            format_args!(
                "<tr><td><a href=\"/quotes?symbols={0}\">{0}</a></td>",
                Escaped(&quote.symbol)
            ),
        );
        put(
            page,
            format_args!(
                "<td>{}</td><td>{}</td></tr>\n",
                Money(quote.price_cents),
                Money(quote.change_cents)
            ),
        );
    }
    page.push_str("</table>\n");
}

fn quotes_page(page: &mut String, quotes: &[Quote], unknown: &[String]) {
    page.push_str("<h2>Quotes</h2>\n");
    let columns =
        ["symbol", "company", "volume", "price", "open", "low", "high", "change", "trade"];
    table(page, &columns);
    for quote in quotes {
        put(page, format_args!("<tr data-symbol=\"{0}\"><td>{0}</td>", Escaped(&quote.symbol)));
        put(page, format_args!("<td>{}</td><td>{}</td>", Escaped(&quote.company), quote.volume));
        for cents in [
            quote.price_cents,
            quote.open_cents,
            quote.low_cents,
            quote.high_cents,
            quote.change_cents,
        ] {
            put(page, format_args!("<td>{}</td>", Money(cents)));
        }
        page.push_str(
            "<td><form method=\"post\" action=\"/buy\"><input type=\"hidden\" name=\"symbol\" ",
        );
        put(page, format_args!("value=\"{}\">", Escaped(&quote.symbol)));
        page.push_str("<input name=\"quantity\" value=\"100\" size=\"4\"><button>Buy</button></form></td></tr>\n");
    }
    page.push_str("</table>\n");
    // An unknown symbol is listed at the end; the page still shows the other symbols.
    for symbol in unknown {
        put(
            page,
            format_args!("<p data-error=\"unknown-symbol\">No quote: {}</p>\n", Escaped(symbol)),
        );
    }
}

fn portfolio(page: &mut String, holdings: &[PricedHolding]) {
    page.push_str("<h2>Portfolio</h2>\n");
    let columns =
        ["holding", "bought", "symbol", "quantity", "paid", "price", "value", "gain", "trade"];
    table(page, &columns);
    for PricedHolding { holding, price_cents } in holdings {
        let paid = holding.purchase_price_cents;
        // If there is no quote, the purchase price is used, which makes the shown gain zero.
        let price = price_cents.unwrap_or(paid);
        // Load generators find the holdings to sell by this attribute.
        put(page, format_args!("<tr data-holding=\"{0}\"><td>{0}</td>", holding.id));
        put(
            page,
            format_args!(
                "<td>{}</td><td>{}</td>",
                Date(holding.purchased_us),
                Escaped(&holding.symbol)
            ),
        );
        put(page, format_args!("<td>{}</td>", holding.quantity));
        for cents in [paid, price, price * holding.quantity, (price - paid) * holding.quantity] {
            put(page, format_args!("<td>{}</td>", Money(cents)));
        }
        page.push_str(
            "<td><form method=\"post\" action=\"/sell\"><input type=\"hidden\" name=\"holding\" ",
        );
        put(
            page,
            format_args!("value=\"{}\"><button>Sell</button></form></td></tr>\n", holding.id),
        );
    }
    page.push_str("</table>\n");
}

fn account_page(page: &mut String, account: &Account, profile: &Profile) {
    page.push_str("<h2>Account</h2>\n<dl>");
    put(page, format_args!("<dt>account</dt><dd>{}</dd>", account.id));
    put(page, format_args!("<dt>user</dt><dd>{}</dd>", Escaped(&account.user)));
    put(page, format_args!("<dt>created</dt><dd>{}</dd>", Date(account.created_us)));
    put(page, format_args!("<dt>last log-in</dt><dd>{}</dd>", Date(account.last_login_us)));
    put(page, format_args!("<dt>log-ins</dt><dd>{}</dd>", account.logins));
    put(page, format_args!("<dt>log-outs</dt><dd>{}</dd>", account.logouts));
    put(
        page,
        format_args!("<dt>opening balance</dt><dd>{}</dd>", Money(account.open_balance_cents)),
    );
    put(
        page,
        format_args!("<dt>cash balance</dt><dd>{}</dd></dl>\n", Money(account.balance_cents)),
    );
    page.push_str("<h3>Profile</h3>\n<form method=\"post\" action=\"/update\" class=\"box\">\n");
    for (label, name, value) in [
        ("Full name", "fullname", &profile.full_name),
        ("Address", "address", &profile.address),
        ("E-mail", "email", &profile.email),
        ("Credit card", "creditcard", &profile.credit_card),
    ] {
        put(
            page,
            format_args!(
                "<label>{label} <input name=\"{name}\" value=\"{}\"></label>\n",
                Escaped(value)
            ),
        );
    }
    // The field is left empty, because a page must not show a password.
    page.push_str("<label>Password <input name=\"passwd\" type=\"password\"></label>\n<button>Update</button>\n</form>\n");
}

fn table(page: &mut String, columns: &[&str]) {
    page.push_str("<table><tr>");
    for column in columns {
        put(page, format_args!("<th>{column}</th>"));
    }
    page.push_str("</tr>\n");
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("a string takes any text");
}

/// Text that is escaped for use inside an element or an attribute.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rest = self.0;
        while let Some(place) = rest.find(['&', '<', '>', '"', '\'']) {
            f.write_str(&rest[..place])?;
            f.write_str(match rest.as_bytes()[place] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[place + 1..];
        }
        f.write_str(rest)
    }
}

/// Cents as dollars.
struct Money(i64);

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        write!(f, "{sign}${}.{:02}", cents / 100, cents % 100)
    }
}

/// Microseconds since 1970 as a date and a time of UTC.
struct Date(i64);

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.div_euclid(1_000_000);
        let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(day);
        let (hour, minute) = (second / 3_600, second / 60 % 60);
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02}", second % 60)
    }
}

/// Days since 1970 as year, month and day: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `civil_from_days`.
const fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}
