import { createContext, Script } from 'node:vm';

/** Work was broken off because it took too long. */
export class TimeLimitError extends Error {
  constructor(milliseconds: number) {
    super(`This took longer than ${milliseconds} ms.`);
    this.name = 'TimeLimitError';
  }
}

const context = createContext({ work: () => {} });
const script = new Script('work()');

/**
 * Runs synchronous work and breaks it off in the middle, even in the middle of one regular expression: the watchdog of
 * `vm` ends whatever runs within. Not a sandbox. What the work was changing is then half changed, so the work should
 * only look and give something back.
 *
 * @throws TimeLimitError; whatever the work throws.
 */
export function withTimeLimit<Result>(milliseconds: number, work: () => Result): Result {
  const limit = Math.max(1, Math.ceil(milliseconds));
  let done: { result: Result } | undefined;
  context.work = () => {
    done = { result: work() };
  };
  try {
    script.runInContext(context, { timeout: limit });
  } catch (error) {
    throw isTimeout(error) ? new TimeLimitError(limit) : error;
  } finally {
    context.work = () => {};
  }
  if (!done) throw new Error('The work ended without a result.');
  return done.result;
}

/** What the watchdog throws is an Error of the other context, and no `instanceof` of this one's. */
function isTimeout(error: unknown): boolean {
  const isObject = typeof error === 'object' && error !== null;
  return isObject && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
