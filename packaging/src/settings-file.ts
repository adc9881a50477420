/** `/etc/gatehouse/gatehouse.conf`: every setting of the server with its description. */
import { type SettingName, settingNames, settings, variableOf } from "@gatehouse/server/config";
import { wrapText } from "./wrap-text.ts";

/** Settings that the package changes. */
const packageValues: Partial<Record<SettingName, string>> = { dataDir: "/var/lib/gatehouse" };

const head = `# Settings of the Gatehouse server. After a change: systemctl restart gatehouse
#
# One setting on a line, as NAME=value. Put quotes around a value with a space or #.
# gatehouse doctor checks the settings and what they refer to.
# This file can contain secrets: keep it readable by root only.
`;

export function settingsFile(): string {
  const shown = settingNames.filter((name) => name !== "demo");
  return [head, ...shown.map(settingText)].join("\n");
}

function settingText(name: SettingName): string {
  const { description, default: fallback } = settings[name];
  const comment = wrapText(description, 76).map((line) => `# ${line}\n`);
  const value = packageValues[name];
  const line = value === undefined ? `#${variableOf(name)}=${fallback ?? ""}` : `${variableOf(name)}=${value}`;
  return `${comment.join("")}${line}\n`;
}
