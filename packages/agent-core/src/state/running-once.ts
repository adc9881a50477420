/** That one agent at a time works with a state folder: two would put each other out, and take each other's tunnel away. */
import { rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

/** What the kernel lets a socket's path have, in bytes. */
const longestPath = 107;

/**
 * Takes a state folder until the process ends, however it does: the kernel forgets the socket that stands for it.
 *
 * @param folder that is there
 * @returns what gives it back
 * @throws Error where another agent has it
 */
export async function takeFolder(folder: string): Promise<() => void> {
  const path = join(folder, "running.sock");
  // Of a folder with so long a name nobody can tell who has it; nor where nothing can be written, and the agent works there all the same.
  if (Buffer.byteLength(path) > longestPath) return () => {};
  let server = await listening(path);
  if (server === "taken") {
    if (await answers(path)) {
      throw new Error(
        `Another agent runs with the state folder ${folder}. End that one first: systemctl stop, where systemd runs it.`,
      );
    }
    // Of one that was killed.
    await rm(path, { force: true }).catch(() => {});
    server = await listening(path);
  }
  if (server === "taken" || server === undefined) return () => {};
  const held = server.unref();
  return () => void held.close();
}

/** @returns undefined where it cannot be made at all */
function listening(path: string): Promise<Server | "taken" | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => void socket.on("error", () => {}).destroy());
    server.once("error", (error) => {
      resolve("code" in error && error.code === "EADDRINUSE" ? "taken" : undefined);
    });
    server.listen(path, () => resolve(server));
  });
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
