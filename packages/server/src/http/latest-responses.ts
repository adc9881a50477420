import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Finds the response to the last request that arrived on a connection. Responses of a connection keep their order. */
export type LatestResponse = (socket: Duplex) => ServerResponse | undefined;

export function latestResponses(server: Pick<Server, "prependListener">): LatestResponse {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    responses.set(socket, response);
  });
  return (socket) => responses.get(socket);
}
