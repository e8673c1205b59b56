import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { PROBLEMS, Problem, type ProblemDocument } from '../../shared/problems.ts';
import type { Log } from '../runtime/log.ts';
import { isDatabaseDamage } from '../store/databaseDamage.ts';
import { isStillSending, respondEarly } from './body/earlyAnswer.ts';

/** The problem document (RFC 9457) of a problem. Nothing of the machine gets into it: no stack, no path, no SQL. */
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

export function sendProblem(request: Request, response: Response, problem: Problem): void {
  const body = JSON.stringify(problemDocument(problem));
  response
    .status(problem.status)
    .set({ 'Cache-Control': 'no-store', ...problem.extra.headers })
    .type('application/problem+json');
  if (isStillSending(request)) respondEarly(request, response, body);
  else response.send(body);
}

/** The one place where a failure becomes an answer. What is no `Problem` is a fault of ours: logged, and told as such. */
export function handleErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    // A client that went away in the middle of its request is nobody's fault, and nobody is left to answer.
    if (request.destroyed && !request.complete) return void response.destroy();
    const problem = asProblem(error);
    logFault(log, error, problem, request.method, request.path);
    if (response.headersSent) response.destroy();
    else sendProblem(request, response, problem);
  };
}

/** Half an answer is out; cutting the connection is the only way left to say that it is not whole. */
export function abortResponse(
  log: Log,
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  logFault(log, error, asProblem(error), request.method, request.url);
  response.destroy();
}

/** Refusals that anybody can bring about as often as they like, and that are no fault of the node's. */
const NO_FAULTS: ReadonlySet<string> = new Set(['busy', 'derivation_busy']);

function logFault(log: Log, error: unknown, problem: Problem, method = '', path = ''): void {
  const { status, code, message } = problem;
  if (status >= 500 && !NO_FAULTS.has(code)) log.error({ error, method, path }, message);
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof URIError)
    return new Problem('invalid_path', 'The path holds a percent sign that encodes nothing.');
  if (isOutOfSpace(error)) {
    return new Problem('disk_nearly_full', 'The disk is full; nothing was kept. Make room and try again.', {
      cause: error,
    });
  }
  if (codeOf(error) === 'EIO') {
    return new Problem(
      'storage_failed',
      'The disk failed while it was read or written, and nothing was kept. Check the disk, then try again.',
      { cause: error },
    );
  }
  if (isDatabaseDamage(error)) {
    return new Problem(
      'database_damaged',
      'The database of this archive is damaged. Its owner should run “strongroom audit” and put back a copy that is sound.',
      { cause: error },
    );
  }
  return new Problem(
    'internal_error',
    'Something failed on this node; its log says what. Nothing was changed.',
    {
      cause: error,
    },
  );
}

function isOutOfSpace(error: unknown): boolean {
  return codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
