/** After a navigation, moves the focus to the title of the page, announces the title, and removes old errors. */
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { hideErrors } from "./notices.tsx";

export function RouteFocus() {
  const router = useRouter();
  const [announced, setAnnounced] = useState("");
  useEffect(() => {
    const observer = new MutationObserver(enterOnce);
    function enterOnce(): void {
      const main = document.getElementById("page");
      const title = main?.querySelector("h1");
      if (!(title instanceof HTMLElement)) return;
      observer.disconnect();
      // A dialog, such as the form of a new record, has its own focus, and so has a page with a field to start at.
      const { activeElement } = document;
      const isTaken = document.querySelector("[role=dialog]") !== null || activeElement?.closest("main form") != null;
      if (!isTaken) {
        title.tabIndex = -1;
        title.focus({ preventScroll: true });
      }
      // The title of the window ends with the name of the product, so it differs from the heading.
      setAnnounced(document.title);
    }
    const stop = router.subscribe("onRendered", ({ pathChanged, fromLocation }) => {
      if (!pathChanged || fromLocation === undefined) return;
      hideErrors();
      // A page whose code or record is still loading has no title yet.
      const main = document.getElementById("page");
      if (main !== null) observer.observe(main, { childList: true, subtree: true });
      enterOnce();
    });
    return () => {
      stop();
      observer.disconnect();
    };
  }, [router]);
  return (
    <div className="unseen" aria-live="polite">
      {announced}
    </div>
  );
}
