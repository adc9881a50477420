// A crowd of clients in its own process with its own file descriptors: opens idle connections, sends requests on some
// of them, and reports the results to its parent.
import { once } from "node:events";
import { connect } from "node:net";

const [port = 0, connections = 0, requests = 0] = process.argv.slice(2).map(Number);
const atATime = 500;

/** Opens a connection, even if a full backlog drops the first packets. */
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

// The parent examines the server, then asks for the results.
await once(process, "message");
const step = Math.max(1, Math.floor(sockets.length / requests));
const asked = sockets.filter((_, index) => index % step === 0);
const answers = await Promise.all(asked.map(answered));
process.send({ asked: asked.length, answered: answers.filter(Boolean).length });
await once(process, "message");
process.exit();
