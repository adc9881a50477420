/** The ways to sign in: passkey and identity provider first, and the others collapsed. */
import { GatehouseError } from "@gatehouse/client/errors";
import { type FormEvent, type ReactNode, type Ref, useEffect, useId, useRef, useState } from "react";
import { app } from "../../messages/en/app.ts";
import { signIn as texts } from "../../messages/en/sign-in.ts";
import {
  type Installation,
  type RecoveredSession,
  readInstallation,
  signInAsDemoPerson,
  signInWithPasskey,
  signInWithRecoveryCode,
  supportsPasskeys,
} from "../passkeys.ts";
import { findProviders, type OfferedProvider, signInPath, signInPathOfTab } from "../providers.ts";
import { type Session, signIn } from "../session-requests.ts";
import { enrolPath } from "./entrance-paths.ts";

interface SignInWaysProps {
  readonly done: (session: Session) => void | Promise<void>;
  /** Set on an open page, which must stay: identity providers then open in a new tab. */
  readonly tab?: ProviderTab;
}

export interface ProviderTab {
  /** The organisation, or an address in it. */
  readonly organisation: string;
  /** The provider of the previous session. */
  readonly provider: OfferedProvider | undefined;
  /** The person left for the provider. */
  readonly opened: () => void;
  /** A sign-in with a recovery code starts, or fails. Until it fails, the form shows the next code. */
  readonly recovering: (on: boolean) => void;
}

export function SignInWays({ done, tab }: SignInWaysProps) {
  const found = useSignInPlace();
  const place = otherPlace(found);
  const usable = place === "" && supportsPasskeys();
  return (
    <>
      {found?.demo !== undefined && <DemoPeople people={found.demo.people} done={done} />}
      {usable && <PasskeyButton done={done} />}
      <PlaceNotice place={place} />
      {usable && <p className="entrance-or">{texts.page.or}</p>}
      {tab?.provider === undefined ? (
        <ProviderForm tab={tab} />
      ) : (
        <ProviderLink provider={tab.provider} tab={tab}>
          {texts.page.findProviders}
        </ProviderLink>
      )}
      <section className="entrance-others" aria-label={texts.page.otherWays}>
        <ApiKeyForm done={done} />
        <RecoveryForm done={done} tab={tab} />
        {tab === undefined && (
          <a className="entrance-button entrance-subtle" href={enrolPath}>
            {texts.enrol.enterCode}
          </a>
        )}
      </section>
    </>
  );
}

/** The server's answer about signing in; undefined while unknown, and without an answer. */
function useSignInPlace(): Installation | undefined {
  const [place, setPlace] = useState<Installation>();
  useEffect(() => {
    let isCurrent = true;
    readInstallation().then(
      (found) => isCurrent && setPlace(found),
      // Without the answer, the page offers no passkeys.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, []);
  return place;
}

/** The public address if this page has another one; empty if it has none; undefined while unknown. */
function otherPlace(place: Installation | undefined): string | undefined {
  if (typeof PublicKeyCredential !== "function") return "";
  if (place === undefined) return undefined;
  return place.publicUrl === globalThis.location.origin ? "" : place.publicUrl;
}

function PlaceNotice({ place }: { readonly place: string | undefined }) {
  if (place === undefined || (place === "" && supportsPasskeys())) return null;
  const { pathname, search, hash } = globalThis.location;
  return (
    <Notice>
      <p>
        {place === "" ? (
          texts.passkeys.unsupported
        ) : (
          <>
            {texts.passkeys.elsewhere} <a href={`${place}${pathname}${search}${hash}`}>{place}</a>.
          </>
        )}
      </p>
    </Notice>
  );
}

/** Runs one attempt at a time, and keeps its error. */
function useAttempt() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const attempt = async (run: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await run();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, attempt };
}

function PasskeyButton({ done }: Pick<SignInWaysProps, "done">) {
  const { busy, error, attempt } = useAttempt();
  return (
    <>
      <Button kind="primary" busy={busy} onClick={() => void attempt(async () => done(await signInWithPasskey()))}>
        {texts.page.passkey}
      </Button>
      <Problem error={error} />
    </>
  );
}

/** Collapsed by default, because keys are for programs and the first start. */
function ApiKeyForm({ done }: Pick<SignInWaysProps, "done">) {
  const [isOpen, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isOpen) field.current?.focus();
  }, [isOpen]);
  const [apiKey, setApiKey] = useState("");
  const [isShown, setShown] = useState(false);
  const { busy, error, attempt } = useAttempt();
  const id = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt(async () => done(await signIn(apiKey.trim())));
  };
  if (!isOpen) {
    return (
      <Button kind="subtle" onClick={() => setOpen(true)}>
        {texts.page.apiKey}
      </Button>
    );
  }
  return (
    <form onSubmit={submit}>
      <label htmlFor={id}>{app.session.apiKey}</label>
      <div className="entrance-secret">
        <input
          ref={field}
          id={id}
          type={isShown ? "text" : "password"}
          placeholder="gatehouse_key_…"
          value={apiKey}
          onChange={({ currentTarget }) => setApiKey(currentTarget.value)}
          autoComplete="off"
          maxLength={200}
          required
        />
        <button
          type="button"
          aria-label={app.session.showKey}
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
        >
          <Eye isCrossed={isShown} />
        </button>
      </div>
      <Problem error={error} />
      <Button kind="default" submits busy={busy} disabled={apiKey.trim() === ""}>
        {app.session.signIn}
      </Button>
    </form>
  );
}

/** The symbol of the button that shows a secret, as in the fields of the console. */
function Eye({ isCrossed }: { readonly isCrossed: boolean }) {
  return (
    <svg width={20} height={20} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth={1.5} aria-hidden>
      <path d="M2 12s3.6-7 10-7 10 7 10 7-3.6 7-10 7-10-7-10-7Z" />
      <circle cx={12} cy={12} r={3} />
      {isCrossed && <path d="M3 3l18 18" />}
    </svg>
  );
}

interface DemoPeopleProps extends Pick<SignInWaysProps, "done"> {
  readonly people: readonly { readonly id: string; readonly email: string; readonly title: string }[];
}

/** Offers the example people of demo mode. */
function DemoPeople({ people, done }: DemoPeopleProps) {
  const { busy, error, attempt } = useAttempt();
  return (
    <Notice label={texts.demo.title}>
      <strong>{texts.demo.title}</strong>
      <p>{texts.demo.text}</p>
      <p>{texts.demo.signInAs}</p>
      {people.map(({ id, email, title }) => (
        <Button
          key={id}
          kind="default"
          busy={busy}
          onClick={() => void attempt(async () => done(await signInAsDemoPerson(id)))}
        >
          {title === "" ? email : texts.demo.person.replace("{{email}}", email).replace("{{title}}", title)}
        </Button>
      ))}
      <Problem error={error} />
    </Notice>
  );
}

interface ProviderLinkProps {
  readonly provider: OfferedProvider;
  readonly tab: ProviderTab | undefined;
  readonly ref?: Ref<HTMLAnchorElement>;
  readonly children: ReactNode;
}

function ProviderLink({ provider, tab, ref, children }: ProviderLinkProps) {
  const look = { className: "entrance-button entrance-primary", ref };
  if (tab === undefined) {
    return (
      <a {...look} href={signInPath(provider)}>
        {children}
      </a>
    );
  }
  return (
    <a {...look} href={signInPathOfTab(provider)} target="_blank" rel="noopener" onClick={tab.opened}>
      {children}
    </a>
  );
}

/** Finds the identity providers of an organisation. */
function ProviderForm({ tab }: Pick<ProviderLinkProps, "tab">) {
  const [name, setName] = useState(tab?.organisation ?? "");
  const [found, setFound] = useState<readonly OfferedProvider[]>();
  const { busy, error, attempt } = useAttempt();
  const id = useId();
  const first = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    // The links replace the focused button.
    if (found !== undefined) first.current?.focus();
  }, [found]);
  const find = async () => {
    const providers = await findProviders(name.trim());
    const [only, ...others] = providers;
    // Browsers block tabs that do not open at once, so an open page shows a link.
    const goesOn = tab === undefined && only !== undefined && others.length === 0;
    if (goesOn) globalThis.location.assign(signInPath(only));
    else setFound(providers);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt(find);
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor={id}>{texts.page.organisation}</label>
      <p className="entrance-quiet entrance-help" id={`${id}-help`}>
        {texts.page.organisationHelp}
      </p>
      <input
        id={id}
        aria-describedby={`${id}-help`}
        value={name}
        onChange={({ currentTarget }) => {
          setName(currentTarget.value);
          setFound(undefined);
        }}
        autoComplete="organization"
        maxLength={254}
        required
      />
      <Problem error={error} />
      {found?.length === 0 && (
        <Notice role="alert">
          <p>{texts.page.noProviders}</p>
        </Notice>
      )}
      {found?.map((provider, position) => (
        <ProviderLink key={provider.path} provider={provider} tab={tab} ref={position === 0 ? first : null}>
          {texts.page.provider.replace("{{name}}", provider.name)}
        </ProviderLink>
      ))}
      {(found === undefined || found.length === 0) && (
        <Button kind="primary" submits busy={busy} disabled={name.trim() === ""}>
          {texts.page.findProviders}
        </Button>
      )}
    </form>
  );
}

function RecoveryForm({ done, tab }: Pick<SignInWaysProps, "done"> & Pick<ProviderLinkProps, "tab">) {
  const [opened, setOpened] = useState(false);
  const [code, setCode] = useState("");
  const [recovered, setRecovered] = useState<RecoveredSession>();
  const { busy, error, attempt } = useAttempt();
  const id = useId();
  if (recovered !== undefined) {
    return (
      <Notice label={texts.page.recoveryNext}>
        <h2>{texts.page.recoveryNext}</h2>
        <p>{texts.account.recoveryText}</p>
        <code className="secret">{recovered.recoveryCode}</code>
        <Button kind="primary" busy={busy} onClick={() => void attempt(async () => done(recovered))}>
          {texts.page.saved}
        </Button>
      </Notice>
    );
  }
  if (!opened) {
    return (
      <Button kind="subtle" onClick={() => setOpened(true)}>
        {texts.page.recovery}
      </Button>
    );
  }
  const recover = async () => {
    tab?.recovering(true);
    try {
      setRecovered(await signInWithRecoveryCode(code));
    } catch (problem) {
      tab?.recovering(false);
      throw problem;
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt(recover);
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor={id}>{texts.page.recoveryCode}</label>
      <input
        id={id}
        value={code}
        onChange={({ currentTarget }) => setCode(currentTarget.value)}
        autoComplete="off"
        maxLength={100}
        required
      />
      <Problem error={error} />
      <Button kind="default" submits busy={busy} disabled={code.trim() === ""}>
        {texts.page.recovery}
      </Button>
    </form>
  );
}

interface ButtonProps {
  readonly kind: "primary" | "default" | "subtle";
  readonly submits?: boolean;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly onClick?: () => void;
  readonly children: ReactNode;
}

function Button({ kind, submits = false, busy = false, disabled = false, onClick, children }: ButtonProps) {
  return (
    <button
      type={submits ? "submit" : "button"}
      className={`entrance-button entrance-${kind}`}
      disabled={disabled || busy}
      aria-busy={busy}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

function Problem({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  const known = error instanceof GatehouseError ? error : undefined;
  // A request that gets no response fails with a TypeError.
  const title = known?.problem.title ?? (error instanceof TypeError ? app.problem.noResponse : app.problem.unexpected);
  const reason = error instanceof Error ? error.message : String(error);
  const detail = known?.problem.detail ?? (error instanceof TypeError ? app.problem.connectionFailed : reason);
  return (
    <Notice tone="bad" role="alert">
      <strong>{title}</strong>
      <p>{detail}</p>
      {known !== undefined && (
        <p>
          <a href={`/errors/${known.code}`} target="_blank" rel="noreferrer">
            {app.problem.explain}
          </a>{" "}
          <code>{known.requestId}</code>
        </p>
      )}
    </Notice>
  );
}

interface NoticeProps {
  readonly tone?: "bad" | "waiting";
  /** Set on a notice that is a region. */
  readonly label?: string;
  readonly role?: "alert";
  readonly children: ReactNode;
}

/** A notice that looks like those of the component library. */
function Notice({ tone = "waiting", label, role, children }: NoticeProps) {
  const Part = label === undefined ? "div" : "section";
  return (
    <Part className="entrance-notice" data-tone={tone} role={role} aria-label={label}>
      <svg
        width={20}
        height={20}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth={2}
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden
      >
        <path d="m21.73 18-8-14a2 2 0 0 0-3.48 0l-8 14A2 2 0 0 0 4 21h16a2 2 0 0 0 1.73-3M12 9v4M12 17h.01" />
      </svg>
      <div>{children}</div>
    </Part>
  );
}
