//! Which errors of the operating system are the gateway's own, not the receiver's.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use postrider_ports::sender::{OwnFault, OwnFaultKind};
use rustix::io::Errno;

/// Who is to blame for a connection that was not established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    Receiver,
    /// No route. The receiver's, unless it is the same for every receiver.
    Unreachable,
    Own(OwnFaultKind),
}

pub(crate) fn blame(error: &io::Error, to: SocketAddr) -> Blame {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => Blame::Own(OwnFaultKind::Descriptors),
        Some(Errno::NOBUFS | Errno::NOMEM) => Blame::Own(OwnFaultKind::Memory),
        Some(Errno::ADDRNOTAVAIL) if has_source_address(to) => Blame::Own(OwnFaultKind::Ports),
        Some(Errno::ADDRNOTAVAIL | Errno::NETUNREACH | Errno::HOSTUNREACH) => Blame::Unreachable,
        Some(_) | None => Blame::Receiver,
    }
}

/// Whether this machine has an address from which it could connect. Without one, for example for IPv6 in many containers,
/// connecting fails with the same error as without a free port. Sends nothing.
fn has_source_address(to: SocketAddr) -> bool {
    let any = match to {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    UdpSocket::bind(any).is_ok_and(|socket| socket.connect(to).is_ok())
}

/// The fault that prevents this process from opening any socket. The resolver hides it behind an error of its own.
pub(crate) fn without_sockets() -> Option<OwnFault> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let error = UdpSocket::bind(any).err()?;
    match blame(&error, any) {
        Blame::Own(kind) => Some(OwnFault {
            kind,
            detail: error.to_string(),
        }),
        Blame::Receiver | Blame::Unreachable => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_lacks_is_our_own_fault() {
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        let own = Blame::Own;
        for (errno, expected) in [
            (Errno::MFILE, own(OwnFaultKind::Descriptors)),
            (Errno::NFILE, own(OwnFaultKind::Descriptors)),
            (Errno::NOBUFS, own(OwnFaultKind::Memory)),
            (Errno::NOMEM, own(OwnFaultKind::Memory)),
            (Errno::ADDRNOTAVAIL, own(OwnFaultKind::Ports)),
            (Errno::NETUNREACH, Blame::Unreachable),
            (Errno::HOSTUNREACH, Blame::Unreachable),
            (Errno::CONNREFUSED, Blame::Receiver),
            (Errno::TIMEDOUT, Blame::Receiver),
            (Errno::CONNRESET, Blame::Receiver),
        ] {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            assert_eq!(blame(&error, to), expected, "{error}");
        }
        assert_eq!(blame(&io::Error::other("odd"), to), Blame::Receiver);
    }

    #[test]
    fn without_an_address_of_that_family_no_port_is_missing() {
        // The documentation prefix is routed nowhere, unless there is a default route.
        let to: SocketAddr = "[2001:db8::1]:443".parse().unwrap();
        let error = io::Error::from_raw_os_error(Errno::ADDRNOTAVAIL.raw_os_error());
        let expected = if has_source_address(to) {
            Blame::Own(OwnFaultKind::Ports)
        } else {
            Blame::Unreachable
        };
        assert_eq!(blame(&error, to), expected);
    }

    #[test]
    fn a_process_with_descriptors_has_no_fault() {
        assert_eq!(without_sockets(), None);
    }
}
