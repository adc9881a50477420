import { expect, test } from "vitest";
import { inputFile, ProgramFailure, systemPrograms } from "./program-runner.ts";

test("the runner of programs says which package has a missing program", async () => {
  const run = systemPrograms.read("conntrack-that-nobody-has", []);
  await expect(run).rejects.toMatchObject({ isMissing: true, message: expect.stringContaining("not installed") });
  await expect(systemPrograms.read("ip", ["no-such-object"])).rejects.toMatchObject({ isMissing: false });
});

test("a program with a longer argument than the kernel permits fails by name, in a short message", async () => {
  const args = ["link", "show", "x".repeat(200_000)];
  for (const run of [() => systemPrograms.read("ip", args), () => systemPrograms.start("ip", args, {})]) {
    const error = await run().catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ProgramFailure);
    const { message } = error as ProgramFailure;
    expect(message).toMatch(/^ip link show x+…: spawn E2BIG$/);
    expect(message.length).toBeLessThan(300);
  }
});

test("a program reads its input as a file, completely, and its failure has its own name", async () => {
  const text = `${"10.0.0.0/8\n".repeat(200_000)}end\n`;
  expect(await systemPrograms.read("cat", [inputFile], text)).toBe(text);
  await expect(systemPrograms.read("cat", [inputFile, "/no such file"], text)).rejects.toMatchObject({
    name: "ProgramFailure",
    message: expect.stringMatching(/^cat \/dev\/stdin \/no such file: .*No such file or directory/),
  });
});
