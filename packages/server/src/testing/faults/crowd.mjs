// A crowd of clients in a process of its own, whose file descriptors are its own too: opens connections, keeps them
// idle, sends a request on some of them, and reports to its parent what came of it.
import { once } from "node:events";
import { connect } from "node:net";

const [port = 0, connections = 0, requests = 0] = process.argv.slice(2).map(Number);
const atATime = 500;

/** Opens a connection, however often the first packet is lost to a full backlog. */
async function open() {
  for (let attempt = 1; ; attempt += 1) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.on("error", () => {});
      return socket;
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

async function answered(socket) {
  const answer = once(socket, "data");
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const [bytes] = await answer;
  return String(bytes).startsWith("HTTP/1.1 200 ");
}

const sockets = [];
while (sockets.length < connections) {
  sockets.push(...(await Promise.all(Array.from({ length: Math.min(atATime, connections - sockets.length) }, open))));
}
process.send({ open: sockets.filter((socket) => socket.readyState === "open").length });

// The parent looks at the server, then wants to know about the crowd.
await once(process, "message");
const step = Math.max(1, Math.floor(sockets.length / requests));
const asked = sockets.filter((_, index) => index % step === 0);
const answers = await Promise.all(asked.map(answered));
process.send({ asked: asked.length, answered: answers.filter(Boolean).length });
await once(process, "message");
process.exit();
