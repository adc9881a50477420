/**
 * The sign-in page. It is what a visitor without a session loads, so it uses neither the component library nor the
 * router, and reads its texts from the catalogue directly.
 */
import { useEffect } from "react";
import { app } from "../../messages/en/app.ts";
import iconUrl from "../icon.svg";
import type { Session } from "../session-requests.ts";
import { SignInWays } from "./sign-in-ways.tsx";

interface SignInPageProps {
  /** Opens the console. The page stays until it is loaded. */
  readonly done: (session: Session) => void | Promise<void>;
  /** Loads the console while the person signs in. */
  readonly prepare?: () => void;
}

export function SignInPage({ done, prepare }: SignInPageProps) {
  useEffect(() => {
    document.title = app.session.title;
  }, []);
  return (
    <main className="entrance" onFocus={prepare} onPointerDown={prepare}>
      <div className="entrance-panel">
        <img src={iconUrl} alt="" width={48} height={48} />
        <div>
          <h1>{app.session.title}</h1>
          <p className="entrance-quiet">{app.session.text}</p>
        </div>
        <SignInWays done={done} />
      </div>
    </main>
  );
}
