import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type ListeningServer, startListeningServer } from "./listening-server.ts";

let server: ListeningServer;

beforeAll(async () => {
  server = await startListeningServer();
});
afterAll(() => server.close());
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const read = (path: string) => readFile(new URL(path, import.meta.url), "utf8");

test("the example of the client's README runs and prints the documented output", async () => {
  const readme = await read("../../packages/client/README.md");
  expect(readme).toContain(`\`\`\`ts\n${await read("client-example.ts")}\`\`\`\n`);
  const { apiKey } = await server.newTenant();
  vi.stubEnv("GATEHOUSE_URL", server.url);
  vi.stubEnv("GATEHOUSE_API_KEY", apiKey);
  const log = vi.spyOn(console, "log").mockReturnValue();
  await import("./client-example.ts");
  const printed = log.mock.calls.map((words) => `${words.join(" ")}\n`).join("");
  expect(readme).toContain(`\`\`\`text\n${printed}\`\`\`\n`);
});
