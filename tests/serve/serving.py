"""An application behind a real server on a port of this machine, in a thread."""

import contextlib
import socket
import threading

import httpx
import uvicorn


@contextlib.contextmanager
def serving(app):
    """A client of the application."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, lifespan="on"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        started = threading.Event()
        thread = threading.Thread(target=run, args=(server, listening, started), daemon=True)
        thread.start()
        started.wait()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def run(server, listening, started):
    """Serve until told to stop; requests before the start is over wait in the socket."""
    listening.listen(128)
    started.set()
    server.run(sockets=[listening])
