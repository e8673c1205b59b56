import { createContext, Script } from 'node:vm';

/** Work was interrupted because it took too long. */
export class TimeLimitError extends Error {
  constructor(milliseconds: number) {
    super(`This took longer than ${milliseconds} ms.`);
    this.name = 'TimeLimitError';
  }
}

const context = createContext({ work: () => {} });
const script = new Script('work()');

/**
 * Runs synchronous work with a time limit. The watchdog of `vm` interrupts it anywhere, even within one regular
 * expression. Not a sandbox. Interrupted work may leave its changes half done, so it should only read and return.
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

/** The watchdog throws an Error of the other context, so `instanceof Error` is false. */
function isTimeout(error: unknown): boolean {
  const isObject = typeof error === 'object' && error !== null;
  return isObject && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
