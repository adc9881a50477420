/**
 * Shows notices on the desktops of people who are signed in at this machine, with the program notify-send. The agent
 * never becomes another user itself: it has no right to. systemd starts the program as that user.
 */
import { execFile } from "node:child_process";
import type { SessionNotice } from "./session-watch.ts";

const timeoutMs = 10_000;
const longestOutput = 64 * 1024;
/** The most desktops on which a notice is shown. */
const mostDesktops = 8;

export interface DesktopNotifierOptions {
  /** Folders of programs, as in `PATH`. */
  readonly path: string;
  /** The user id of the agent. */
  readonly ownUid: number;
}

/** Never rejects: without a desktop, without the programs or without an answer, nothing is shown. */
export async function notifyDesktops(
  { title, text }: SessionNotice,
  { path, ownUid }: DesktopNotifierOptions,
): Promise<void> {
  const options = ["--app-name=Gatehouse", "--urgency=critical", "--icon=dialog-warning", "--", title, text];
  const found = await desktopUsers(path).catch((): readonly number[] => []);
  await Promise.allSettled(
    found.slice(0, mostDesktops).map((uid) => {
      const bus = `unix:path=/run/user/${uid}/bus`;
      if (uid === ownUid) return run("notify-send", options, path, { DBUS_SESSION_BUS_ADDRESS: bus });
      const asUser = ["--quiet", "--collect", `--uid=${uid}`, `--setenv=DBUS_SESSION_BUS_ADDRESS=${bus}`];
      return run("systemd-run", [...asUser, "notify-send", ...options], path);
    }),
  );
}

/** Returns the users with a session at a seat, apart from the display manager. */
async function desktopUsers(path: string): Promise<readonly number[]> {
  const sessions: unknown = JSON.parse(await run("loginctl", ["list-sessions", "--output=json"], path));
  if (!Array.isArray(sessions)) return [];
  const uids = sessions.flatMap((session: unknown) => {
    const { uid, seat, class: kind } = Object(session) as Record<string, unknown>;
    const isAtSeat = typeof seat === "string" && seat !== "" && kind !== "greeter";
    return isAtSeat && typeof uid === "number" && Number.isSafeInteger(uid) && isPerson(uid) ? [uid] : [];
  });
  return [...new Set(uids)];
}

/** User ids below 1000 belong to the system, such as the display manager. root can sign in too. */
function isPerson(uid: number): boolean {
  return uid === 0 || uid >= 1000;
}

function run(
  program: string,
  args: readonly string[],
  path: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...more, PATH: path, LC_ALL: "C" }, timeout: timeoutMs, maxBuffer: longestOutput };
    const child = execFile(program, [...args], options, (error, output) => {
      if (error === null) resolve(output);
      else reject(error);
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end();
  });
}
