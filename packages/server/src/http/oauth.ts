/**
 * `/oauth`: the endpoints of the authorization server that programs call, and its metadata (RFC 8414)
 * (docs/decisions/0113-command-line-sign-in.md). They belong to the sign-in of Gatehouse's own programs and are not
 * part of the contract.
 */
import { shortText } from "@gatehouse/contract/schema";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Type, { type TObject } from "typebox";
import { AppError } from "../platform/app-error.ts";
import { OAuthError } from "../platform/oauth-error.ts";
import { addressGroup } from "../platform/rate-limits/address-group.ts";
import type { AuthorizationContext, AuthorizationServer, TokenRequest } from "./authorization-server.ts";
import { clientAddress } from "./client-address.ts";
import { within } from "./observation.ts";
import type { RateLimits } from "./rate-limits.ts";
import { operationHeaders } from "./response-headers.ts";
import { compileCheck } from "./validation.ts";

export interface OAuthOptions {
  readonly authorizations: AuthorizationServer;
  readonly limits: RateLimits;
}

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
/** An extension grant (RFC 6749, section 4.5): an enrolment key is exchanged for the token of a new device. */
const enrolmentKeyGrant = "urn:gatehouse:oauth:grant-type:enrolment-key";
const formType = "application/x-www-form-urlencoded";
/** Longer than any request of a program. */
const bodyLimit = 4_096;

const text = (maxLength: number) => Type.Unsafe<string>({ ...shortText(maxLength), minLength: 1 });
const client = { client_id: text(100) };
/** The device that is to be enrolled. */
const device = {
  os: Type.Optional(shortText(120)),
  os_version: Type.Optional(shortText(120)),
  app_version: Type.Optional(shortText(120)),
  hardware_id: text(200),
  public_key: Type.String({ pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$" }),
};

/** The parameters of each request. Others are ignored (RFC 6749, section 3.2). */
const parameters = {
  authorization_code: Type.Object({
    ...client,
    code: text(200),
    redirect_uri: text(200),
    code_verifier: Type.String({ minLength: 43, maxLength: 128 }),
  }),
  refresh_token: Type.Object({ ...client, refresh_token: text(300) }),
  [deviceGrant]: Type.Object({ ...client, device_code: text(200) }),
  [enrolmentKeyGrant]: Type.Object({ ...client, ...device, enrolment_key: text(200), machine: text(200) }),
  device: Type.Object({
    ...client,
    machine: Type.Optional(Type.String({ maxLength: 200 })),
    max_age: Type.Optional(Type.String({ pattern: "^\\d{1,5}$" })),
    ...device,
    hardware_id: Type.Optional(device.hardware_id),
    public_key: Type.Optional(device.public_key),
    // The token of the enrolled device on which its user signs in again.
    device_token: Type.Optional(text(200)),
  }),
  revocation: Type.Object({ ...client, token: text(300) }),
} as const;

const checks = new Map<TObject, ReturnType<typeof compileCheck>>(
  Object.values(parameters).map((schema) => [schema, compileCheck(schema)]),
);

export function mountOAuth(app: FastifyInstance, { authorizations, limits }: OAuthOptions): void {
  app.get("/.well-known/oauth-authorization-server", { exposeHeadRoute: false }, (_request, reply) =>
    reply.headers(operationHeaders).send(metadataOf(authorizations.issuer)),
  );
  void app.register(async (scope) => {
    scope.addContentTypeParser(formType, { parseAs: "string", bodyLimit }, (_request, body, done) => {
      done(null, new URLSearchParams(String(body)));
    });

    endpoint(scope, "/oauth/token", async (request, form) => {
      const asked = tokenRequestOf(form);
      const tokens = await authorizations.issue(contextOf(request), asked);
      if ("refresh_token" in tokens)
        limits.noteSignedIn([tokens.access_token, tokens.refresh_token], clientAddress(request));
      return tokens;
    });
    endpoint(scope, "/oauth/device_authorization", async (request, form) => {
      const {
        client_id: clientId,
        machine = "",
        max_age: maxAge,
        os = "",
        os_version: osVersion = "",
        app_version: appVersion = "",
        hardware_id: hardwareId,
        public_key: publicKey,
        device_token: deviceToken,
      } = read(form, parameters.device);
      const described = hardwareId !== undefined && publicKey !== undefined;
      const codes = await authorizations.requestDevice(contextOf(request), {
        clientId,
        machine,
        maxAge: maxAge === undefined ? undefined : Number(maxAge),
        device: described ? { os, osVersion, appVersion, hardwareId, publicKey } : undefined,
        deviceToken,
      });
      const address = `${authorizations.issuer}/console/code`;
      return {
        device_code: codes.deviceCode,
        user_code: codes.userCode,
        verification_uri: address,
        // The code is in the fragment, which browsers send to no server.
        verification_uri_complete: `${address}#${codes.userCode}`,
        expires_in: codes.expiresInSeconds,
        interval: codes.intervalSeconds,
      };
    });
    endpoint(scope, "/oauth/revoke", async (_request, form) => {
      const { client_id: clientId, token } = read(form, parameters.revocation);
      await authorizations.revoke(clientId, token);
      return {};
    });
  });

  function endpoint(
    scope: FastifyInstance,
    path: string,
    handle: (request: FastifyRequest, form: URLSearchParams) => Promise<object>,
  ): void {
    scope.post(path, {
      bodyLimit,
      handler: (request, reply) =>
        within(request, async () => {
          reply.headers(operationHeaders);
          try {
            requireProgram(request);
            const form = formOf(request);
            limits.requireUnblockedAddress(request, reply, form.get("refresh_token") ?? undefined);
            return await reply.send(await handle(request, form));
          } catch (error) {
            if (!(error instanceof OAuthError)) throw error;
            if (error.code === "invalid_grant") limits.countFailure(request, undefined);
            return replyWithError(reply, error);
          }
        }),
    });
  }
}

function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/console/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", deviceGrant, enrolmentKeyGrant],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
  };
}

/** Pages of any site can send forms, but only programs have a reason to. @throws OAuthError invalid_request */
function requireProgram({ headers }: FastifyRequest): void {
  if (headers.origin === undefined && headers["sec-fetch-site"] === undefined) return;
  throw new OAuthError("invalid_request", "Only programs call this endpoint, not pages.");
}

/** @throws OAuthError invalid_request */
function formOf({ body }: FastifyRequest): URLSearchParams {
  if (!(body instanceof URLSearchParams)) {
    throw new OAuthError("invalid_request", `The body must have the content type ${formType}.`);
  }
  const names = [...body.keys()];
  if (new Set(names).size < names.length) {
    throw new OAuthError("invalid_request", "A parameter is present twice.");
  }
  return body;
}

/** @throws OAuthError invalid_request, unsupported_grant_type */
function tokenRequestOf(form: URLSearchParams): TokenRequest {
  const grant = form.get("grant_type");
  if (grant === "authorization_code") {
    const {
      client_id: clientId,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    } = read(form, parameters.authorization_code);
    return { grant, clientId, code, redirectUri, verifier };
  }
  if (grant === "refresh_token") {
    const { client_id: clientId, refresh_token: refreshToken } = read(form, parameters.refresh_token);
    return { grant, clientId, refreshToken };
  }
  if (grant === deviceGrant) {
    const { client_id: clientId, device_code: deviceCode } = read(form, parameters[deviceGrant]);
    return { grant: "device_code", clientId, deviceCode };
  }
  if (grant === enrolmentKeyGrant) {
    const sent = read(form, parameters[enrolmentKeyGrant]);
    const { client_id: clientId, enrolment_key: key, machine, hardware_id: hardwareId, public_key: publicKey } = sent;
    const { os = "", os_version: osVersion = "", app_version: appVersion = "" } = sent;
    return {
      grant: "enrolment_key",
      clientId,
      key,
      machine,
      device: { os, osVersion, appVersion, hardwareId, publicKey },
    };
  }
  throw grant === null
    ? new OAuthError("invalid_request", "The parameter grant_type is missing.")
    : new OAuthError("unsupported_grant_type", "The grant type is not supported.");
}

/** Reads parameters. @throws OAuthError invalid_request */
function read<Schema extends TObject>(form: URLSearchParams, schema: Schema): Type.Static<Schema> {
  const values = Object.fromEntries(form);
  const [problem] = checks.get(schema)?.(values) ?? [];
  if (problem === undefined) return values as Type.Static<Schema>; // checked against the schema
  throw new OAuthError("invalid_request", `${problem.pointer.slice(1)} ${problem.message}`);
}

function replyWithError(reply: FastifyReply, { code, message }: OAuthError): FastifyReply {
  const status = code === "invalid_client" ? 401 : code === "temporarily_unavailable" ? 503 : 400;
  return reply.status(status).send({ error: code, error_description: message });
}

export function contextOf(request: FastifyRequest): AuthorizationContext {
  return {
    requestId: request.id,
    address: clientAddress(request),
    addressGroup: addressGroup(clientAddress(request)),
    userAgent: request.headers["user-agent"],
  };
}

/** The body of a page's request, checked against a schema. @throws AppError invalid_body */
export function checkedBody<Schema extends TObject>(
  { body }: FastifyRequest,
  check: ReturnType<typeof compileCheck>,
): Type.Static<Schema> {
  const errors = check(body);
  if (errors.length > 0) throw new AppError("invalid_body", { errors });
  return body as Type.Static<Schema>; // checked above
}
