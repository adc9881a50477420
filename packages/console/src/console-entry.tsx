/** Renders the console itself: everything behind the sign-in page. */
import "./app/library-styles.ts";
import "./app/console-styles.ts";
import { StrictMode } from "react";
import type { Root } from "react-dom/client";
import { Console } from "./app/console.tsx";
import type { Session } from "./app/session-requests.ts";
import { pageSets } from "./pages/all.ts";

/**
 * The nonce for styles that scripts create. The library that locks scrolling behind dialogs reads it from this
 * variable.
 */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
Object.assign(globalThis, { __webpack_nonce__: nonce });

/** @param session null if nobody is signed in; undefined if that is unknown */
export function renderConsole(root: Root, session: Session | null | undefined): void {
  root.render(
    <StrictMode>
      <Console nonce={nonce} pageSets={pageSets} session={session} />
    </StrictMode>,
  );
}
