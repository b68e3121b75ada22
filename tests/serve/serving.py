"""An application behind a real server on a port of this machine, in a thread."""

import contextlib
import socket
import threading
import time

import httpx
import uvicorn

from bandstrap.serve.connections import PatientProtocol


@contextlib.contextmanager
def serving(app):
    """A client of the application."""
    options = {"http": PatientProtocol, "log_level": "critical", "access_log": False, "lifespan": "on"}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    # Of a socket whose protocol is not named, asyncio leaves small packets waiting for each other, 40 ms each time.
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while thread.is_alive() and not server.started:  # what it makes when it starts is there
            time.sleep(0.002)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()
