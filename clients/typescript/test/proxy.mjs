// A way to the broker that can be cut.

import { connect, createServer } from "node:net";

export async function proxy(url) {
  const broker = new URL(url);
  const sockets = new Set();
  const server = createServer((near) => {
    const far = connect(Number(broker.port || 5672), broker.hostname);
    for (const [from, to] of [[near, far], [far, near]]) {
      sockets.add(from);
      from.on("error", () => {}).on("close", () => sockets.delete(from) && to.destroy());
      from.pipe(to);
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const way = new URL(url);
  way.hostname = "127.0.0.1";
  way.port = String(server.address().port);
  const cut = () => sockets.forEach((socket) => socket.destroy());
  const close = () => new Promise((done) => (server.close(done), cut()));
  return { url: way.href, cut, close, isUsed: () => sockets.size > 0 };
}
