/** Components that are rarely needed: their code is loaded when they open. */
import { type ComponentType, useEffect, useState, useSyncExternalStore } from "react";

const retryMs = 3_000;

/** Whether something asks for the component. */
interface OpenState {
  readonly subscribe: (listener: () => void) => () => void;
  readonly isOpen: () => boolean;
}

/** @param load the component, which then opens and closes by itself */
export function deferred<Props extends object>(state: OpenState, load: () => Promise<ComponentType<Props>>) {
  return function Deferred(props: Props) {
    const opened = useSyncExternalStore(state.subscribe, state.isOpen);
    const [loaded, setLoaded] = useState<{ readonly Content: ComponentType<Props> }>();
    const [attempt, setAttempt] = useState(0);
    // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt loads
    useEffect(() => {
      if (!opened || loaded !== undefined) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let isCurrent = true;
      load().then(
        (Content) => isCurrent && setLoaded({ Content }),
        () => {
          // Requests wait for the dialog, so it must appear once the server answers.
          if (isCurrent) timer = setTimeout(() => setAttempt((now) => now + 1), retryMs);
        },
      );
      return () => {
        isCurrent = false;
        clearTimeout(timer);
      };
    }, [opened, loaded, attempt]);
    return loaded === undefined ? null : <loaded.Content {...props} />;
  };
}
