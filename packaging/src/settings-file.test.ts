import { readConfig, settingNames, variableOf } from "@gatehouse/server/config";
import { expect, test } from "vitest";
import { settingsFile } from "./settings-file.ts";

const lines = settingsFile().split("\n");

test("the settings file names every setting except the demo, with its default", () => {
  const named = lines.flatMap((line) => /^#?(GATEHOUSE_[A-Z_]+)=/.exec(line)?.[1] ?? []);
  expect(named).toEqual(settingNames.filter((name) => name !== "demo").map(variableOf));
});

test("the server accepts the file, also with its defaults enabled", () => {
  const environment = (text: string) =>
    Object.fromEntries(
      text.split("\n").flatMap((line) => {
        const [, name, value] = /^(GATEHOUSE_[A-Z_]+)=(.*)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, value]];
      }),
    );
  const asInstalled = readConfig({ flags: {}, environment: environment(settingsFile()) });
  const enabled = readConfig({ flags: {}, environment: environment(lines.join("\n").replaceAll(/^#(?=GATE)/gm, "")) });
  expect(enabled).toEqual(asInstalled);
  expect(asInstalled.dataDir).toBe("/var/lib/gatehouse");
});
