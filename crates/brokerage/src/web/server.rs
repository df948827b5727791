//! Accepts connections and answers their requests.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, SET_COOKIE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use netstudy_records::{BrokerageCounters, Endpoint};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::time;

use super::form::Form;
use super::html;
use super::request::{self, COOKIE_NAME, Face, Route};
use super::sessions::{Session, SessionId, Sessions};
use super::stream::{Phase, Progress, Stream};
use crate::answer::{Answer, View};
use crate::application::Application;
use crate::counters::count;
use crate::failure::Failure;
use crate::job::{Job, Name, Operation, Outcome};
use crate::pool::Pool;
use crate::problem::Problem;

/// Largest number of connections that wait to be accepted.
const BACKLOG: u32 = 4_096;
/// Largest size of a request's header, in bytes.
const HEADER_MAX: usize = 16 * 1024;
/// Largest size of a form, in bytes.
const BODY_MAX: usize = 16 * 1024;
/// How many ticks of a connection's clock make up the request timeout.
const TICKS: u32 = 4;
/// When the process has run out of file descriptors, it pauses this long before it accepts
/// connections again.
const TOO_MANY_FILES: Duration = Duration::from_millis(10);

/// The application server.
#[derive(Debug)]
pub(crate) struct Server {
    application: Arc<Application>,
    pool: Pool,
    sessions: Sessions,
}

/// The contents of an HTTP response.
struct Page {
    status: u16,
    content_type: &'static str,
    body: Bytes,
    cookie: Option<String>,
}

impl Server {
    pub(crate) fn new(application: Arc<Application>, pool: Pool, sessions: Sessions) -> Self {
        Self { application, pool, sessions }
    }

    /// Listens, and serves until the runtime ends. Returns the address.
    pub(crate) fn listen(self: Arc<Self>, at: &Endpoint) -> Result<Endpoint, Failure> {
        let address = SocketAddr::new(at.address, at.port);
        let (listener, local) = listener(address)
            .map_err(|error| Failure::Testbed(format!("listening at {address}: {error}")))?;
        tokio::spawn(self.accept(listener));
        Ok(Endpoint { address: local.ip(), port: local.port() })
    }

    pub(crate) async fn perform(&self, job: Job) -> Outcome {
        self.pool.perform(job).await
    }

    pub(crate) fn end_sessions(&self) {
        self.sessions.end_all();
    }

    /// All counters. Must be called in the runtime that serves.
    pub(crate) fn counters(&self) -> BrokerageCounters {
        let threads = Handle::current().metrics();
        let busy = (0..threads.num_workers()).map(|one| threads.worker_total_busy_duration(one));
        self.application.counters.read(self.sessions.count(), busy.sum())
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((tcp, _)) => {
                    count(&self.application.counters.connections);
                    tokio::spawn(Arc::clone(&self).serve(tcp));
                }
                Err(_) => time::sleep(TOO_MANY_FILES).await,
            }
        }
    }

    /// Serves a connection until either end closes it, or the client is too slow.
    async fn serve(self: Arc<Self>, tcp: TcpStream) {
        // Nagle's algorithm would delay the last segment of a page.
        let _ = tcp.set_nodelay(true);
        let progress = Arc::new(Progress::default());
        let stream = Stream::new(tcp, Arc::clone(&progress), Arc::clone(&self.application));
        let service = service_fn(|request| {
            let (server, progress) = (Arc::clone(&self), Arc::clone(&progress));
            async move {
                progress.begin(Phase::Working);
                let response = server.respond(request).await;
                progress.begin(Phase::Sending);
                Ok::<_, Infallible>(response)
            }
        });
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEADER_MAX).header_read_timeout(None);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let ended = self.until_too_slow(connection, &progress).await;
        if let Some(problem) = ended.err().and_then(problem_of) {
            self.application.counters.problem(problem);
            // Hyper's HTTP parser has already sent these responses.
            if matches!(problem, Problem::HeaderTooLong | Problem::MalformedRequest) {
                self.application.counters.response(problem.status());
            }
        }
        count(&self.application.counters.connections_closed);
    }

    async fn until_too_slow(
        &self,
        connection: impl Future<Output = hyper::Result<()>>,
        progress: &Progress,
    ) -> Result<(), Ended> {
        let settings = &self.application.settings;
        let tick = Duration::from_millis(settings.request_timeout_ms.div_ceil(u64::from(TICKS)));
        let idle_ticks = settings.idle_timeout_ms.div_ceil(tick.as_millis() as u64);
        let mut clock = time::interval_at(time::Instant::now() + tick, tick);
        // If this process got no CPU for a while, the ticks missed meanwhile must not make the
        // client look slow.
        clock.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        let mut connection = pin!(connection);
        poll_fn(|context| {
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(ended.map_err(Ended::Http));
            }
            while clock.poll_tick(context).is_ready() {
                match progress.tick() {
                    (Phase::Idle, ticks) if u64::from(ticks) > idle_ticks => {
                        return Poll::Ready(Ok(()));
                    }
                    (Phase::Receiving, ticks) if ticks > TICKS => {
                        return Poll::Ready(Err(Ended::Slow(Problem::HeaderTimeout)));
                    }
                    (Phase::Sending, ticks) if ticks > TICKS => {
                        return Poll::Ready(Err(Ended::Slow(Problem::SendTimeout)));
                    }
                    _ => {}
                }
            }
            Poll::Pending
        })
        .await
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let face = request::face(&parts);
        let page = match request::route(&parts) {
            // Images and the health page need no body, session or database, so they are answered
            // even while the database is down.
            Ok(Route::Health) => Ok(health(face)),
            Ok(Route::Image(number)) => Ok(image(number)),
            Ok(route) => {
                let query = parts.uri.query().unwrap_or_default().as_bytes();
                let form = match route {
                    Route::Login | Route::Update | Route::Buy | Route::Sell | Route::Register => {
                        self.body(body).await.and_then(|body| Form::parse(&body))
                    }
                    _ => Form::parse(query),
                };
                let id = request::session_id(&parts.headers);
                match form {
                    Ok(form) => Arc::clone(&self).operate(route, form, id, face).await,
                    Err(problem) => Err(problem),
                }
            }
            Err(problem) => Err(problem),
        };
        let page = page.unwrap_or_else(|problem| {
            self.application.counters.problem(problem);
            error_page(problem, face)
        });
        self.application.counters.response(page.status);
        response(page)
    }

    /// The body of a request, if it arrives in time.
    async fn body(&self, body: Incoming) -> Result<Bytes, Problem> {
        let limit = Duration::from_millis(self.application.settings.request_timeout_ms);
        match time::timeout(limit, Limited::new(body, BODY_MAX).collect()).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::BodyTooLong),
            Ok(Err(_)) => Err(Problem::MalformedRequest),
            Err(_) => Err(Problem::BodyTimeout),
        }
    }

    /// Performs an operation and creates its page.
    async fn operate(
        self: Arc<Self>,
        route: Route,
        form: Form,
        id: Option<SessionId>,
        face: Face,
    ) -> Result<Page, Problem> {
        let session = id.and_then(|id| self.sessions.get(id));
        let operation = request::operation(route, &form, session.as_deref())?;
        let name = operation.name();
        let begins_for = begins_for(&operation);
        let answer = match (route, form.optional("nonce"), session) {
            (Route::Buy, Some(nonce), Some(session)) => {
                // Runs in a separate task, because a client that disconnects must not cancel the
                // operation before the purchase is remembered.
                let (server, nonce) = (Arc::clone(&self), nonce.to_owned());
                tokio::spawn(async move { server.buy_once(&session, nonce, operation).await })
                    .await
                    .map_err(|_| Problem::DatabaseError)?
            }
            _ => self.answer(operation).await,
        }?;
        let mut cookie = None;
        if let (Some(id), true) = (id, begins_for.is_some() || name == Name::Logout) {
            self.sessions.end(id);
            // Deletes the cookie (RFC 6265, 5.2.2).
            cookie = Some(format!("{COOKIE_NAME}=; Path=/; Max-Age=0"));
        }
        if let Some(user) = begins_for {
            cookie = Some(self.begin_session(user)?);
        }
        self.application.counters.operation(name);
        let images = self.application.settings.page_images;
        let (content_type, body) = match face {
            Face::Html => (HTML, html::page(name, &answer, images)),
            Face::Json => (JSON, serde_json::to_string(&answer).expect("an answer is JSON")),
        };
        Ok(Page { status: 200, content_type, body: body.into(), cookie })
    }

    async fn answer(&self, operation: Operation) -> Result<Answer, Problem> {
        match self.pool.perform(Job::Operation(operation)).await {
            Outcome::Answer(answer) => Ok(answer),
            Outcome::Problem(problem) => Err(problem),
            Outcome::Counts(_) | Outcome::Books(_) | Outcome::Failed(_) => {
                unreachable!("an operation has an answer or a problem")
            }
        }
    }

    /// Makes a purchase, or returns the order of an earlier purchase with the same nonce.
    async fn buy_once(
        &self,
        session: &Session,
        nonce: String,
        operation: Operation,
    ) -> Result<Answer, Problem> {
        let mut purchases = session.purchases.lock().await;
        if let Some(order) = purchases.of(&nonce) {
            return Ok(Answer { alerts: Vec::new(), view: View::Order { order } });
        }
        let answer = self.answer(operation).await?;
        if let View::Order { order } = &answer.view {
            purchases.remember(nonce, order.clone());
        }
        Ok(answer)
    }

    /// Starts a session, and returns its cookie.
    fn begin_session(&self, user: String) -> Result<String, Problem> {
        let (id, evicted) = self.sessions.begin(user).map_err(|_| Problem::DatabaseError)?;
        self.application.counters.sessions_evicted.fetch_add(evicted, Relaxed);
        Ok(format!("{COOKIE_NAME}={id:032x}; Path=/; HttpOnly; SameSite=Lax"))
    }
}

/// Why a connection ended.
enum Ended {
    Http(hyper::Error),
    Slow(Problem),
}

/// The problem to count for a connection that has ended; none if the client has disconnected.
fn problem_of(ended: Ended) -> Option<Problem> {
    match ended {
        Ended::Slow(problem) => Some(problem),
        Ended::Http(error) if error.is_parse_too_large() => Some(Problem::HeaderTooLong),
        Ended::Http(error) if error.is_parse() => Some(Problem::MalformedRequest),
        Ended::Http(_) => None,
    }
}

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

fn listener(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections of an earlier run may still be in TIME-WAIT on this port: socket(7), ip(7).
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let local = listener.local_addr()?;
    Ok((listener, local))
}

/// The user for whom this operation starts a session; none if it starts no session.
fn begins_for(operation: &Operation) -> Option<String> {
    match operation {
        Operation::Login { user, .. } => Some(user.clone()),
        Operation::Register { profile, .. } => Some(profile.user.clone()),
        _ => None,
    }
}

fn health(face: Face) -> Page {
    let (content_type, body) = match face {
        Face::Html => (HTML, html::health()),
        Face::Json => (JSON, r#"{"page":"health","status":"ok"}"#.to_owned()),
    };
    Page { status: 200, content_type, body: body.into(), cookie: None }
}

fn image(number: usize) -> Page {
    Page { status: 200, content_type: "image/gif", body: html::image(number), cookie: None }
}

fn error_page(problem: Problem, face: Face) -> Page {
    let (content_type, body) = match face {
        Face::Html => (HTML, html::error(problem)),
        Face::Json => {
            let body = serde_json::json!({"error": problem.name(), "message": problem.sentence()});
            (JSON, body.to_string())
        }
    };
    Page { status: problem.status(), content_type, body: body.into(), cookie: None }
}

fn response(page: Page) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(page.body));
    *response.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    // Responses must not be cached, because pages show the current contents of the database (RFC
    // 9111, 5.2.2.5).
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(cookie) = page.cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}
