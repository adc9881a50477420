/** Programs in a folder of the test replace the programs of a desktop. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { notifyDesktops } from "./desktop-notifier.ts";

const notice = { title: "Sign in; reboot", text: "$(reboot) `reboot`" };
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-desktop-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const program = (name: string, lines: string) =>
  writeFile(path.join(folder, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
/** Writes its bus and its arguments, one per line. */
const recording = (name: string) =>
  program(name, `{ echo "$DBUS_SESSION_BUS_ADDRESS"; printf '%s\\n' "$@"; } >> "${folder}/${name}.calls"`);
const calls = async (name: string) => {
  const text = await readFile(path.join(folder, `${name}.calls`), "utf8").catch(() => "");
  return text === "" ? [] : text.trimEnd().split("\n");
};
const sessions = (list: readonly object[]) =>
  program("loginctl", `cat <<'END'\n${JSON.stringify(list)}\nEND`.replace("cat", "/bin/cat"));
const notify = (ownUid = 0) => notifyDesktops(notice, { path: folder, ownUid });

const options = [
  "--app-name=Gatehouse",
  "--urgency=critical",
  "--icon=dialog-warning",
  "--",
  notice.title,
  notice.text,
];

test("shows the notice on the desktop of each person at a seat, as that person and without a shell", async () => {
  await sessions([
    { session: "2", uid: 1000, user: "ann", seat: "seat0" },
    { session: "3", uid: 1000, user: "ann", seat: "seat0" },
    { session: "4", uid: 1001, user: "bob", seat: "" },
    { session: "c1", uid: 117, user: "gdm", seat: "seat0" },
  ]);
  await recording("systemd-run");
  await recording("notify-send");
  await notify();
  const bus = "--setenv=DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus";
  expect(await calls("systemd-run")).toEqual([
    "",
    "--quiet",
    "--collect",
    "--uid=1000",
    bus,
    "notify-send",
    ...options,
  ]);
  expect(await calls("notify-send")).toEqual([]);
});

test("an agent that runs as the person asks the person's own bus", async () => {
  await sessions([{ session: "2", uid: 1000, user: "ann", seat: "seat0" }]);
  await recording("notify-send");
  await notify(1000);
  expect(await calls("notify-send")).toEqual(["unix:path=/run/user/1000/bus", ...options]);
});

test.each([
  ["no program exists", async () => undefined],
  ["loginctl fails", () => program("loginctl", "exit 1")],
  ["loginctl says something else", () => program("loginctl", "echo '{}'")],
  ["loginctl says no JSON", () => program("loginctl", "echo none")],
  [
    "the notice cannot be shown",
    async () => {
      await sessions([{ uid: 1000, seat: "seat0" }]);
      await program("systemd-run", "exit 1");
    },
  ],
  [
    "the sessions are strange",
    () =>
      sessions([
        { uid: "1000; reboot", seat: "seat0" },
        { uid: -1, seat: "seat0" },
      ]),
  ],
])("nothing fails if %s", async (_, prepare) => {
  await prepare();
  await expect(notify()).resolves.toBeUndefined();
});
