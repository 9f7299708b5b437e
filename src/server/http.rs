//! Connections: how many, how slow they may be, and how they end.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::Sleep;

/// Connections at a time. Others wait in the system's queue.
const N_CONNECTIONS_MAX: usize = 128;
/// For the head of a request, and between two requests.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
const HEAD_BYTES_MAX: usize = 64 * 1024;
const N_HEADERS_MAX: usize = 64;
/// How long a client may not take what is sent to it.
const WRITE_PATIENCE: Duration = Duration::from_mins(1);
/// How long requests have to come to their end when the server stops.
const LEAVE_PATIENCE: Duration = Duration::from_secs(8);

/// Answers until `stop` is raised, then until what was begun has ended.
pub(super) async fn accept(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(N_CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
        };
        let Ok((stream, _)) = stream else {
            // Too many open files, or a client that was gone already.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (router, mut stop) = (router.clone(), stop.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_PATIENCE)
                .max_headers(N_HEADERS_MAX)
                .max_buf_size(HEAD_BYTES_MAX)
                .serve_connection(
                    TokioIo::new(Impatient { stream, stalled: None }),
                    TowerToHyperService::new(router),
                );
            let mut connection = std::pin::pin!(connection);
            // How a connection ended is the client's affair.
            tokio::select! {
                _ = connection.as_mut() => {}
                () = stopped(&mut stop) => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
            drop(place);
        });
    }
    let all = u32::try_from(N_CONNECTIONS_MAX).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(LEAVE_PATIENCE, places.acquire_many(all)).await;
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// A connection that ends when the other side takes nothing for too long.
struct Impatient {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn watched<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let wait = || Box::pin(tokio::time::sleep(WRITE_PATIENCE));
        let stalled = self.stalled.get_or_insert_with(wait);
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.watched(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched(context, |stream, context| stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched(context, |stream, context| stream.poll_shutdown(context))
    }
}
