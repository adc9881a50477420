/**
 * Loads the sign-in page or the console. A visitor without a session loads neither the component library nor the
 * router.
 */
import "./app/tokens.css";
import "./app/entrance/entrance.css";
import { GatehouseError } from "@gatehouse/client/errors";
import { StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { enrolPath, signedInPath } from "./app/entrance/entrance-paths.ts";
import { SignInPage } from "./app/entrance/sign-in-page.tsx";
import { SignedInPage } from "./app/entrance/signed-in-page.tsx";
import { readSession, type Session } from "./app/session-requests.ts";

/** Set while a session is expected, so that the console loads without waiting for the answer about it. */
const expectedKey = "gatehouse.session-expected";

const loadConsole = () => import("./console-entry.tsx");

/** The component library keeps the chosen theme under this name, and follows the system otherwise. */
function applyTheme(): void {
  const chosen = localStorage.getItem("mantine-color-scheme-value");
  const isDark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.mantineColorScheme = isDark ? "dark" : "light";
}

/** The session; null if nobody is signed in; undefined if the console has to find out. */
async function findSession(): Promise<Session | null | undefined> {
  try {
    return await readSession();
  } catch (error) {
    return error instanceof GatehouseError && error.status === 401 ? null : undefined;
  }
}

async function openConsole(root: Root, session: Session | null | undefined): Promise<void> {
  const { renderConsole } = await loadConsole();
  if (session) localStorage.setItem(expectedKey, "1");
  renderConsole(root, session);
}

function renderSignedIn(root: Root): void {
  root.render(
    <StrictMode>
      <SignedInPage />
    </StrictMode>,
  );
}

async function start(root: Root): Promise<void> {
  applyTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  const { pathname } = globalThis.location;
  const isEnrolling = pathname === enrolPath;
  const isReturning = pathname === signedInPath;
  const prepare = () => {
    // A failure is reported below, where the console is needed.
    if (!isReturning) loadConsole().catch(() => undefined);
  };
  if (isEnrolling || localStorage.getItem(expectedKey) !== null) prepare();
  const session = await findSession();
  if (session && isReturning) {
    renderSignedIn(root);
    return;
  }
  if (session !== null || isEnrolling) {
    // The console has no page for the end of a sign-in.
    if (isReturning) history.replaceState(null, "", "/console/");
    await openConsole(root, session);
    return;
  }
  localStorage.removeItem(expectedKey);
  const done = (found: Session) => (isReturning ? renderSignedIn(root) : openConsole(root, found));
  root.render(
    <StrictMode>
      <SignInPage done={done} prepare={prepare} />
    </StrictMode>,
  );
}

const container = document.getElementById("console");
if (container === null) throw new Error("the page has no element for the console");
await start(createRoot(container));
