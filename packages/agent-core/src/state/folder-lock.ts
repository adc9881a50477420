import { rm, stat } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** The kernel's limit for the path of a socket, in bytes. */
const longestPath = 107;
/** Health checks at a time. */
const mostConnections = 16;

/**
 * Locks a folder until the process ends. Two agents with one state folder would disconnect each other, and delete each
 * other's tunnel. The lock is a listening socket, which the kernel closes with the process.
 *
 * @param folder an existing folder
 * @param isAlive resolves once the agent has performed an operation. Connections to the socket then read `alive`
 * @param kind the kind of folder, for the error
 * @returns releases the lock
 * @throws Error if another agent has the lock
 */
export async function lockFolder(
  folder: string,
  isAlive?: () => Promise<void>,
  kind = "state folder",
): Promise<() => void> {
  const path = socketIn(folder);
  // Without a lock, the agent still runs: the path may be too long, or the folder not writable.
  if (Buffer.byteLength(path) > longestPath) return () => {};
  let server = await listening(path, isAlive);
  if (server === "in use") {
    if (await answers(path)) {
      throw new Error(
        `Another agent runs with the ${kind} ${folder}. Stop that agent first, for example with systemctl stop.`,
      );
    }
    // The agent that created the socket was killed.
    await rm(path, { force: true }).catch(() => {});
    server = await listening(path, isAlive);
  }
  if (server === "in use" || server === undefined) return () => {};
  const held = server.unref();
  return () => void held.close();
}

/** Whether a folder has a lock. The process that created the lock may have ended. */
export function isLocked(folder: string): Promise<boolean> {
  return stat(socketIn(folder)).then(
    () => true,
    () => false,
  );
}

function socketIn(folder: string): string {
  return join(folder, "running.sock");
}

/** @returns undefined if the socket cannot be created */
function listening(path: string, isAlive?: () => Promise<void>): Promise<Server | "in use" | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => answer(socket, isAlive));
    server.maxConnections = mostConnections;
    server.once("error", (error) => {
      resolve("code" in error && error.code === "EADDRINUSE" ? "in use" : undefined);
    });
    server.listen(path, () => resolve(server));
  });
}

function answer(socket: Socket, isAlive: (() => Promise<void>) | undefined): void {
  // Reading notices that the other side has given up.
  socket
    .on("error", () => {})
    .unref()
    .resume();
  if (isAlive === undefined) socket.destroy();
  else {
    isAlive().then(
      () => void socket.end("alive\n"),
      () => void socket.destroy(),
    );
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
