import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorDefinitions } from "@gatehouse/contract/errors";
import { AppError } from "../platform/app-error.ts";
import type { Log } from "../platform/log.ts";
import { problemMediaType, problemOf } from "./problem.ts";
import type { RequestTurns } from "./request-turns.ts";

/**
 * Responds to invalid requests: headers too large, too slow, or not HTTP. If a previous request on the connection is
 * unanswered, closes the connection. The client would otherwise take the error for that response.
 */
export function respondToClientError(
  error: Error & { code?: string },
  socket: Socket,
  turns: RequestTurns,
  log: Log,
): void {
  const isLate = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  if (isLate && turns.closeInTurn(socket)) return;
  const latest = turns.latestResponse(socket);
  if (error.code === "ECONNRESET" || !socket.writable || (latest !== undefined && !mayFollow(latest, socket))) {
    socket.destroy();
    return;
  }
  const code =
    error.code === "HPE_HEADER_OVERFLOW" ? "header_too_large" : isLate ? "request_timeout" : "invalid_parameter";
  const detail =
    code === "invalid_parameter" ? "The request is not valid HTTP/1.1." : errorDefinitions[code].explanation;
  const requestId = randomUUID();
  const body = JSON.stringify(problemOf(new AppError(code, { detail }), "/", requestId));
  const { status, title } = errorDefinitions[code];
  log.info({ requestId, status, code }, "invalid request");
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Whether an error can be written to the connection now: after the latest response, or in its place. */
function mayFollow(latest: ServerResponse, socket: Socket): boolean {
  const isAttached = latest.socket === socket;
  const isWritten = latest.writableFinished || (latest.writableEnded && isAttached);
  // The error is in the body of the latest request.
  const isAnswerable = isAttached && !latest.headersSent && !latest.req.complete;
  return isWritten || isAnswerable;
}
