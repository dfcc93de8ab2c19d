"""The main program of a worker process: `python -m lemmata.lab.engines.worker FILE_DESCRIPTOR`.

It calls what it is sent and answers with (result, None) or (None, exception). It ends with its command: a thread that
reads ahead notices when the other end is gone, also in the middle of a call.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from multiprocessing.connection import Connection


def serve(connection: Connection) -> None:
    """Answer until the other end closes."""
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                asked.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            function, arguments = pickle.loads(asked.get())
            answer = (function(*arguments), None)
        except Exception as error:
            answer = (None, error)
        connection.send(answer)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
