//! Names of errno values, as in fio's `ignore_error` and in messages.

/// Linux's names from errno 1 on, numbered as on x86-64 and AArch64 (asm-generic/errno.h,
/// errno-base.h); `-` is a number without one.
const NAMES: &str = "\
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT \
    ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG \
    ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY \
    ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE \
    EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME ENOSR ENONET ENOPKG \
    EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ \
    EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS \
    ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT \
    EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH \
    ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS \
    ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM \
    ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED \
    EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON";

/// The errno value with this name.
pub(super) fn number(name: &str) -> Option<i32> {
    match name {
        "EWOULDBLOCK" => return number("EAGAIN"),
        "EDEADLOCK" => return number("EDEADLK"),
        "-" => return None,
        _ => {}
    }
    let at = NAMES.split_whitespace().position(|known| known == name)?;
    i32::try_from(at + 1).ok()
}

/// The name of an errno value, if it has one.
pub fn errno_name(errno: i32) -> Option<&'static str> {
    let at = usize::try_from(errno).ok()?.checked_sub(1)?;
    NAMES.split_whitespace().nth(at).filter(|name| *name != "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers() {
        let known =
            [("EIO", 5), ("ENOSPC", 28), ("EILSEQ", 84), ("EREMOTEIO", 121), ("EHWPOISON", 133)];
        for (text, errno) in known {
            assert_eq!(number(text), Some(errno), "{text}");
            assert_eq!(errno_name(errno), Some(text));
        }
        assert_eq!(number("EAGAIN"), number("EWOULDBLOCK"));
        for none in ["", "-"] {
            assert_eq!(number(none), None);
        }
        assert_eq!(number("EFOO"), None);
        assert_eq!(errno_name(41), None);
        assert_eq!(errno_name(999), None);
    }
}
