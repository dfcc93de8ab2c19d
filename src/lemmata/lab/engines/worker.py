"""The main program of a worker process: `python -m lemmata.lab.engines.worker FILE_DESCRIPTOR`.

It calls what it is sent and answers with a result or an exception; in the middle of a call it may tell how far a run
is. An exception is of a class that the command knows: the user's own may not travel. It ends with its command: a thread
that reads ahead notices when the other end is gone, also in the middle of a call. Asked to leave, or left alone, it
keeps a checkpoint of the run it is at.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from multiprocessing.connection import Connection

from lemmata.lab import interrupts, parcels
from lemmata.lab.errors import UserError, describe_error
from lemmata.lab.machine import collect_rarely, keep_to_cores

CORES = "LEMMATA_CORES"
"""The variable that names the cores to which a worker keeps."""
ANSWER, ERROR, STEP, READY = "answer", "error", "step", "ready"
"""The kinds of messages that a worker sends."""


def serve(connection: Connection) -> None:
    """Answer until the other end closes."""
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                asked.put(connection.recv_bytes())
        except (EOFError, OSError):
            interrupts.leave(0)

    threading.Thread(target=read, daemon=True).start()
    parcels.report_steps(lambda step, last: connection.send((STEP, (step, last))))
    connection.send((READY, None))
    while True:
        try:
            function, arguments = pickle.loads(asked.get())
            answer = ANSWER, function(*arguments)
        except UserError as error:
            answer = ERROR, UserError(str(error))
        except Exception as error:
            answer = ERROR, RuntimeError(describe_error(error))
        connection.send(answer)


if __name__ == "__main__":
    with interrupts.leaving_on_signals(sentence=""):
        if CORES in os.environ:
            keep_to_cores([int(core) for core in os.environ[CORES].split(",")])
        collect_rarely()
        serve(Connection(int(sys.argv[1])))
