import { readFile } from "node:fs/promises";
import { type ApiKeyAuthenticator, requireValidKey } from "../features/api-keys/api-keys.api.ts";
import { ProgramAuthorizations } from "../features/authorizations/authorizations.api.ts";
import { ExamplePeople } from "../features/demo-sign-in/demo-sign-in.api.ts";
import { AppliedWaiting } from "../features/gateways/gateways.api.ts";
import { OpenIdSignIn } from "../features/identity-providers/identity-providers.api.ts";
import { ConsoleSessions, requireOpenSession } from "../features/sessions/sessions.api.ts";
import { PasskeySignIn } from "../features/sign-in/sign-in.api.ts";
import { type Installation, operatorAuthenticator } from "../features/tenants/tenants.api.ts";
import { type AppOptions, createApp } from "../http/app.ts";
import type { RateLimit } from "../http/rate-limits.ts";
import { TlsCertificate, type TlsFiles } from "../http/tls-certificate.ts";
import type { AcmeCertificate, AcmeCertificateOptions } from "../platform/acme/acme-certificate.ts";
import type { BackgroundTask } from "../platform/background-task.ts";
import type { Clock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import { requireReady } from "../platform/db/readiness.queries.ts";
import { WindowCounts, type WindowCountsOptions } from "../platform/rate-limits/window-counts.ts";
import type { ServedCertificate } from "../platform/served-certificate.ts";
import { StartError } from "../platform/start-error.ts";
import { routes } from "../routes.ts";
import { sharedCountTasks } from "../tasks/share-counts.ts";

export interface AcmeSettings
  extends Pick<AcmeCertificateOptions, "directoryUrl" | "host" | "contact" | "challengeType" | "settleMs"> {
  /** PEM file of the certificates that sign the authority's own one; undefined for those that the system trusts. */
  readonly caFile: string | undefined;
}

/** How often callers may send requests; 0 disables a limit. */
export interface RateLimitSettings {
  /** Requests of one key in a minute. */
  readonly perMinute: number;
  /** Failed authentications from one address in five minutes. */
  readonly authFailures: number;
  /** Whether all replicas count together. */
  readonly shared: boolean;
}

export interface HttpSettings {
  readonly trustedProxies: readonly string[];
  /** Files of the certificate and the key; undefined for plain HTTP. */
  readonly tls?: TlsFiles | undefined;
  /** The certificate authority that issues the certificate; undefined for files or plain HTTP. */
  readonly acme?: AcmeSettings | undefined;
  /** The addresses of the example people as whom anyone can sign in; undefined unless in demo mode. */
  readonly demoPeople?: readonly string[] | undefined;
  /** The folder of the built console; undefined if it is not served. */
  readonly consoleFolder?: string;
  /** The folder with the repository of agents; undefined if it is not served. */
  readonly agentsFolder?: string;
  /** How long a whole request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /** How long a client can read nothing of a response, in milliseconds. */
  readonly stallMs?: number;
  /** How long browsers use only TLS for the public address, in days; 0, the default, ends it. */
  readonly strictTransportDays?: number | undefined;
  /** No limits if absent. */
  readonly rateLimits?: RateLimitSettings;
}

interface HttpDependencies extends Pick<AppOptions, "log" | "metrics" | "tracing" | "links"> {
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly apiKeys: ApiKeyAuthenticator;
  readonly installation: Installation;
}

export interface HttpParts {
  readonly app: ReturnType<typeof createApp>;
  readonly acme: AcmeCertificate | undefined;
  /** Undefined for plain HTTP. */
  readonly tls: ServedCertificate | undefined;
  readonly tasks: readonly BackgroundTask[];
}

const minuteMs = 60_000;

/** The HTTP server, and everything that its requests need. */
export async function composeHttp(settings: HttpSettings, dependencies: HttpDependencies): Promise<HttpParts> {
  const { runner, clock, apiKeys, installation, log, metrics, tracing, links = [] } = dependencies;
  const { database } = runner;
  const { perMinute = 0, authFailures = 0, shared = false } = settings.rateLimits ?? {};
  const rateLimits = {
    requests: rateLimit(perMinute, { windowMs: minuteMs, clock, shared }),
    failures: rateLimit(authFailures, { windowMs: 5 * minuteMs, clock, shared }),
  };
  const sessions = new ConsoleSessions({ database, clock, apiKeys });
  const acme = settings.acme === undefined ? undefined : await openAcme(settings.acme, { runner, clock, log });
  const files = settings.tls;
  const tls = acme ?? (files === undefined ? undefined : await TlsCertificate.open({ files, clock, log }));
  const people = new PasskeySignIn({ runner, sessions, log });
  const waiting = new AppliedWaiting(runner);
  const app = createApp({
    log,
    metrics,
    tracing,
    links,
    routes,
    runner,
    clock,
    rateLimits,
    sessions,
    people,
    demo:
      settings.demoPeople === undefined
        ? undefined
        : new ExamplePeople({ runner, sessions, emails: settings.demoPeople }),
    providers: new OpenIdSignIn({ runner, log }),
    authorizations: new ProgramAuthorizations(runner, log),
    tls,
    trustedProxies: settings.trustedProxies,
    strictTransportDays: settings.strictTransportDays ?? 0,
    consoleFolder: settings.consoleFolder,
    agentsFolder: settings.agentsFolder,
    ...(settings.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: settings.requestTimeoutMs }),
    ...(settings.stallMs === undefined ? {} : { stallMs: settings.stallMs }),
    awaitApplied: (...request) => waiting.wait(...request),
    authenticator: {
      tenantKey: (key, sourceAddress) => apiKeys.authenticate(key, sourceAddress),
      operatorKey: operatorAuthenticator(installation.operatorKeyHash),
      session: (token, sourceAddress) => sessions.authenticate(token, sourceAddress),
      accessToken: (token) => sessions.authenticateProgram(token),
      requireValid: async (tx, { session, actor }) => {
        if (session !== undefined) await requireOpenSession(tx, session);
        else if (actor.type === "api-key") await requireValidKey(tx, actor, clock);
      },
    },
    ready: () => requireReady(database),
  });
  const sharing = shared ? sharedCountTasks(database, clock, rateLimits) : [];
  return { app, acme, tls, tasks: [...(tls?.tasks ?? []), ...sharing] };
}

/**
 * Loads the ACME client, which few installations need. Reads the file at the start only: authorities rarely change
 * their own certificate.
 */
async function openAcme(
  { caFile, ...settings }: AcmeSettings,
  { runner, clock, log }: Pick<HttpDependencies, "runner" | "clock" | "log">,
): Promise<AcmeCertificate> {
  const ca =
    caFile === undefined
      ? undefined
      : await readFile(caFile).catch((cause: unknown) => {
          const remedy = "Set GATEHOUSE_ACME_CA to a PEM file with the certificates that sign the authority's own one.";
          throw new StartError(`Cannot read ${caFile}.`, remedy, { cause });
        });
  const { trustAuthority } = await import("../platform/acme/authority-client.ts");
  trustAuthority(ca);
  const { AcmeCertificate } = await import("../platform/acme/acme-certificate.ts");
  const { database, secrets } = runner;
  return AcmeCertificate.open({ ...settings, database, box: secrets.acmeKeys, clock, log });
}

function rateLimit(max: number, options: WindowCountsOptions): RateLimit | undefined {
  return max === 0 ? undefined : { max, counts: new WindowCounts(options) };
}
