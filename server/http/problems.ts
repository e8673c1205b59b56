import type { ErrorRequestHandler, Response } from 'express';
import { PROBLEMS, Problem, type ProblemDocument } from '../../shared/problems.ts';
import type { Log } from '../log.ts';

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

export function sendProblem(response: Response, problem: Problem): void {
  response
    .status(problem.status)
    .set({ 'Cache-Control': 'no-store', ...problem.extra.headers })
    .type('application/problem+json')
    .send(JSON.stringify(problemDocument(problem)));
}

/** The one place where a failure becomes an answer. What is no `Problem` is a fault of ours: logged, and told as such. */
export function answerErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const problem = asProblem(error);
    if (problem.status >= 500)
      log.error({ error, method: request.method, path: request.path }, problem.message);
    if (response.headersSent) {
      // Half an answer is out; cutting the connection is the only way left to say that it is not whole.
      response.destroy();
      return;
    }
    if (!request.complete) response.set('Connection', 'close');
    sendProblem(response, problem);
  };
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof URIError)
    return new Problem('invalid_path', 'The path holds a percent sign that encodes nothing.');
  return new Problem(
    'internal_error',
    'Something failed on this node; its log says what. Nothing was changed.',
    {
      cause: error,
    },
  );
}
