/** The end of a sign-in at a provider in its own tab. The tab that opened it continues by itself. */
import { useEffect } from "react";
import { app } from "../../messages/en/app.ts";
import { signIn as texts } from "../../messages/en/sign-in.ts";
import iconUrl from "../icon.svg";

export function SignedInPage() {
  useEffect(() => {
    document.title = app.session.title;
  }, []);
  return (
    <main className="entrance">
      <div className="entrance-panel">
        <img src={iconUrl} alt="" width={48} height={48} />
        <div>
          <h1>{texts.signedIn.title}</h1>
          <p className="entrance-quiet">{texts.signedIn.text}</p>
        </div>
        <a className="entrance-button entrance-default" href="/console/">
          {texts.signedIn.open}
        </a>
      </div>
    </main>
  );
}
