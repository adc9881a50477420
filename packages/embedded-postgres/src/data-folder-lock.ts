import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { DataFolderInUseError, systemErrorCode, withFileRemedy } from "./embedded-postgres-error.ts";
import { chooseSocketDirectory, makeSocketDirectory } from "./socket-directory.ts";

/*
 * One Gatehouse per data folder. Node has no file locks, so each start creates a claim: a listening unix socket with a
 * unique name in <data>/lock. The kernel closes the socket with the process. A claim whose socket refuses connections
 * is therefore dead, and any process can delete it, because names are never reused. Process ids are only displayed,
 * never trusted.
 *
 * Each start publishes its claim before it reads the others', so of two starts at least one sees the other. Between two
 * undecided claims, the one whose name sorts first waits for the other, and the other gives up.
 */

export interface DataFolderLock {
  release(): Promise<void>;
}

/** "leaving": the claim hung up without a response, because it is being withdrawn. */
type ClaimState = "undecided" | "holder" | "leaving" | "dead";

interface Claim {
  readonly name: string;
  state: "undecided" | "holder";
  withdraw(): Promise<void>;
}

const claimName = /^(\d+)-[0-9a-f]{12}$/;
const longestClaimName = "4194304-0123456789ab.new";
const answerTimeoutMs = 2_000;
/** Other starts decide within milliseconds. A start that takes longer will not release its claim. */
const decisionTimeoutMs = 10_000;
const pollMs = 20;

/**
 * Locks the data folder for this process. The lock ends with `release` or with the process, even if the process is
 * killed.
 *
 * @param dataDir absolute, without symbolic links
 * @throws DataFolderInUseError that names the process that already holds the folder
 */
export async function lockDataFolder(dataDir: string): Promise<DataFolderLock> {
  const claims = await withFileRemedy("lock the data folder", dataDir, () => openClaimsFolder(dataDir));
  try {
    const claim = await withFileRemedy("lock the data folder", dataDir, () => putUpClaim(claims.path));
    try {
      await becomeHolder(claim, claims.path, dataDir);
    } catch (error) {
      await claim.withdraw();
      throw error;
    }
    const release = async () => {
      await claim.withdraw();
      await claims.close();
    };
    let released: Promise<void> | undefined;
    return { release: () => (released ??= release()) };
  } catch (error) {
    await claims.close();
    throw error;
  }
}

async function becomeHolder(own: Claim, folder: string, dataDir: string): Promise<void> {
  const deadline = performance.now() + decisionTimeoutMs;
  for (;;) {
    let waiting = false;
    for (const name of await readdir(folder)) {
      const pid = claimName.exec(name)?.[1];
      if (pid === undefined || name === own.name) continue;
      const state = await askClaim(join(folder, name));
      if (state === "dead") await rm(join(folder, name), { force: true });
      else if (state === "holder" || performance.now() > deadline) throw alreadyInUse(dataDir, pid);
      else if (state === "undecided" && own.name > name) throw alreadyInUse(dataDir, pid);
      else waiting = true;
    }
    if (!waiting) break;
    await pause(pollMs);
  }
  own.state = "holder";
}

function alreadyInUse(dataDir: string, pid: string): DataFolderInUseError {
  return new DataFolderInUseError(
    `The data folder ${dataDir} is in use by another Gatehouse, process ${pid}.`,
    `Stop it first (kill ${pid}), or set GATEHOUSE_DATA_DIR to another folder.`,
  );
}

async function putUpClaim(folder: string): Promise<Claim> {
  const name = `${process.pid}-${randomBytes(6).toString("hex")}`;
  const path = join(folder, name);
  const server = createServer((socket) => {
    socket.on("error", () => {}); // a client may disconnect before the response
    socket.write(claim.state);
    socket.destroySoon(); // a client that never closes its end must not delay the release
  });
  const claim: Claim = {
    name,
    state: "undecided",
    withdraw: async () => {
      await rm(path, { force: true });
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  // A socket that is bound but does not listen yet looks dead. The socket is renamed to its final name once it listens.
  await listen(server, `${path}.new`);
  server.unref();
  try {
    await rename(`${path}.new`, path);
  } catch (error) {
    await claim.withdraw();
    throw error;
  }
  return claim;
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, backlog: 16 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function askClaim(path: string): Promise<ClaimState> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = createConnection(path);
    socket.setEncoding("utf8");
    // The process accepts but does not respond. A stopped or busy process still holds its claim.
    socket.setTimeout(answerTimeoutMs, () => {
      resolve("holder");
      socket.destroy();
    });
    socket.on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", (error) => {
      const code = systemErrorCode(error);
      if (code === "ECONNREFUSED" || code === "ENOENT") resolve("dead");
      else if (code !== "ECONNRESET" && code !== "EPIPE") resolve("holder"); // such as EAGAIN: too many clients
    });
    socket.on("close", () => resolve(answer === "undecided" || answer === "holder" ? answer : "leaving"));
  });
}

interface ClaimsFolder {
  /** A path that is short enough to bind sockets in. */
  readonly path: string;
  close(): Promise<void>;
}

/**
 * Opens the folder of the claims. On Linux, a folder can be named by its open descriptor, regardless of the length of
 * its path.
 */
async function openClaimsFolder(dataDir: string): Promise<ClaimsFolder> {
  if (process.platform !== "linux") {
    const short = chooseSocketDirectory(dataDir, "lock", longestClaimName);
    await makeSocketDirectory(short, undefined);
    return { path: short, close: async () => {} };
  }
  const folder = join(dataDir, "lock");
  // Not recursive: Node's recursive mkdir never ends if the data folder does not permit folders, such as /proc.
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (systemErrorCode(error) !== "EEXIST") throw error;
  });
  const handle: FileHandle = await open(folder, "r");
  return { path: `/proc/self/fd/${handle.fd}`, close: () => handle.close() };
}
