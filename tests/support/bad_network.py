"""A bad network between a client and a server, without the kernel's help: a TCP proxy that delays, stalls, breaks off and parts.

What netem does to packets shows to programs as time and as connections that end; both are done here to what stands between two
reads, so it works where a kernel has no netem, and without rights.
"""

import asyncio
import random
import threading

from daemon import LIMIT_S


class BadNetwork:
    """Listens on a port of its own, `port`; everything goes to 127.0.0.1:`target`, which may be changed for connections to come."""

    def __init__(self, target, delay=0.0, loss=0.0, seed=1):
        self.target, self.delay, self.loss = target, delay, loss
        self.random = random.Random(seed)
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait()

    def _serve(self, ready):
        asyncio.set_event_loop(self.loop)
        self.whole = asyncio.Event()
        self.whole.set()
        server = self.loop.run_until_complete(asyncio.start_server(self._connected, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.loop.close()

    async def _connected(self, reader, writer):
        try:
            await self.whole.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
            self.writers |= {writer, back}
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
            self.writers -= {writer, back}
        except (OSError, asyncio.CancelledError):  # nobody is there, or the test is over
            writer.close()

    async def _pump(self, reader, writer):
        """In order, as TCP: what was lost holds up what is behind it, for as long as a first retransmission takes."""
        try:
            while data := await reader.read(65536):
                lost = self.random.random() < self.loss
                await asyncio.sleep(self.delay + (0.2 if lost else 0))  # clock: the delay of this network is what it is for
                await self.whole.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def _call(self, work):
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (work(), done.set()))
        done.wait(LIMIT_S)

    def part(self):
        """Nothing goes through any more, and nobody is told."""
        self._call(self.whole.clear)

    def heal(self):
        self._call(self.whole.set)

    def cut(self):
        """Every connection ends."""
        self._call(lambda: [writer.close() for writer in list(self.writers)])

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(LIMIT_S)
