/**
 * Serves the apt repository of this version's agents at `/apt/`, and at `/install/` the scripts that set it up on a
 * machine (docs/decisions/0136-packages-from-the-server.md).
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { addressGroup } from "../platform/rate-limits/address-group.ts";
import { clientAddress } from "./client-address.ts";
import { onceClosed } from "./client-disconnect.ts";
import { deviceScript, gatewayScript, missingAgentsScript } from "./install-scripts.ts";

/**
 * The most responses over HTTP/2 that an address can have open. Each keeps a file open, even if its client does not
 * read. Over HTTP/1.1, which apt uses, a connection has one response at a time.
 */
const maxOpenFiles = 32;

interface AgentPackages {
  /** The folder with the repository; undefined, or a folder without one, if it is absent. */
  readonly folder: string | undefined;
  readonly publicUrl: () => string;
}

/** The files of a repository, so that nothing else in the folder is served. */
const repositoryFile =
  /^\/(gatehouse\.asc|dists\/stable\/InRelease|dists\/stable\/main\/binary-[a-z0-9]+\/Packages(\.gz)?|pool\/main\/[\w+~-][\w.+~-]*\.deb)$/;

const scripts = { gateway: gatewayScript, device: deviceScript } as const;

/** Returns whether the server has packages. */
export function mountAgentPackages(app: FastifyInstance, { folder, publicUrl }: AgentPackages): boolean {
  const repository = folder === undefined ? undefined : readRepository(folder);
  for (const name of ["gateway", "device"] as const) {
    app.get(`/install/${name}`, (_request, reply) =>
      reply
        .header("Content-Type", "text/x-shellscript; charset=utf-8")
        .header("Cache-Control", "no-store")
        // A script, so that the reason appears where the script would have run.
        .send(repository === undefined ? missingAgentsScript : scripts[name]({ url: publicUrl(), ...repository })),
    );
  }
  if (folder === undefined || repository === undefined) return false;
  void app.register(async (scope) => {
    limitOpenFiles(scope);
    await scope.register(fastifyStatic, {
      root: folder,
      prefix: "/apt/",
      decorateReply: false,
      index: false,
      redirect: false,
      cacheControl: false,
      allowedPath: (file) => repositoryFile.test(file),
      setHeaders: (reply) => {
        reply.setHeader("X-Content-Type-Options", "nosniff");
        // An upgrade of the server replaces all files at once.
        reply.setHeader("Cache-Control", "no-cache");
      },
    });
  });
  return true;
}

function limitOpenFiles(app: FastifyInstance): void {
  const open = new Map<string, number>();
  app.addHook("onRequest", (request, reply, done) => {
    if (request.raw.httpVersionMajor < 2) return done();
    const address = addressGroup(clientAddress(request));
    const count = (open.get(address) ?? 0) + 1;
    if (count > maxOpenFiles) {
      const detail = `Your address is already reading ${maxOpenFiles} files over HTTP/2.`;
      return done(new AppError("rate_limited", { detail, retryAfterSeconds: 5 }));
    }
    open.set(address, count);
    onceClosed(reply, () => {
      const rest = (open.get(address) ?? 1) - 1;
      if (rest === 0) open.delete(address);
      else open.set(address, rest);
    });
    done();
  });
}

interface Repository {
  /** The key that signs the repository, in OpenPGP's armour. */
  readonly signingKey: string;
  /** Debian's names of the architectures that the repository has. */
  readonly architectures: readonly string[];
}

function readRepository(folder: string): Repository | undefined {
  const keyFile = path.join(folder, "gatehouse.asc");
  const releaseFile = path.join(folder, "dists/stable/InRelease");
  if (!existsSync(keyFile) || !existsSync(releaseFile)) return undefined;
  const [, listed = ""] = /^Architectures: ([a-z0-9 ]+)$/m.exec(readFileSync(releaseFile, "utf8")) ?? [];
  return { signingKey: readFileSync(keyFile, "utf8"), architectures: listed.split(" ") };
}
