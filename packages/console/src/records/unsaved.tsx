/** Guards unsaved input against links, the Back button of the browser, and the end of the page. */
import { Button, Group } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import { createContext, useCallback, useContext, useEffect, useId, useState } from "react";
import { flushSync } from "react-dom";
import { Warning } from "../app/warning.tsx";
import { t } from "../messages/i18n.ts";

export interface Unsaved {
  /** Closes at once, or asks first if there is unsaved input. */
  readonly leave: () => void;
  /** Allows the next navigation, because the input was saved. */
  readonly release: () => void;
  /** Guards the input again, because saving failed. */
  readonly hold: () => void;
  /** Whether to show `DiscardNotice`. */
  readonly asks: boolean;
  readonly keep: () => void;
  readonly discard: () => void;
}

/** @param close ends editing; absent for input that belongs to a page */
export function useUnsaved(isChanged: boolean, close: () => void = () => undefined): Unsaved {
  const [asksToClose, setAsksToClose] = useState(false);
  const [isReleased, setReleased] = useState(false);
  const isGuarded = isChanged && !isReleased;
  const blocker = useBlocker({
    shouldBlockFn: () => isGuarded,
    enableBeforeUnload: isGuarded,
    // While a blocker exists, navigations complete later, and the last of several wins.
    disabled: !isGuarded,
    withResolver: true,
  });
  const isBlocked = blocker.status === "blocked";
  // The navigation that follows must not find the blocker.
  const release = () => flushSync(() => setReleased(true));
  return {
    leave: () => {
      if (isGuarded) setAsksToClose(true);
      else close();
    },
    release,
    hold: () => setReleased(false),
    asks: isBlocked || asksToClose,
    keep: () => {
      setAsksToClose(false);
      if (isBlocked) blocker.reset();
    },
    discard: () => {
      setAsksToClose(false);
      if (isBlocked) blocker.proceed();
      else {
        release();
        close();
      }
    },
  };
}

type ReportPending = (id: string, isPending: boolean) => void;

const PendingTexts = createContext<ReportPending>(() => undefined);

/** Guards the text of a field that is not part of the form's values yet, such as a time that is still being typed. */
export function usePendingText(isPending: boolean): void {
  const id = useId();
  const report = useContext(PendingTexts);
  useEffect(() => {
    if (!isPending) return;
    report(id, true);
    return () => report(id, false);
  }, [id, isPending, report]);
}

/** Whether fields of a form have such text. The form renders its fields inside `PendingTextsProvider`. */
export function usePendingTexts(): readonly [hasPending: boolean, report: ReportPending] {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const report = useCallback<ReportPending>((id, isPending) => {
    setIds((before) => new Set([...before].filter((other) => other !== id).concat(isPending ? [id] : [])));
  }, []);
  return [ids.size > 0, report];
}

export const PendingTextsProvider = PendingTexts.Provider;

export function DiscardNotice({ unsaved: { asks, keep, discard } }: { readonly unsaved: Unsaved }) {
  if (!asks) return null;
  return (
    <Warning title={t("records.form.discardTitle")} role="alert">
      <Group>
        <Button size="xs" variant="default" onClick={keep}>
          {t("records.form.keepEditing")}
        </Button>
        <Button size="xs" color="red" onClick={discard}>
          {t("records.form.discard")}
        </Button>
      </Group>
    </Warning>
  );
}
