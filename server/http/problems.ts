import type { ErrorRequestHandler, Request, Response } from 'express';
import { PROBLEMS, Problem, type ProblemDocument } from '../../shared/problems.ts';
import { errorCode } from '../../shared/values/errorCode.ts';
import type { Log } from '../runtime/log.ts';
import { isDatabaseDamage } from '../store/storageErrors.ts';
import { isStillSending, respondEarly } from './body/requestBody.ts';

/** Returns the problem document (RFC 9457). It contains no internals: no stack, no path, no SQL. */
export function problemDocument({ code, message, extra }: Problem): ProblemDocument {
  const { status, title } = PROBLEMS[code];
  return {
    type: `urn:strongroom:problem:${code}`,
    title,
    status,
    detail: message,
    code,
    ...(extra.errors ? { errors: extra.errors } : {}),
    ...extra.members,
  };
}

function sendProblem(request: Request, response: Response, problem: Problem): void {
  const body = JSON.stringify(problemDocument(problem));
  response
    .status(problem.status)
    .set({ 'Cache-Control': 'no-store', ...problem.extra.headers })
    .type('application/problem+json');
  if (isStillSending(request)) respondEarly(request, response, body);
  else response.send(body);
}

/**
 * The only place that turns an error of a route into a response; `security/openSockets.ts` answers what is not HTTP. Errors that are not a `Problem` are logged as internal errors.
 *
 * @param refusal why every request is refused by now, or undefined: an error of a request that was running is due to that
 */
export function handleErrors(
  log: Log,
  refusal: () => Problem | undefined = () => undefined,
): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    // The client disconnected during its request, so there is nobody to respond to.
    if (request.destroyed && !request.complete) return void response.destroy();
    const problem = refusal() ?? asProblem(error);
    logFault(log, error, problem, request.method, request.path);
    if (response.headersSent) response.destroy();
    else sendProblem(request, response, problem);
  };
}

/** Problems with status 503 that any client can cause, or that are logged once. */
const NOT_LOGGED: ReadonlySet<string> = new Set([
  'busy',
  'derivation_busy',
  'data_folder_away',
  'clock_ahead',
]);

function logFault(log: Log, error: unknown, problem: Problem, method = '', path = ''): void {
  const { status, code, message } = problem;
  if (status >= 500 && !NOT_LOGGED.has(code)) log.error({ error, method, path }, message);
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof URIError)
    return new Problem('invalid_path', 'The path contains an invalid percent encoding.');
  if (isOutOfSpace(error)) {
    return new Problem(
      'disk_nearly_full',
      'The disk is full, and nothing was stored. Free some space and try again.',
      {
        cause: error,
      },
    );
  }
  if (errorCode(error) === 'EIO') {
    return new Problem(
      'storage_failed',
      'The disk failed during a read or write, and nothing was stored. Check the disk, then try again.',
      { cause: error },
    );
  }
  if (isDatabaseDamage(error)) {
    return new Problem(
      'database_damaged',
      'The database of this archive is damaged. Its owner should run “strongroom audit” and restore an intact copy.',
      { cause: error },
    );
  }
  return new Problem(
    'internal_error',
    'An internal error occurred, and nothing was changed. See the node’s log for the reason.',
    {
      cause: error,
    },
  );
}

function isOutOfSpace(error: unknown): boolean {
  return errorCode(error) === 'ENOSPC' || errorCode(error) === 'EDQUOT';
}
