/** A TCP connection on which a test sends arbitrary bytes. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Problem } from "@gatehouse/contract/problem";
import { expect } from "vitest";
import { compileCheck } from "../../http/validation.ts";

const checkProblem = compileCheck(Problem);

export class RawConnection {
  readonly socket: Socket;
  #received = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.#received += text;
    });
    // A server that has closed its side resets further data.
    socket.on("error", () => undefined);
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  get received(): string {
    return this.#received;
  }

  /** Resolves when the bytes are sent or the connection has closed. */
  async write(bytes: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** All received data, after the server has closed the connection. */
  async whole(): Promise<string> {
    if (!this.socket.closed) await once(this.socket, "close");
    return this.#received;
  }
}

/**
 * Sends the bytes on a new connection.
 *
 * @returns everything received until the server closes the connection
 */
export async function exchange(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  const connection = await RawConnection.open(port);
  for (const piece of pieces) await connection.write(piece);
  return connection.whole();
}

/** A raw request that closes its connection after the response. */
export function request(start: string, headers: Readonly<Record<string, string>> = {}, body = ""): string {
  const lines = Object.entries({ host: "localhost", connection: "close", ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${start} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** Checks that a response is a well-formed problem, and returns its status and code. */
export function problemIn(answer: string): { readonly status: number; readonly code: string } {
  const [head = "", body = ""] = answer.split("\r\n\r\n", 2);
  expect(head).toMatch(/^content-type: application\/problem\+json/im);
  expect(head).toMatch(/^x-request-id: \S+$/im);
  expect(Number(/^content-length: (\d+)/im.exec(head)?.[1])).toBe(body.length);
  const problem = JSON.parse(body);
  expect(checkProblem(problem)).toEqual([]);
  expect(head.startsWith(`HTTP/1.1 ${problem.status} `)).toBe(true);
  return { status: problem.status, code: problem.code };
}
