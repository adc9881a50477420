/**
 * Holds the page still behind a dialog. The component library does so with a style sheet and an inherited property, for
 * which the browser computes the style of every element of the page again.
 */
import { useLayoutEffect } from "react";

/** Number of open dialogs. */
let locks = 0;

export function useScrollLock(): void {
  useLayoutEffect(() => {
    const { documentElement: root } = document;
    locks += 1;
    if (locks === 1) {
      // The space of the scrollbar stays, so that nothing moves.
      if (window.innerWidth > root.clientWidth) root.style.scrollbarGutter = "stable";
      root.style.overflow = "hidden";
    }
    return () => {
      locks -= 1;
      if (locks > 0) return;
      root.style.overflow = "";
      root.style.scrollbarGutter = "";
    };
  }, []);
}
