import { systemClock } from "@gatehouse/agent-core/clock";
import { generatedKeys } from "@gatehouse/agent-core/testing/generated-keys";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { FakeControlPlane } from "../testing/fake-control-plane.ts";
import { DeviceLink } from "./device-link.ts";
import { OpenQuestions } from "./open-questions.ts";

let controlPlane: FakeControlPlane;
let link: DeviceLink;
let token: string;

beforeEach(async () => {
  controlPlane = new FakeControlPlane();
  const url = await controlPlane.listen();
  token = controlPlane.token;
  link = new DeviceLink({
    url,
    token: async () => token,
    device: controlPlane.device,
    agent: {
      applyConfiguration: () => Promise.reject(new Error("not to be called")),
      trust: async () => undefined,
      report: async () => [],
    },
    state: { trust: undefined, used: undefined },
    keys: generatedKeys(),
    agentVersion: "1",
    clock: systemClock,
    log: () => undefined,
    random: () => 0,
  });
});
afterEach(async () => {
  link.stop();
  await controlPlane.close();
});

const opened = async () => {
  link.start();
  await vi.waitUntil(() => link.isOpen, { timeout: waitLimitMs });
};

test.each([3, 4])("asks a control plane of version %i, and gets the answer to its own question", async (version) => {
  controlPlane.version = version;
  const reasons = [{ kind: "denied", text: "Your organisation blocks it." }];
  controlPlane.access = { outcome: "blocked", reasons };
  expect(await link.ask("Git")).toBeUndefined();
  await opened();
  const answers = await Promise.all([link.ask("Git"), link.ask("10.80.0.7")]);
  expect(answers).toMatchObject([{ number: 1, outcome: "blocked", reasons }, { number: 2 }]);
  expect(controlPlane.questions.map(({ to }) => to)).toEqual(["Git", "10.80.0.7"]);
});

test("sends no question to a control plane that does not know questions", async () => {
  controlPlane.version = 2;
  await opened();
  expect(await link.ask("Git")).toBeUndefined();
  expect(controlPlane.questions).toEqual([]);
});

test("does not wait for ever", async () => {
  const clock = new StoppedClock();
  const questions = new OpenQuestions(clock);
  const sent: number[] = [];
  const asked = questions.ask((number) => void sent.push(number));
  questions.answered({ type: "answer", number: 99, outcome: "failed", reasons: [] });
  clock.pass(5_000);
  expect(await asked).toBeUndefined();
  expect([sent, clock.waiting]).toEqual([[1], 0]);
});

test("knows that the control plane rejects the token, until it accepts one", async () => {
  token = "another";
  link.start();
  await vi.waitUntil(() => link.rejection !== undefined, { timeout: waitLimitMs });
  expect(link.rejection).toContain("Enrol it again.");
  token = controlPlane.token;
  await vi.waitUntil(() => link.isOpen, { timeout: waitLimitMs });
  expect(link.rejection).toBeUndefined();
});
