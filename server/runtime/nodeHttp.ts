/**
 * Functions of `node:http`. An import of that module by its name also runs Node's own copy of undici, for exports that
 * nothing here uses. This took a quarter of the time of a start.
 */
export const { Agent, createServer, request, STATUS_CODES, validateHeaderValue } =
  process.getBuiltinModule('node:http');

/** Creates an HTTPS server. The module is loaded at the first use, because few nodes use TLS. */
export const createTlsServer: typeof import('node:https').createServer = (...given: unknown[]) =>
  process.getBuiltinModule('node:https').createServer(...(given as []));
