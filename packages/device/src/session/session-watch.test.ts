import { formatLogLine } from "@gatehouse/agent-core/log";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { expect, test } from "vitest";
import { type SessionNotice, SessionWatch } from "./session-watch.ts";

const minuteMs = 60_000;

function watching() {
  const clock = new StoppedClock();
  const log: string[] = [];
  const notices: SessionNotice[] = [];
  const watch = new SessionWatch({
    notify: async (notice) => void notices.push(notice),
    clock,
    log: (message, fields) => void log.push(formatLogLine(message, fields)),
  });
  /** Passes time as timers do: many short waits. */
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= 30_000) clock.pass(Math.min(left, 30_000));
  };
  return { clock, log, notices, watch, pass };
}

test("warns once, ten minutes before the end, and logs the end", () => {
  const { clock, log, notices, watch, pass } = watching();
  const sessionEndsAt = clock.now() + 60 * minuteMs;
  watch.follow({ sessionEndsAt });
  pass(50 * minuteMs - 1);
  expect(notices).toEqual([]);
  pass(1);
  expect(notices).toEqual([
    {
      title: "Gatehouse: sign in again within 10 minutes",
      text: "The session of this device is about to end. Sign in again: sudo gatehouse-device sign-in",
    },
  ]);
  const endsAt = new Date(sessionEndsAt).toISOString();
  expect(log).toEqual([
    `session of this device ends soon endsAt=${endsAt} minutes=10 remedy="Sign in again: sudo gatehouse-device sign-in"`,
  ]);
  watch.follow({ sessionEndsAt });
  pass(10 * minuteMs);
  watch.follow({ sessionEndsAt });
  expect(notices).toHaveLength(1);
  expect(log.slice(1)).toEqual([expect.stringContaining(`session of this device has ended endsAt=${endsAt}`)]);
  expect(clock.waiting).toBe(0);
});

test("a renewal in time prevents the warning, and the next session gets its own", () => {
  const { clock, notices, watch, pass } = watching();
  watch.follow({ sessionEndsAt: clock.now() + 15 * minuteMs });
  pass(4 * minuteMs);
  watch.follow({ sessionEndsAt: clock.now() + 60 * minuteMs });
  pass(49 * minuteMs);
  expect(notices).toEqual([]);
  pass(minuteMs);
  expect(notices).toHaveLength(1);
  watch.follow({ sessionEndsAt: clock.now() + 60 * minuteMs });
  pass(55 * minuteMs);
  expect(notices).toHaveLength(2);
});

test("an agent that starts shortly before the end warns at once, in whole minutes", () => {
  const { clock, notices, watch } = watching();
  watch.follow({ sessionEndsAt: clock.now() + 40_000 });
  expect(notices[0]?.title).toBe("Gatehouse: sign in again within 1 minute");
});

test("warns soon after the machine slept, although timers were late", () => {
  const { clock, notices, watch } = watching();
  watch.follow({ sessionEndsAt: clock.now() + 60 * minuteMs });
  clock.setMs = 55 * minuteMs;
  clock.pass(30_000);
  expect(notices).toHaveLength(1);
});

test("neither devices without sessions nor stopped agents wait for anything", () => {
  const { clock, log, watch } = watching();
  watch.follow({});
  watch.follow(undefined);
  expect(clock.waiting).toBe(0);
  watch.follow({ sessionEndsAt: clock.now() + minuteMs * 60 });
  watch.stop();
  expect([clock.waiting, log]).toEqual([0, []]);
});
