"""An application behind a real server on a port of this machine, in a thread."""

import contextlib
import socket
import threading
import time

import httpx
import uvicorn

from bandstrap import live
from bandstrap.live.store import Store
from bandstrap.serve.app import make_app
from bandstrap.serve.connections import PatientProtocol
from bandstrap.serve.hub import ServiceOptions
from bandstrap.serve.tokens import create_token


@contextlib.contextmanager
def shop_serving(folder):
    """A client of a service with one experiment, a token that may decide, and the database."""
    target = str(folder / "shop.db")
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    with Store.open(target) as store:
        token = create_token(store, "decide")
    with serving(make_app(ServiceOptions(target))) as client:
        yield client, token, target


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
