import http, { type ClientRequest } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Preloaded into a process with `--import`. Kills it at a step: before a request to a port, or when its response arrives.
 */
const port = process.env.STRONGROOM_TEST_KILL_PORT;
const killAt = Number(process.env.STRONGROOM_TEST_KILL_AT);
const { request } = http;
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === killAt) process.kill(process.pid, 'SIGKILL');
}

http.request = (...args: unknown[]): ClientRequest => {
  const [options] = args as [{ port?: number | string | null }];
  const isCounted = String(options.port) === port;
  if (isCounted) step();
  const sent = (request as (...args: unknown[]) => ClientRequest)(...args);
  if (isCounted) sent.once('response', step);
  return sent;
};
syncBuiltinESMExports();
