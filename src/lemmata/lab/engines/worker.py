"""The main program of a worker process: `python -m lemmata.lab.engines.worker FILE_DESCRIPTOR`.

It calls what it is sent and answers with (result, None) or (None, exception). The exception is of a class that the
command knows: the user's own may not travel. It ends with its command: a thread that reads ahead notices when the other
end is gone, also in the middle of a call.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from multiprocessing.connection import Connection

from lemmata.lab.errors import UserError
from lemmata.lab.work import describe_error

CORES = "LEMMATA_CORES"
"""The variable that names the cores to which a worker keeps."""


def keep_to_cores() -> None:
    """Move every thread of this process to its cores; threads that are started later follow."""
    if CORES in os.environ:
        for task in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(task), map(int, os.environ[CORES].split(",")))


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
        except UserError as error:
            answer = (None, UserError(str(error)))
        except Exception as error:
            answer = (None, RuntimeError(describe_error(error)))
        connection.send(answer)


if __name__ == "__main__":
    keep_to_cores()
    serve(Connection(int(sys.argv[1])))
