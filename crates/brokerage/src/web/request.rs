//! Interprets a request: which page it asks for, in which format, for which session, and with which
//! form.

use hyper::header::{ACCEPT, COOKIE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

use super::form::Form;
use super::sessions::{Session, SessionId};
use crate::job::Operation;
use crate::problem::Problem;
use crate::rows::{Profile, QUANTITY_MAX};

/// The name of the session cookie.
pub(crate) const COOKIE_NAME: &str = "netstudy-session";
/// Most symbols on one page of quotes.
const SYMBOLS_MAX: usize = 100;

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Html,
    Json,
}

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Health,
    Image(usize),
    Login,
    Logout,
    Home,
    Quotes,
    Portfolio,
    Account,
    Update,
    Buy,
    Sell,
    Register,
}

/// The format that a request asks for: JSON if the path is under `/api` or the `Accept` header asks
/// for JSON, otherwise HTML.
pub(crate) fn face(parts: &Parts) -> Face {
    let takes_json = || {
        let accept = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        accept.is_some_and(|accept| accept.contains("application/json"))
    };
    if parts.uri.path().starts_with("/api/") || takes_json() { Face::Json } else { Face::Html }
}

/// The page that a request asks for.
pub(crate) fn route(parts: &Parts) -> Result<Route, Problem> {
    let path = parts.uri.path();
    let path = path.strip_prefix("/api").filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let (route, method) = match path {
        "/" => (Route::Health, Method::GET),
        "/login" => (Route::Login, Method::POST),
        "/logout" => (Route::Logout, Method::GET),
        "/home" => (Route::Home, Method::GET),
        "/quotes" => (Route::Quotes, Method::GET),
        "/portfolio" => (Route::Portfolio, Method::GET),
        "/account" => (Route::Account, Method::GET),
        "/update" => (Route::Update, Method::POST),
        "/buy" => (Route::Buy, Method::POST),
        "/sell" => (Route::Sell, Method::POST),
        "/register" => (Route::Register, Method::POST),
        _ => (image(path).ok_or(Problem::NotFound)?, Method::GET),
    };
    if parts.method == method { Ok(route) } else { Err(Problem::MethodNotAllowed) }
}

fn image(path: &str) -> Option<Route> {
    let number = path.strip_prefix("/images/")?.strip_suffix(".gif")?;
    match number.as_bytes() {
        [digit @ b'0'..=b'8'] => Some(Route::Image(usize::from(digit - b'0'))),
        _ => None,
    }
}

/// The session identifier in the cookie of a request. A session with this identifier need not
/// exist.
pub(crate) fn session_id(headers: &HeaderMap) -> Option<SessionId> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = all.flat_map(|cookies| cookies.split(';'));
    let named = |cookie: &str| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == COOKIE_NAME && value.len() == 32).then(|| value.to_owned())
    };
    SessionId::from_str_radix(&cookies.find_map(named)?, 16).ok()
}

/// The operation that a form asks for. `session` is none if no user is logged in.
pub(crate) fn operation(
    route: Route,
    form: &Form,
    session: Option<&Session>,
) -> Result<Operation, Problem> {
    let user = || session.map(|session| session.user.clone()).ok_or(Problem::UnknownSession);
    Ok(match route {
        Route::Login => Operation::Login {
            user: form.text("uid")?.to_owned(),
            password: form.text("passwd")?.to_owned(),
        },
        Route::Register => Operation::Register {
            profile: profile(form.text("uid")?.to_owned(), form)?,
            balance_cents: form.cents("balance")?,
        },
        Route::Logout => Operation::Logout { user: user()? },
        Route::Home => Operation::Home { user: user()? },
        Route::Quotes => Operation::Quotes { user: user()?, symbols: symbols(form)? },
        Route::Portfolio => Operation::Portfolio { user: user()? },
        Route::Account => Operation::Account { user: user()? },
        Route::Update => Operation::Update { profile: profile(user()?, form)? },
        Route::Buy => Operation::Buy {
            user: user()?,
            symbol: form.text("symbol")?.to_owned(),
            quantity: quantity(form)?,
        },
        Route::Sell => Operation::Sell { user: user()?, holding: form.number("holding")? },
        Route::Health | Route::Image(_) => unreachable!("these are no operations"),
    })
}

fn profile(user: String, form: &Form) -> Result<Profile, Problem> {
    let field = |name| form.text(name).map(str::to_owned);
    Ok(Profile {
        user,
        password: field("passwd")?,
        full_name: field("fullname")?,
        address: field("address")?,
        email: field("email")?,
        credit_card: field("creditcard")?,
    })
}

fn quantity(form: &Form) -> Result<i64, Problem> {
    let text = form.optional("quantity").ok_or(Problem::BadForm)?;
    let quantity = text.parse().map_err(|_| Problem::BadQuantity)?;
    if (1..=QUANTITY_MAX).contains(&quantity) { Ok(quantity) } else { Err(Problem::BadQuantity) }
}

fn symbols(form: &Form) -> Result<Vec<String>, Problem> {
    let list = form.optional("symbols").ok_or(Problem::BadForm)?;
    let symbols: Vec<String> = list
        .split(',')
        .map(str::trim)
        .filter(|symbol| !symbol.is_empty())
        .map(str::to_owned)
        .collect();
    match symbols.len() {
        1..=SYMBOLS_MAX => Ok(symbols),
        _ => Err(Problem::BadForm),
    }
}
