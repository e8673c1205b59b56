import express, {
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import { z } from 'zod';
import { MAX_JSON_VALUES, MAX_VISITOR_JSON_VALUES } from '../../shared/limits.ts';
import type { Job } from '../../shared/node/job.ts';
import { NOTHING_AT_PATH, Problem } from '../../shared/problems.ts';
import type { RouteSpec } from '../../shared/routes/route.ts';
import { ROUTES, type RouteName, type RouteTable } from '../../shared/routes.ts';
import type { AdmittedWrite, WriteLimits } from '../archive/limits/writeLimits.ts';
import type { Log } from '../runtime/log.ts';
import { checkBody, checkQuery, readJson } from './body/readJson.ts';
import { type Interface, serveRenderer } from './delivery/renderer.ts';
import { compressText, sendText } from './delivery/text.ts';
import { handleErrors } from './problems.ts';
import type { Handler, Reply } from './reply.ts';
import type { Secrets, Visitor } from './security/access.ts';
import type { Guards } from './security/guards.ts';
import { limitWrite } from './security/limitWrite.ts';
import { acceptInvitation, renewSession, signIn } from './security/signIn.ts';

/** One handler for each route. A missing handler is a compile error. */
export type Handlers = { [Name in RouteName]: Handler<RouteTable[Name]> };

export interface AppConfig {
  handlers: Handlers;
  secrets: Secrets;
  guards: Guards;
  /** The web interface and the descriptions of its pages. */
  interface: Omit<Interface, 'mayFillPage' | 'publicAddress'>;
  log: Log;
  /** Why every request is refused by now, as without the disk of the data folder; undefined if none is. */
  refusal: () => Problem | undefined;
  /** The limits for writes to the data-pack archive. */
  writeLimits: WriteLimits;
  /** Called with the name of each route other than GET that was answered without a problem. */
  onWrite: (name: RouteName) => void;
  /** Called with each job that a client was told of, and what it sent for it. */
  onJob: (asked: AskedJob, job: Job) => void;
}

/** A request that was answered with a job. */
export interface AskedJob {
  method: string;
  /** The path with its query. */
  path: string;
  body: unknown;
}

/** Creates the HTTP application: guards, then the routes of the table, then the pages of the web interface. */
export function createApp(config: AppConfig): Express {
  const { handlers, secrets, guards, log, writeLimits, onWrite, onJob } = config;
  const { invitations, cookieName, publicAddress } = secrets;
  const app = express();
  app.setMaxListeners(0);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use(applyGuards(guards));
  app.use(compressText());

  const routes = express.Router({ caseSensitive: true, strict: true });
  const renewIfDue = (visitor: Visitor, request: Request, response: Response) => {
    if (visitor.sessionNeedsUseUpdate) renewSession(secrets, visitor.session ?? '', request, response);
  };
  for (const [path, names] of namesByPath()) {
    for (const name of names) {
      const spec: RouteSpec = ROUTES[name];
      addRoute(routes, spec, async (request, response) => {
        const visitor = guards.allow(request, request.path, spec.access);
        renewIfDue(visitor, request, response);
        const ownsQuery = endsInUrl(spec) || spec.readsOwnQuery;
        const search = ownsQuery ? new URLSearchParams() : searchOf(request.originalUrl);
        const query = spec.query ? checkQuery(spec.query, search) : checkQuery(NO_QUERY, search);
        let body: unknown;
        const handle = async (admitted?: AdmittedWrite): Promise<Reply> => {
          body = await bodyOf(spec, request);
          const handler = handlers[name] as Handler<RouteSpec>;
          const params = endsInUrl(spec) ? rawParamsOf(spec, request) : paramsOf(request);
          return handler({ params, query, body, visitor, request, admitted } as Parameters<
            typeof handler
          >[0]);
        };
        const isLimited = (spec.access === 'contribute' && spec.method === 'POST') || spec.isLimited;
        const reply = isLimited
          ? await limitWrite(writeLimits, { visitor, request, response }, handle)
          : await handle();
        // A body that was streamed is gone.
        if (
          'json' in reply &&
          reply.status === 202 &&
          spec.access === 'owner' &&
          spec.body?.kind !== 'stream'
        )
          onJob({ method: spec.method, path: request.originalUrl, body }, reply.json as Job);
        await send(response, reply);
        if (spec.method !== 'GET') onWrite(name);
      });
    }
    refuseOtherMethods(routes, path, names);
  }
  app.use(routes);
  app.use(
    signIn(secrets, () => config.interface.readDocument() !== undefined),
    acceptInvitation(invitations, cookieName, publicAddress),
    serveRenderer({
      ...config.interface,
      mayFillPage: (request) => guards.mayFillPage(request),
      publicAddress,
    }),
  );
  app.use(() => {
    throw new Problem('not_found', NOTHING_AT_PATH);
  });
  app.use(handleErrors(log, config.refusal));
  return app;
}

/** Applies the guards before any route. */
function applyGuards(guards: Guards): RequestHandler {
  return (request, response, next) => {
    response.set(guards.headersFor(request, request.path));
    guards.admit(request, request.path);
    next();
  };
}

const NO_QUERY = z.strictObject({});

/** Returns the parsed query. Most requests have none, and parsing is avoided for them. */
function searchOf(url: string): URLSearchParams {
  return url.includes('?') ? new URL(url, 'http://localhost').searchParams : new URLSearchParams();
}

/**
 * Returns the paths with the names of their routes. Paths with fewer placeholders come first, so that
 * `/api/events/stream` does not match `/api/events/{id}`.
 */
function namesByPath(): [path: string, names: RouteName[]][] {
  const placeholders = (path: string) => path.split('{').length;
  const byPath = Map.groupBy(Object.keys(ROUTES) as RouteName[], (name) => ROUTES[name].path as string);
  return [...byPath].sort(([left], [right]) => placeholders(left) - placeholders(right));
}

/** Returns whether a path ends in an unencoded URL, including its query. */
function endsInUrl({ path }: Pick<RouteSpec, 'path'>): boolean {
  return path.endsWith('{+url}');
}

/** Returns a pattern for a path that ends in a URL, with a named group for each parameter. */
function urlPathPattern(template: string): RegExp {
  return new RegExp(`^${template.replace('{+url}', '(?<url>.+)').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
}

/** Converts a path template to Express syntax (path-to-regexp 8). Groups for a URL have no name: Express decodes named ones. */
function expressPath(template: string): string | RegExp {
  if (endsInUrl({ path: template }))
    return new RegExp(urlPathPattern(template).source.replace(/\(\?<\w+>/g, '(?:'));
  return template.replace(/\{\+(\w+)\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}

function addRoute(routes: Router, spec: RouteSpec, handler: RequestHandler): void {
  routes[spec.method.toLowerCase() as 'get'](expressPath(spec.path), handler);
}

/** Handles OPTIONS of a known path, and responds to all other methods with 405 and `Allow`. */
function refuseOtherMethods(routes: Router, path: string, names: readonly RouteName[]): void {
  const methods = names.map((name) => ROUTES[name].method);
  const allow = ['OPTIONS', ...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
  routes.all(expressPath(path), (request, response) => {
    response.set('Allow', allow);
    if (request.method === 'OPTIONS') return void response.status(204).end();
    throw new Problem('method_not_allowed', `This path supports ${allow}.`, { headers: { Allow: allow } });
  });
}

function paramsOf(request: Request): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.params)) {
    params[name] = Array.isArray(value) ? value.join('/') : (value as string);
  }
  return params;
}

/** Reads the parameters without decoding them, because a URL may contain percent signs itself. */
function rawParamsOf({ path }: RouteSpec, request: Request): Record<string, string> {
  return { ...urlPathPattern(path).exec(request.originalUrl)?.groups };
}

async function bodyOf({ body, access }: RouteSpec, request: Request): Promise<unknown> {
  if (body?.kind !== 'json') return undefined;
  const { schema, maxBytes, optional = false } = body;
  const maxValues = access === 'owner' || access === 'paired' ? MAX_JSON_VALUES : MAX_VISITOR_JSON_VALUES;
  return checkBody(schema, await readJson(request, { maxBytes, maxValues, optional }));
}

async function send(response: Response, reply: Reply): Promise<void> {
  if ('write' in reply) return reply.write(response);
  response.status(reply.status).set('Cache-Control', 'no-store');
  if (!('json' in reply) && !('jsonText' in reply)) return void response.end();
  response.set(reply.headers ?? {}).type('application/json');
  if ('json' in reply) response.send(JSON.stringify(reply.json));
  else await sendText(response, reply.jsonText);
}
