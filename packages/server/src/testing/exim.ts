/** Debian's SMTP server, exim4, with its own configuration and spool, on a loopback port, without privileges. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { until } from "./until.ts";

const program = "/usr/sbin/exim4";

/** Why the tests cannot run; undefined if they can. */
export const eximProblem = existsSync(program) ? undefined : "exim4-daemon-light is not installed";

/** A mailbox whose mail the server refuses for good, and one for which it asks to try again later. */
export const refusedMailbox = "refused";
export const deferredMailbox = "later";

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Root runs the server as nobody, because exim never delivers as root. */
function account(): Account {
  const { username, uid, gid } = userInfo();
  if (uid !== 0) return { name: username, uid, gid };
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { name: "nobody", uid: id("-u"), gid: id("-g") };
}

export class Exim {
  readonly #folder = mkdtempSync(join(tmpdir(), "gatehouse-exim-"));
  readonly #account = account();
  #process: ChildProcess | undefined;
  port = 0;

  /** Starts the server, on the same port if it ran before. */
  async start(): Promise<void> {
    const { uid, gid } = this.#account;
    if (this.port === 0) {
      this.port = await freePort();
      for (const folder of ["", "spool", "log", "mail"]) {
        mkdirSync(join(this.#folder, folder), { recursive: true });
        chownSync(join(this.#folder, folder), uid, gid);
      }
      writeFileSync(join(this.#folder, "exim.conf"), this.#configuration(), { mode: 0o644 });
    }
    const started = spawn(program, ["-C", join(this.#folder, "exim.conf"), "-bdf"], { uid, gid, stdio: "ignore" });
    this.#process = started;
    await until("the SMTP server answers", () => answers(this.port));
  }

  async stop(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const exit = once(running, "exit");
    running.kill("SIGTERM");
    await exit;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The mail to a mailbox as it was delivered; empty if there is none. */
  mailbox(name: string): string {
    // Exim refuses file names that senders choose, so all mail is in one file.
    const file = join(this.#folder, "mail", "all");
    const messages = existsSync(file) ? readFileSync(file, "utf8").split(/^From /m) : [];
    return messages.find((message) => message.includes(`Envelope-to: ${name}@example.com`)) ?? "";
  }

  #configuration(): string {
    const { name, gid } = this.#account;
    const folder = this.#folder;
    return `
exim_user = ${name}
exim_group = ${gid}
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path = ${folder}/exim.pid
primary_hostname = mail.example.com
domainlist local_domains = example.com
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${this.port}
tls_advertise_hosts =
never_users =
deliver_drop_privilege = true
host_lookup =
acl_smtp_rcpt = check_recipient
acl_smtp_data = accept
begin acl
check_recipient:
  deny local_parts = ^${refusedMailbox}
       message = no mailbox of this name
  defer local_parts = ^${deferredMailbox}
        message = try again later
  accept domains = example.com
  deny message = relay not permitted
begin routers
all:
  driver = accept
  transport = folder
begin transports
folder:
  driver = appendfile
  file = ${folder}/mail/all
  envelope_to_add = true
  user = ${name}
  group = ${gid}
`;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    const [greeting] = (await once(socket, "data")) as [Buffer]; // sockets without an encoding give buffers
    return greeting.toString().startsWith("220");
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
