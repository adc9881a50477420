/** The place where notices appear. Its code is loaded with the first notice, or when a person begins to act. */
import { notificationsStore, updateNotificationsState } from "@mantine/notifications";
import { useEffect } from "react";
import { deferred } from "./deferred.tsx";

const load = async () => (await import("./notices-container.tsx")).NoticesContainer;

const isShown = () => {
  const { notifications, queue } = notificationsStore.getState();
  return notifications.length + queue.length > 0;
};

const Container = deferred({ subscribe: (listener) => notificationsStore.subscribe(listener), isOpen: isShown }, load);

/** Removes the notices of errors, which are about the page that showed them. */
export function hideErrors(): void {
  updateNotificationsState(notificationsStore, (shown) => shown.filter(({ color }) => color !== "red"));
}

export function Notices() {
  useEffect(() => {
    // Notices follow actions. A notice about an unreachable server could not load its own code.
    const prepare = () => {
      stop();
      load().catch(() => undefined);
    };
    const stop = () => {
      for (const event of events) globalThis.removeEventListener(event, prepare, true);
    };
    for (const event of events) globalThis.addEventListener(event, prepare, true);
    return stop;
  }, []);
  return <Container />;
}

const events = ["pointerdown", "keydown"] as const;
