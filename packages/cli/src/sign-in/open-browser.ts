/** Opens the browser of this machine's user. */
import { spawn } from "node:child_process";

/** Whether a browser of this machine can show a page to the user. */
export function hasBrowser(environment: NodeJS.ProcessEnv = process.env, platform = process.platform): boolean {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = environment;
  if (isSet(BROWSER)) return true;
  // The screen is at the other end of the connection.
  if (isSet(SSH_CONNECTION)) return false;
  return platform === "darwin" || platform === "win32" || isSet(DISPLAY) || isSet(WAYLAND_DISPLAY);
}

/** Does nothing if no browser can be started: the address is also printed. */
export function openBrowser(url: string, environment: NodeJS.ProcessEnv = process.env): void {
  const [command, ...args] = openerOf(environment);
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true, shell: false });
  child.on("error", () => undefined);
  child.unref();
}

function openerOf({ BROWSER }: NodeJS.ProcessEnv): readonly [string, ...string[]] {
  if (BROWSER !== undefined && BROWSER !== "") return [BROWSER];
  if (process.platform === "darwin") return ["open"];
  // Without a shell, which would interpret the address.
  return process.platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}
