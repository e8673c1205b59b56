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

/** Creates a log that writes lines of JSON to standard error; standard output is for the results of commands. */
export function createLog(level: 'silent' | 'warn' | 'info' = 'info'): Log {
  return pino({ ...LOG_OPTIONS, level }, pino.destination({ dest: 2, sync: true }));
}
