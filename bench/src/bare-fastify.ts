/**
 * The baseline: Fastify returns the same bytes from memory. It reads them from standard input before it listens. For a
 * POST request, it also parses the JSON of the body.
 */
import { text } from "node:stream/consumers";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";

const body = await text(process.stdin);
const app = Fastify();
for (const method of ["GET", "POST"]) {
  const handler = (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header("Content-Type", "application/json; charset=utf-8").send(body);
  app.route({ method, url: "/", handler });
}
const url = await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`${JSON.stringify({ url })}\n`);
process.once("SIGTERM", () => app.close());
