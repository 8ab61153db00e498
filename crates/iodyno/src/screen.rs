//! Full-screen use of the terminal: taken, painted, and given back however the process ends.
//!
//! The terminal's own modes tell that a screen is taken: they are changed before the alternate
//! screen is shown and restored after it is left. So the supervisor and a panic hook see without
//! further state whether there is anything to give back, and giving it back ends the painting.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};

/// Switches to the alternate screen, cleared, without a cursor (xterm's control sequences).
const TAKE: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[?25l";
const GIVE_BACK: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";
/// Smallest usable size: smaller ones have no room for a table of drives.
const MIN_SIZE: Size = Size { width: 40, height: 10 };
/// Value of a disabled special character (_POSIX_VDISABLE).
const NO_KEY: u8 = 0;

/// The taken screen; at most one, like the terminal.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

struct Taken {
    terminal: Arc<Terminal>,
    /// Output printed meanwhile, held for the normal screen.
    held: Vec<(Stream, Vec<u8>)>,
}

/// Destination of printed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// A terminal with the modes to restore.
#[derive(Debug)]
pub(crate) struct Terminal {
    file: File,
    modes: Termios,
}

impl Terminal {
    /// Returns standard error if it is a terminal.
    pub(crate) fn of_errors() -> Option<Self> {
        let error = io::stderr();
        let file = error.is_terminal().then(|| error.as_fd().try_clone_to_owned().ok())??;
        Self::new(file)
    }

    fn new(terminal: OwnedFd) -> Option<Self> {
        let modes = tcgetattr(&terminal).ok()?;
        Some(Self { file: terminal.into(), modes })
    }

    /// True if the screen can be taken: large enough, not dumb, and ours. A background process that
    /// changed its modes would be stopped (SIGTTOU).
    pub(crate) fn fits(&self) -> bool {
        let size = self.size();
        size.width >= MIN_SIZE.width
            && size.height >= MIN_SIZE.height
            && !is_dumb()
            && self.is_foreground()
    }

    fn is_foreground(&self) -> bool {
        tcgetpgrp(&self.file).is_ok_and(|group| group == getpgrp())
    }

    fn size(&self) -> Size {
        tcgetwinsize(&self.file).map_or(Size::ZERO, |size| Size::new(size.ws_col, size.ws_row))
    }

    /// True if some process has taken the screen.
    fn is_taken(&self) -> bool {
        tcgetattr(&self.file).is_ok_and(|now| now.local_modes != self.modes.local_modes)
    }

    /// Switches the modes: keys arrive one by one without echo, and Ctrl-C stays a signal. Keys
    /// that stop or kill a process silently are disabled, since they would leave the screen behind.
    fn take(&mut self) -> io::Result<()> {
        let mut modes = self.modes.clone();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        // Ctrl-S would block the painter.
        modes.input_modes -= InputModes::IXON;
        for key in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
            modes.special_codes[key] = NO_KEY;
        }
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        tcsetattr(&self.file, OptionalActions::Now, &modes)?;
        self.file.write_all(TAKE)
    }

    /// Restores the previous screen and modes, unless already done.
    pub(crate) fn give_back(&self) {
        if self.is_taken() && self.is_foreground() {
            let _ = (&self.file).write_all(GIVE_BACK);
            let _ = tcsetattr(&self.file, OptionalActions::Flush, &self.modes);
        }
    }
}

/// True if the terminal is not known to understand control sequences.
pub(crate) fn is_dumb() -> bool {
    std::env::var("TERM").map_or(true, |term| term.is_empty() || term == "dumb")
}

/// The lock is never held during terminal reads or writes, which may block.
fn taken() -> MutexGuard<'static, Option<Taken>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal whose screen is taken, unless it was given back meanwhile.
fn terminal() -> Option<Arc<Terminal>> {
    let terminal = Arc::clone(&taken().as_ref()?.terminal);
    terminal.is_taken().then_some(terminal)
}

/// Takes the screen; a panic gives it back before its message is printed.
///
/// # Errors
/// The terminal refuses.
pub(crate) fn take(mut terminal: Terminal) -> io::Result<()> {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            told(panic);
        }));
    });
    let result = terminal.take();
    *taken() = Some(Taken { terminal: Arc::new(terminal), held: Vec::new() });
    if result.is_err() {
        give_back();
    }
    result
}

/// Gives the screen back and prints the held output.
pub(crate) fn give_back() {
    let Some(taken) = taken().take() else { return };
    taken.terminal.give_back();
    for (stream, bytes) in taken.held {
        let _ = match stream {
            Stream::Output => io::stdout().lock().write_all(&bytes),
            Stream::Error => io::stderr().lock().write_all(&bytes),
        };
    }
    let _ = io::stdout().flush();
}

/// True if the screen is taken.
pub(crate) fn is_taken() -> bool {
    taken().is_some()
}

/// Holds output until the screen is given back; `false`: no screen is taken, print it now.
pub(crate) fn hold(stream: Stream, bytes: &[u8]) -> bool {
    let mut guard = taken();
    guard.as_mut().map(|taken| taken.held.push((stream, bytes.to_owned()))).is_some()
}

/// Reason for the end of a wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    Key(u8),
    Time,
    /// The other end of `end` is closed, or the screen was given back.
    End,
}

/// Waits for a key, until `most` has passed or the other end of `end` is closed.
pub(crate) fn wait(end: &UnixStream, most: Duration) -> Woken {
    let Some(terminal) = terminal() else { return Woken::End };
    let polled = |file| PollFd::from_borrowed_fd(file, PollFlags::IN);
    let mut both = [polled(end.as_fd()), polled(terminal.file.as_fd())];
    let timeout = Timespec::try_from(most).ok();
    let _ = poll(&mut both, timeout.as_ref());
    let [ended, pressed] = both.map(|file| !file.revents().is_empty());
    let mut key = [0];
    match (ended, pressed) {
        (true, _) => Woken::End,
        (_, false) => Woken::Time,
        // A hung-up terminal delivers no more keys; a signal (SIGHUP) reports it as well.
        (_, true) => match rustix::io::read(&terminal.file, &mut key) {
            Ok(1..) => Woken::Key(key[0]),
            _ => Woken::End,
        },
    }
}

/// Paints cells with ECMA-48 sequences. Each frame is written at once, and only while the screen is
/// ours.
#[derive(Debug, Default)]
pub(crate) struct Painter {
    frame: Vec<u8>,
}

impl Painter {
    fn put(&mut self, text: &str) -> io::Result<()> {
        self.frame.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Foreground code, 30 to 37 or 90 to 97: the sixteen colours that the user's terminal defines.
fn foreground(color: Color) -> u8 {
    match color {
        Color::Red => 31,
        Color::Green => 32,
        Color::Yellow => 33,
        Color::Cyan => 36,
        _ => 39,
    }
}

impl Backend for Painter {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut style = (Color::Reset, Modifier::empty());
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.put(&format!("\x1b[{};{}H", y + 1, x + 1))?;
            }
            // A wide character also covers the next cell, so the position after it is set
            // explicitly.
            next = cell.symbol().is_ascii().then_some((x + 1, y));
            if std::mem::replace(&mut style, (cell.fg, cell.modifier)) != style {
                self.put(&format!("\x1b[0;{}", foreground(cell.fg)))?;
                let codes =
                    [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2"), (Modifier::REVERSED, ";7")];
                for (_, code) in codes.iter().filter(|(one, _)| cell.modifier.contains(*one)) {
                    self.put(code)?;
                }
                self.put("m")?;
            }
            self.put(cell.symbol())?;
        }
        self.put("\x1b[0m")
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.put("\x1b[2J")
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        Ok(terminal().map_or(MIN_SIZE, |terminal| terminal.size()))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = std::mem::take(&mut self.frame);
        terminal().map_or(Ok(()), |terminal| (&terminal.file).write_all(&frame))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    use super::*;

    const OWN: &str = "screen::tests::a_panic_message_appears_on_the_normal_screen";
    const INNER: &str = "IODYNO_TEST_PANICS";

    /// Runs in a process of its own that owns the terminal.
    #[test]
    fn a_panic_message_appears_on_the_normal_screen() {
        if std::env::var_os(INNER).is_some() {
            let terminal = Terminal::of_errors().unwrap();
            assert!(terminal.fits());
            take(terminal).unwrap();
            assert!(hold(Stream::Error, b"said before\n"));
            panic!("of a test");
        }
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let modes = format!("{:?}", tcgetattr(&terminal).unwrap());
        let stream = || Stdio::from(terminal.try_clone().unwrap());
        let status = Command::new("setsid")
            .arg("--ctty")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", OWN])
            .env(INNER, "1")
            .env("TERM", "xterm")
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(101));
        assert_eq!(format!("{:?}", tcgetattr(&terminal).unwrap()), modes);
        let (mut written, mut bytes) = (Vec::new(), [0; 4096]);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while poll(&mut [PollFd::new(&master, PollFlags::IN)], Some(&now)).unwrap() > 0 {
            let read = File::from(master.try_clone().unwrap()).read(&mut bytes).unwrap();
            written.extend_from_slice(&bytes[..read]);
        }
        let written = String::from_utf8(written).unwrap();
        let at = |words: &[u8]| written.find(std::str::from_utf8(words).unwrap());
        let places = [at(TAKE), at(GIVE_BACK), at(b"said before"), at(b"of a test")];
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {written}");
    }
}
