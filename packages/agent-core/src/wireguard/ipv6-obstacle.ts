/** Whether an interface can have IPv6 addresses. */
import { join } from "node:path";
import { readIfExists } from "../state/private-file.ts";

/**
 * Returns why the interface cannot have IPv6 addresses, for people; undefined: it can. The kernel evaluates the setting
 * of the interface alone. The setting of all interfaces is copied to each of them when it is written, not later.
 *
 * @param name an interface. Until it exists, the setting of new interfaces applies
 * @param root the folder of the kernel's settings, for tests
 */
export async function ipv6Obstacle(name: string, root = "/proc/sys"): Promise<string | undefined> {
  const isDisabled = async (which: string) => {
    const text = await readIfExists(join(root, "net/ipv6/conf", which, "disable_ipv6"));
    return text === undefined ? undefined : text.trim() === "1";
  };
  const ofAll = await isDisabled("all");
  if (ofAll === undefined) return "The kernel of this machine does not support IPv6.";
  const ofInterface = await isDisabled(name);
  const applies = ofInterface === undefined ? "default" : name;
  if ((ofInterface ?? (await isDisabled("default"))) !== true) return undefined;
  const settings = ofAll ? ["all", applies] : [applies];
  const commands = settings.map((which) => `net.ipv6.conf.${which}.disable_ipv6=0`).join(" ");
  return `IPv6 is disabled on this machine. To enable it, run: sysctl -w ${commands}`;
}
