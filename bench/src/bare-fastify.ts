/** The baseline: Fastify returns the same bytes from memory. It reads the bytes from standard input. */
import { text } from "node:stream/consumers";
import Fastify from "fastify";

const body = await text(process.stdin);
const app = Fastify();
app.get("/", (_request, reply) => reply.header("Content-Type", "application/json; charset=utf-8").send(body));
const url = await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`${JSON.stringify({ url })}\n`);
process.once("SIGTERM", () => app.close());
