import pino from 'pino';

/** The node's log. Never log a token, a body or a visitor's address. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Lines of JSON with the time and the stack of an error. */
export const LOG_OPTIONS: pino.LoggerOptions = {
  serializers: { error: pino.stdSerializers.err },
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
};

const STANDARD_ERROR = 2;
/** Lines that cannot be written are kept up to this size, and written once that is possible again. */
const MAX_KEPT_BYTES = 1_000_000;

/**
 * Creates a log that writes lines of JSON to standard error, because standard output is for the results of commands, or to a
 * file. What logs never fails because of its log: on a full disk, lines wait, and those beyond a limit are lost.
 */
export function createLog(
  level: 'silent' | 'warn' | 'info' = 'info',
  dest: number | string = STANDARD_ERROR,
): Log {
  const destination = pino.destination({ dest, sync: true, maxLength: MAX_KEPT_BYTES });
  // Without a listener, the error would be thrown at what logs, and at the last handler of the process too.
  destination.on('error', () => {});
  return pino({ ...LOG_OPTIONS, level }, destination);
}
