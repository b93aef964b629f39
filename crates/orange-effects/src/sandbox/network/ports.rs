//! Connections from outside to servers inside a sandbox.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use super::connections::serve;
use super::relay::relay;

/// How many connections are open at once.
const MAX_CONNECTIONS: usize = 256;

/// How long process 1 may take to connect to a server beside it.
const ANSWER_TIME: Duration = Duration::from_secs(5);

const CONNECTED: u8 = 1;
const REFUSED: u8 = 0;

/// Inside: connects callers to the ports of this sandbox, until this process ends.
pub(in crate::sandbox) fn serve_ports(listener: UnixListener) -> io::Result<()> {
    let answer = |stream: UnixStream| {
        // A caller that is gone gets no answer.
        let _gone = connect_caller(stream);
    };
    thread::Builder::new().spawn(move || {
        serve(
            listener.incoming().flatten(),
            MAX_CONNECTIONS,
            |_| {},
            answer,
        );
    })?;
    Ok(())
}

fn connect_caller(mut caller: UnixStream) -> io::Result<()> {
    let mut port = [0; 2];
    caller.set_read_timeout(Some(ANSWER_TIME))?;
    caller.read_exact(&mut port)?;
    caller.set_read_timeout(None)?;
    let port = u16::from_be_bytes(port);
    let addresses: [SocketAddr; 2] = [
        (Ipv4Addr::LOCALHOST, port).into(),
        (Ipv6Addr::LOCALHOST, port).into(),
    ];
    match TcpStream::connect(addresses.as_slice()) {
        Ok(server) => {
            let _unbuffered = server.set_nodelay(true);
            caller.write_all(&[CONNECTED])?;
            relay(caller, server)
        }
        Err(_) => caller.write_all(&[REFUSED]),
    }
}

/// Outside: a port of this machine that leads to one inside a sandbox.
#[derive(Debug)]
pub struct PortForward {
    listener: TcpListener,
    port: u16,
}

impl PortForward {
    /// Listens on this machine alone; on a free port if the wanted one is taken and `is_flexible`.
    pub fn listen(port: u16, wanted: u16, is_flexible: bool) -> io::Result<Self> {
        let listen = |local: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, local));
        let listener = match listen(wanted) {
            Err(error) if is_flexible && error.kind() == io::ErrorKind::AddrInUse => listen(0)?,
            result => result?,
        };
        Ok(Self { listener, port })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Passes connections on until this process ends. `connect` reaches process 1.
    pub(in crate::sandbox) fn serve(
        self,
        connect: impl Fn() -> io::Result<UnixStream> + Send + Sync + 'static,
    ) {
        let port = self.port;
        let handle = move |client: TcpStream| {
            let _unbuffered = client.set_nodelay(true);
            // A server that is not there closes the connection.
            let _gone = connect().and_then(|inside| match reach(inside, port)? {
                Some(inside) => relay(client, inside),
                None => Ok(()),
            });
        };
        serve(
            self.listener.incoming().flatten(),
            MAX_CONNECTIONS,
            |_| {},
            handle,
        );
    }
}

/// Connects to a port of this loopback.
pub(in crate::sandbox) fn connect_port(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let _unbuffered = stream.set_nodelay(true);
    Ok(stream)
}

/// Whether a port of this loopback accepts a connection.
pub(in crate::sandbox) fn can_connect(port: u16) -> bool {
    connect_port(port).is_ok()
}

/// Asks process 1 for a port; `None` if nothing listens there.
pub(in crate::sandbox) fn reach(
    mut inside: UnixStream,
    port: u16,
) -> io::Result<Option<UnixStream>> {
    inside.write_all(&port.to_be_bytes())?;
    inside.set_read_timeout(Some(2 * ANSWER_TIME))?;
    let mut answer = [REFUSED];
    inside.read_exact(&mut answer)?;
    inside.set_read_timeout(None)?;
    Ok((answer == [CONNECTED]).then_some(inside))
}
